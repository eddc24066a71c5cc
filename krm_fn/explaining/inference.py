"""From which labels of which volume the name of an instancetype or preference was inferred."""

from __future__ import annotations

from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.resolve import MATCHERS
from krm_fn.kubevirt.resolve.lookup import Lookup


class Inferred(Value):
    """The volume that a matcher names, and the object with the label: the last of `chain`. `path` is the label's place."""

    volume: str
    chain: tuple[Entry, ...]
    path: Path


class Noting(Lookup):
    """A lookup that notes what it finds."""

    def __init__(self, bundle: Bundle) -> None:
        super().__init__(bundle)
        self.noted: list[Entry] = []

    def find(self, kind: str, namespace: str, name: str) -> Entry | None:
        found = super().find(kind, namespace, name)
        if found is not None:
            self.noted.append(found)
        return found


def inferred(vm: Object, field: str, entry: Entry, bundle: Bundle, release: Release) -> Inferred | None:
    """How the matcher of a VM at `spec.FIELD` got its name; None if the VM has the name itself."""
    volume = get(vm, ("spec", field, "inferFromVolume"))
    if not volume:
        return None
    from krm_fn.kubevirt.resolve.infer import NotInferred, infer  # few VMs infer

    matcher, lookup = next(each for each in MATCHERS if each.field == field), Noting(bundle)
    try:
        infer(vm, matcher, namespace=effective_namespace(entry.obj), lookup=lookup, release=release)
    except NotInferred:  # the policy lets the VM do without
        return None
    path = ("metadata", "labels", matcher.name_label)
    return Inferred(volume=volume, chain=tuple(lookup.noted), path=path)
