"""An object's metadata has an annotation, a finalizer or an owner reference that Kubernetes refuses.

What it finds: in any object in the bundle

- annotations whose key is not a name of at most 63 letters, digits and `-_.` (optionally after a DNS subdomain and a slash),
  and annotations that together have more than 262,144 bytes, keys included;
- finalizers that are not such a name, and `orphan` beside `foregroundDeletion`;
- owner references without `apiVersion`, `kind`, `name` or `uid`, with an `apiVersion` that is neither VERSION nor
  GROUP/VERSION, to an Event, or with `controller: true` in more than one of them.

The annotations and finalizers of a template for instances are judged alike. Placeholders that a later step replaces are
skipped.

Why it matters: the API server refuses the object, or each instance that KubeVirt makes of the template.

Fix: use only the allowed characters in the name; put large data into a ConfigMap. Owner references are rarely correct in
files, because they need the `uid` of a live object: leave them to the controller that writes them.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web, annotations: {example.com/a/b: "1"}}
    spec:
      runStrategy: Always
      template: {spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterator
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.base.placeholders import is_filled_in
from krm_fn.base.value import Value
from krm_fn.base.wording import show
from krm_fn.findings.finding import UNSET
from krm_fn.findings.limits import counted, first
from krm_fn.kubevirt.admission.formats import is_qualified_name
from krm_fn.kubevirt.holders import holder_of
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule

MOST_BYTES = 256 * 1024
NAME_FORM = "use at most 63 letters, digits and '-_.', optionally after a DNS subdomain and a slash"
OPPOSITES = ("orphan", "foregroundDeletion")
OWNER_FIELDS = ("kind", "name", "uid")


class Fault(Value):
    """What is wrong in the metadata of an object; the path runs from its root."""

    entry: Entry
    path: Path
    message: str
    current: Any = UNSET


@rule(severity="error")
def invalid_metadata(facts: BundleFacts) -> Iterator[Hit]:
    sound: set[str] = set()  # most objects have the same few names

    def is_sound(name: object) -> bool:
        if name not in sound and (is_filled_in(name) or is_qualified_name(name)):
            sound.add(name)  # type: ignore[arg-type]  # both are False for what is not a string
        return name in sound

    found = (fault for entry in facts.bundle.entries for fault in _faults(entry, is_sound))
    for fault, more in first(found, lambda each: id(each.entry)):
        yield Hit(message=counted(fault.message, more), path=fault.path, current=fault.current, about=fault.entry)


def _faults(entry: Entry, is_sound: Callable[[object], bool]) -> Iterator[Fault]:
    holder = holder_of(entry.obj)
    for place in ((), holder.template) if holder and holder.template else ((),):
        about = as_map(get(entry.obj, (*place, "metadata")))
        for path, message, current in (
            *_of_annotations(as_map(about.get("annotations")), is_sound),
            *_of_finalizers(as_list(about.get("finalizers")), is_sound),
            *_of_owners([] if place else as_list(about.get("ownerReferences"))),  # KubeVirt writes those of an instance itself
        ):
            yield Fault(entry=entry, path=(*place, "metadata", *path), message=message, current=current)


def _of_annotations(annotations: Object, is_sound: Callable[[object], bool]) -> Iterator[tuple[Path, str, Any]]:
    """upstream: k8s.io/apimachinery/pkg/api/validation/objectmeta.go:ValidateAnnotations"""
    size = 0
    for key, value in annotations.items():
        if not is_sound(key) and not is_sound(str(key).lower()):
            yield ("annotations", str(key)), f"annotation key {show(key)} is not valid; {NAME_FORM}", UNSET
        size += len(str(key).encode(errors="replace")) + len(text(value).encode(errors="replace"))
    if size > MOST_BYTES:
        message = f"the annotations have {size:,} bytes in total, and {MOST_BYTES:,} are allowed; move the data elsewhere"
        yield ("annotations",), message, UNSET


def _of_finalizers(finalizers: list[Any], is_sound: Callable[[object], bool]) -> Iterator[tuple[Path, str, Any]]:
    """upstream: k8s.io/apimachinery/pkg/api/validation/objectmeta.go:ValidateFinalizers"""
    for index, name in enumerate(finalizers):
        if isinstance(name, str | None) and not is_sound(name):
            yield ("finalizers", index), f"finalizer {show(name)} is not valid; {NAME_FORM}", name
    if all(name in finalizers for name in OPPOSITES):
        yield ("finalizers",), f"finalizers {' and '.join(OPPOSITES)} exclude each other; remove one", UNSET


def _of_owners(owners: list[Any]) -> Iterator[tuple[Path, str, Any]]:
    """upstream: k8s.io/apimachinery/pkg/api/validation/objectmeta.go:ValidateOwnerReferences"""
    for index, owner in enumerate(owners):
        if isinstance(owner, dict | None):
            for field, message in _of_owner(as_map(owner)):
                yield ("ownerReferences", index, *field), message, UNSET
    if sum(as_map(owner).get("controller") is True for owner in owners) > 1:
        yield ("ownerReferences",), "more than one owner reference has controller: true; set it in one of them only", UNSET


def _of_owner(owner: Object) -> Iterator[tuple[Path, str]]:
    version = owner.get("apiVersion")
    group, slash, name = text(version).partition("/")
    if version is None or (isinstance(version, str) and (not (name if slash else group) or "/" in name)):
        yield ("apiVersion",), f"an owner reference has the apiVersion {show(version)}; write VERSION or GROUP/VERSION"
    for field in OWNER_FIELDS:
        if owner.get(field) in (None, ""):
            yield (field,), f"an owner reference has no {field}; add it, or remove the reference"
    if version == "v1" and owner.get("kind") == "Event":
        yield (), "an Event can't own an object; remove the owner reference"
