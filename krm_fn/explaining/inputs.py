"""What gives values to a VM beside the VM itself: parts of objects, as they are written.

A part is a spec, the data of a stored revision in whichever form, the domain of a preset, a configuration, or the patches of
the config. So a field of a part is a field in the user's file.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.bundle import Bundle, Entry
from krm_fn.base.encoding import from_base64
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_map, get, is_set, put_in
from krm_fn.base.value import Value
from krm_fn.findings.limits import ProductLimit
from krm_fn.kubevirt.configuration import Cluster, kubevirt_of
from krm_fn.kubevirt.facts import Found, Resolution
from krm_fn.kubevirt.resolve.matcher import MATCHERS as ROWS
from krm_fn.pipeline.analysis import Analysis, cluster_of

INSTANCETYPE, PREFERENCE, PRESET, CONFIGURATION, PATCH = "instancetype", "preference", "preset", "configuration", "patch"
MATCHERS = tuple(row.field for row in ROWS)
DATA: Path = ("data",)
ENCODED: Path = ("data", "spec")
KUBEVIRT: Path = ("spec", "configuration")
HYPERCONVERGED: Path = ("spec",)
PRESET_DOMAIN: Path = ("spec", "domain")
PATCHES: Path = ("spec", "patches")
# The settings of one object that are looked at.
MOST_SETTINGS = 300
REMEMBERED = 5_000
# How many sections of presets may be looked at, beyond a few for each instance.
FEW_SECTIONS, MOST_SECTIONS = 10, 50_000
TOO_MANY = f"presets match instances so often that explain has more than {MOST_SECTIONS:,} of their sections to look at"


class Giver(Value):
    """A part of an object: `tree` is its value, `root` its place in the object in `entry`; no entry: it is in no file.

    `found` is the instancetype or preference that it belongs to. `encoded`: the value at `root` is a text that holds the tree.
    """

    kind: str
    tree: Any = None
    root: Path = ()
    entry: Entry | None = None
    found: Found | None = None
    encoded: bool = False

    __eq__ = object.__eq__  # each part is one object, and its tree can't be hashed
    __hash__ = object.__hash__


OWN, DEFAULT = Giver(kind="vm"), Giver(kind="default")  # the object itself, and KubeVirt's defaults


class ValueSource(Value):
    """What gives a value: a part, and the path of a field in its tree, or in the object itself.

    `same` says what gives the same value without this field: "another" source, KubeVirt's "default", or the "layout" of any
    number of vCPUs; "" if nothing does.
    """

    part: Giver
    path: Path = ()
    same: str = ""

    def __eq__(self, other: object) -> bool:
        return type(other) is ValueSource and other.part is self.part and other.path == self.path and other.same == self.same

    def __hash__(self) -> int:
        return hash((self.part, self.path, self.same))


BY_DEFAULT = ValueSource(part=DEFAULT)


class Givers:
    """The parts that give values to the VMs of one bundle. What several VMs refer to is read once."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis, self.settings = analysis, Settings(analysis)
        self._sections = ProductLimit(MOST_SECTIONS, f"{TOO_MANY}; narrow the selectors of the presets, or name fewer files")
        self.patches = Giver(kind=PATCH, tree=list(analysis.settings.patches), root=PATCHES)
        self._known: dict[tuple[Any, ...], Giver] = {}  # a kept part keeps its object, so that no other gets its id
        self._sources: dict[tuple[Giver, Path], ValueSource] = {}

    def count(self, sections: int) -> None:
        """Count so many sections of presets for one instance. Raises: InputError."""
        self._sections.take(max(sections - FEW_SECTIONS, 0))

    def source(self, part: Giver, field: Path) -> ValueSource:
        """The field of a note as it stands in the user's object; one of DEFAULT if it is not there."""
        key = part, field
        if key not in self._sources:
            if len(self._sources) >= REMEMBERED:
                self._sources.clear()
            below = field[len(PRESET_DOMAIN) :] if part.kind == PRESET else field if part.root == DATA else field[1:]
            self._sources[key] = ValueSource(part=part, path=below) if get(part.tree, below) is not None else BY_DEFAULT
        return self._sources[key]

    def of(self, giver: Any, resolution: Resolution | None) -> Giver:
        """The part of who gives a value: a word or an entry, as in a note."""
        if giver == DEFAULT.kind:
            return DEFAULT
        found = getattr(resolution, giver) if giver in MATCHERS else None
        old = resolution is not None and get(resolution.vm, ("spec", "flavor")) is not None
        key = (giver, id(found.spec), id(found.entry), old) if found else (id(giver),)
        if key not in self._known:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[key] = _of_found(giver, found, old=old) if found else _of_preset(giver)
        return self._known[key]


