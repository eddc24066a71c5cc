"""Parts of plain Kubernetes objects: their kind, their names, and the file that they come from."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable
from krm_fn.base.paths import as_map
from krm_fn.base.value import Value

Object = dict[str, Any]


# All versions of ResourceLists, the present one first. A list without a version is read as one of these.
LIST_VERSIONS = ("config.kubernetes.io/v1", "config.kubernetes.io/v1beta1", "config.kubernetes.io/v1alpha1", None)
PREVIOUS_NAMES = "internal.config.kubernetes.io/previousNames"
ORIGIN = "config.kubernetes.io/origin"
LOCAL_CONFIG = "config.kubernetes.io/local-config"
# The renderer's own annotation: it silences rules for the object that has it, see krm_fn.pipeline.ignores.
IGNORE = "kubevirt-render.dev/ignore"
PATH_ANNOTATIONS = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path")
INDEX_ANNOTATIONS = ("internal.config.kubernetes.io/index", "config.kubernetes.io/index")


class Ref(Value):
    """A reference to an object: the four parts of a KRM resourceRef. `namespace` is "" if the object names none."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace + '/' if self.namespace else ''}{self.name}".rstrip()


def metadata(obj: Object) -> Object:
    """The object's metadata, or an empty map."""
    return as_map(obj.get("metadata"))


def text(value: object) -> str:
    """The value if it is a string, otherwise ""."""
    return value if isinstance(value, str) else ""


def kind_of(obj: Object) -> str:
    kind = obj.get("kind")
    return kind if isinstance(kind, str) else ""


def group_of(obj: Object) -> str:
    """The API group: `instancetype.kubevirt.io` of `instancetype.kubevirt.io/v1beta1`, "" for the core group."""
    version = obj.get("apiVersion")
    group, slash, _ = version.partition("/") if isinstance(version, str) else ("", "", "")
    return group if slash else ""


def name_of(obj: Object) -> str:
    return _text_in_metadata(obj, "name")


def namespace_of(obj: Object) -> str:
    """The namespace as written; "" if there is none."""
    return _text_in_metadata(obj, "namespace")


def _text_in_metadata(obj: Object, key: str) -> str:
    about = obj.get("metadata")  # read dozens of times for each object
    value = about.get(key) if isinstance(about, dict) else None
    return value if isinstance(value, str) else ""


def labels_of(obj: Object) -> Object:
    return _map_in_metadata(obj, "labels")


def annotations_of(obj: Object) -> Object:
    return _map_in_metadata(obj, "annotations")


def _map_in_metadata(obj: Object, key: str) -> Object:
    about = obj.get("metadata")
    value = about.get(key) if isinstance(about, dict) else None
    return value if isinstance(value, dict) else {}


def ref_of(obj: Object) -> Ref:
    return Ref(api_version=text(obj.get("apiVersion")), kind=kind_of(obj), name=name_of(obj), namespace=namespace_of(obj))


def is_resource(obj: object) -> bool:
    """True for a map with apiVersion, kind and metadata.name: what kustomize and kpt call KRM."""
    return isinstance(obj, dict) and bool(kind_of(obj) and text(obj.get("apiVersion")) and name_of(obj))


def previous_names(obj: Object) -> tuple[str, ...]:
    """The names that the object had before kustomize's prefixes and suffixes, oldest first.

    upstream: kustomize api/resource/resource.go:PrevIds
    """
    names = annotations_of(obj).get(PREVIOUS_NAMES)
    return tuple(filter(None, names.split(","))) if isinstance(names, str) else ()


def unaffixed(name: str, affixes: Iterable[tuple[str, str]]) -> dict[str, None]:
    """The names that an object may have had before it got some of these pairs of a prefix and a suffix."""
    found: dict[str, None] = {}
    waiting = [name]
    while waiting:
        each = waiting.pop()
        for before, after in affixes:
            bare = each.removeprefix(before).removesuffix(after)
            if bare and len(bare) + len(before) + len(after) == len(each) and bare != each and bare not in found:
                found[bare] = None
                waiting.append(bare)
    return found


def place_of(item: object) -> tuple[str, int]:
    """File and index within the file, from an item's annotations; ("", 0) if they name none.

    kpt writes path and index; kustomize writes only the origin, and only when `buildMetadata` asks for it.
    """
    if not isinstance(item, dict):
        return "", 0
    notes = annotations_of(item)
    path = next((text(notes[key]) for key in PATH_ANNOTATIONS if text(notes.get(key))), "")
    if not path:
        return _origin_path(text(notes.get(ORIGIN))), 0
    index = next((str(notes[key]) for key in INDEX_ANNOTATIONS if key in notes), "0")
    return path, int(index) if index.isascii() and index.isdigit() and len(index) < 10 else 0


def _origin_path(origin: str) -> str:
    for line in origin.splitlines():
        key, _, value = line.partition(":")
        if key == "path":
            return value.strip().strip("'\"")
    return ""
