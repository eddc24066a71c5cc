"""The fields that were removed from VMs and from the specs of instances.

The cluster drops an unknown field without a message, so such a field has no effect any more.

upstream: the Go types of the API, in the releases named here
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.holders import HOLDERS, template_path, vm_path
from krm_fn.kubevirt.releases import Release, Version

Rows = tuple[tuple[Path, bool, tuple["Removed", ...]], ...]


# The kinds that may hold such fields, by API group and kind.
TEMPLATES = frozenset(HOLDERS)
VMS = frozenset(key for key, holder in HOLDERS.items() if holder.vm is not None)


class Removed(Value):
    """A removed field: below the VM, or below the spec of an instance (`each` names the list whose entries have it).

    `gone` is the first release without it, `instead` the text to write instead. Supported releases before `since` have it.
    """

    field: Path
    gone: str
    instead: str
    each: Path = ()
    of_vm: bool = False
    since: Version = ()

    @property
    def fix(self) -> str:
        """What to do about the field."""
        return f"write {self.instead}, as `kubevirt-render migrate` does where it can"


REMOVED = (
    Removed(field=("spec", "flavor"), gone="0.56", instead="spec.instancetype", of_vm=True),
    Removed(
        field=("spec", "liveUpdateFeatures"),
        gone="1.2",
        instead="domain.cpu.maxSockets and domain.memory.maxGuest, and vmRolloutStrategy in the KubeVirt object",
        of_vm=True,
        since=(1, 2),
    ),
    Removed(field=("spec", "Running"), gone="0.4", instead="spec.runStrategy", of_vm=True),
    Removed(field=("spec", "Template"), gone="0.4", instead="spec.template", of_vm=True),
    Removed(
        each=("domain", "devices", "disks"), field=("volumeName",), gone="0.13", instead="a disk that is named as its volume"
    ),
    Removed(each=("domain", "devices", "disks"), field=("floppy",), gone="0.51", instead="another kind of disk"),
    Removed(each=("volumes",), field=("registryDisk",), gone="0.11", instead="containerDisk"),
    Removed(each=("networks",), field=("genie",), gone="0.29", instead="multus"),
    Removed(field=("domain", "memory", "value"), gone="0.2", instead="domain.memory.guest"),
    Removed(field=("domain", "memory", "unit"), gone="0.2", instead="domain.memory.guest"),
    Removed(field=("domain", "os"), gone="0.2", instead="domain.firmware and domain.machine"),
    Removed(field=("domain", "type"), gone="0.2", instead="no type: KubeVirt chooses the hypervisor"),
    Removed(field=("domain", "devices", "graphics"), gone="0.2", instead="domain.devices.autoattachGraphicsDevice"),
)


NAMES = frozenset(str(row.field[-1]) for row in REMOVED)


def removed_fields(obj: Object, release: Release) -> Iterator[tuple[Path, Any, Removed]]:
    """The path of each field in the object that the release no longer has, its value, and its row."""
    vm, template = vm_path(obj), template_path(obj)
    if vm is not None:
        yield from _found(get(obj, vm), vm, OF_VMS, release)
    if template is not None:
        start = (*template, "spec")
        yield from _found(get(obj, start), start, OF_INSTANCES, release)


def _found(value: Any, start: Path, rows: Rows, release: Release) -> Iterator[tuple[Path, Any, Removed]]:
    for around, of_entries, wanted in rows:
        below = get(value, around)
        if not isinstance(below, list if of_entries else dict):
            continue
        for number, entry in enumerate(below if of_entries else (below,)):
            for row in wanted:
                found = entry.get(row.field[-1]) if isinstance(entry, dict) else None
                if found is not None and release.within(since=row.since):
                    yield (*start, *around, *((number,) if of_entries else ()), row.field[-1]), found, row


def _rows(*, of_vm: bool) -> Rows:
    """The rows by the map, or the list of maps, that holds their field, so that an absent one takes little time."""
    grouped: dict[tuple[Path, bool], list[Removed]] = {}
    for row in REMOVED:
        if row.of_vm == of_vm:
            grouped.setdefault((row.each or row.field[:-1], bool(row.each)), []).append(row)
    return tuple((around, of_entries, tuple(rows)) for (around, of_entries), rows in grouped.items())


OF_VMS, OF_INSTANCES = _rows(of_vm=True), _rows(of_vm=False)