def _of_preset(preset: Entry) -> Giver:
    return Giver(kind=PRESET, tree=as_map(get(preset.obj, PRESET_DOMAIN)), root=PRESET_DOMAIN, entry=preset)


def _of_found(kind: str, found: Found, *, old: bool) -> Giver:
    common: dict[str, Any] = {"kind": kind, "entry": found.entry, "found": found}
    if found.revision is None or found.entry is None:
        return Giver(tree=found.spec, root=found.root, **common)
    data = as_map(found.entry.obj.get("data"))
    if old or not isinstance(data.get("spec"), dict):  # a text, or what only flavors have
        return Giver(tree=found.spec if old else _decoded(data.get("spec")), root=ENCODED, encoded=True, **common)
    return Giver(tree=data, root=DATA, **common)


def _decoded(text: Any) -> Object:
    """The spec in the base64 text of an old revision; empty if there is none."""
    import json  # few bundles have such a revision

    raw = from_base64(text) if isinstance(text, str) else None
    try:
        return as_map(json.loads(raw)) if raw else {}
    except (ValueError, RecursionError):
        return {}


class ReadCluster(Cluster):
    """A cluster that keeps the paths of the settings that are read."""

    @property
    def paths(self) -> dict[tuple[str, ...], None]:
        found: dict[tuple[str, ...], None] = self.__dict__.setdefault("read", {})
        return found

    def pointer(self, *path: str) -> Any:
        self.paths[path] = None
        return super().pointer(*path)


class Settings:
    """The settings of a cluster, each with the cluster without it."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._without: list[tuple[ValueSource, Cluster]] | None = None
        self._deciding: dict[frozenset[tuple[str, ...]], list[tuple[ValueSource, Cluster]]] = {}

    def asked(self) -> ReadCluster:
        """The cluster, as one that keeps what is read of it."""
        cluster = self._analysis.cluster
        return ReadCluster(configuration=cluster.configuration, annotations=cluster.annotations, known=cluster.known)

    def deciding(self, asked: ReadCluster) -> list[tuple[ValueSource, Cluster]]:
        """The settings without which something that was read of the cluster is another value, and the cluster without each."""
        if self._without is None:
            self._without = list(self._clusters())
        read = frozenset(asked.paths)
        if read not in self._deciding:
            given = self._analysis.cluster
            self._deciding[read] = [
                (source, other)
                for source, other in self._without
                if any(other.pointer(*path) != given.pointer(*path) for path in read)
            ]
        return self._deciding[read]

    def _clusters(self) -> Iterator[tuple[ValueSource, Cluster]]:
        analysis, (held, root) = self._analysis, cluster_entry(self._analysis.bundle)
        given, objects = analysis.settings.configuration, [held.obj] if held else []
        part = Giver(kind=CONFIGURATION, tree=given, root=KUBEVIRT)
        for path in fields(given):
            settings = analysis.settings.but(configuration=without(given, path))
            yield ValueSource(part=part, path=path), cluster_of(Bundle(objects), settings, analysis.release)
        tree = as_map(get(held.obj, root)) if held else {}
        part = Giver(kind=CONFIGURATION, tree=tree, root=root, entry=held)
        for path in fields(tree):
            other = put_in(held.obj, root, without(tree, path)) if held else {}
            yield ValueSource(part=part, path=path), cluster_of(Bundle([other]), analysis.settings, analysis.release)


def cluster_entry(bundle: Bundle) -> tuple[Entry | None, Path]:
    """The object that describes the cluster, and the place of its settings."""
    held = kubevirt_of(bundle)
    if held:
        return held, KUBEVIRT
    operators = bundle.ordered(bundle.of_kind("HyperConverged", "hco.kubevirt.io"))
    return (operators[0], HYPERCONVERGED) if operators else (None, ())


def fields(value: Any) -> tuple[Path, ...]:
    """The paths of the values that can be left out: those of maps; a list is one value."""
    found: list[Path] = []
    waiting: list[tuple[Path, Any]] = [((), value)]
    while waiting and len(found) < MOST_SETTINGS:
        at, each = waiting.pop()
        if isinstance(each, dict) and each:
            waiting.extend(((*at, key), below) for key, below in reversed(each.items()) if is_set(below))
        elif at:
            found.append(at)
    return tuple(found)


def without(value: Any, path: Path) -> Any:
    """A value without the one at a path of maps; what does not lead there is shared."""
    if not isinstance(value, dict) or path[0] not in value:
        return value
    if len(path) == 1:
        return {key: below for key, below in value.items() if key != path[0]}
    return {**value, path[0]: without(value[path[0]], path[1:])}
