"""Where each kind holds the spec of an instance, and the fields that are gone from there and from VMs.

The cluster drops a field that it doesn't know without a word, so whoever still writes one of these loses what it says.

upstream: pkg/api/v1/schema.go and types.go of the releases named here
"""

from __future__ import annotations

from krm_fn.paths import get
from krm_fn.resource import group_of, kind_of
from krm_fn.served import is_first_instance
from krm_fn.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from krm_fn.paths import Path
    from krm_fn.resource import Object

POOLED: Path = ("spec", "virtualMachineTemplate")

# Where an instance's template stands, and the VM around it where there is one.
TEMPLATES: dict[tuple[str, str], tuple[Path, ...]] = {
    ("kubevirt.io", "VirtualMachine"): (("spec", "template"),),
    ("kubevirt.io", "OfflineVirtualMachine"): (("spec", "template"), ("spec", "Template")),
    ("kubevirt.io", "VirtualMachineReplicaSet"): (("spec", "template"),),
    ("kubevirt.io", "VirtualMachineInstanceReplicaSet"): (("spec", "template"),),
    ("kubevirt.io", "VirtualMachineInstance"): ((),),
    ("pool.kubevirt.io", "VirtualMachinePool"): ((*POOLED, "spec", "template"),),
}
VMS: dict[tuple[str, str], Path] = {
    ("kubevirt.io", "VirtualMachine"): (),
    ("kubevirt.io", "OfflineVirtualMachine"): (),
    ("pool.kubevirt.io", "VirtualMachinePool"): POOLED,
}


class Removed(Value):
    """A field that is gone: below the VM, or below the spec of an instance (`each` names the list whose entries have it).

    `gone` is the first release without it, `instead` what to write.
    """

    field: Path
    gone: str
    instead: str
    each: Path = ()
    of_vm: bool = False


REMOVED = (
    Removed(field=("spec", "flavor"), gone="0.56", instead="spec.instancetype", of_vm=True),
    Removed(field=("spec", "Running"), gone="0.4", instead="spec.runStrategy", of_vm=True),
    Removed(field=("spec", "Template"), gone="0.4", instead="spec.template", of_vm=True),
    Removed(
        each=("domain", "devices", "disks"), field=("volumeName",), gone="0.13", instead="a disk that is named as its volume"
    ),
    Removed(each=("domain", "devices", "disks"), field=("floppy",), gone="0.51", instead="another kind of disk"),
    Removed(each=("volumes",), field=("registryDisk",), gone="0.11", instead="containerDisk"),
    Removed(field=("domain", "memory", "value"), gone="0.2", instead="domain.memory.guest"),
    Removed(field=("domain", "memory", "unit"), gone="0.2", instead="domain.memory.guest"),
    Removed(field=("domain", "os"), gone="0.2", instead="domain.firmware and domain.machine"),
    Removed(field=("domain", "type"), gone="0.2", instead="no type: KubeVirt chooses the hypervisor"),
    Removed(field=("domain", "devices", "graphics"), gone="0.2", instead="domain.devices.autoattachGraphicsDevice"),
)


def template_path(obj: Object) -> Path | None:
    """Where what an instance is made from stands in the object (`()` for an instance), None where nowhere."""
    if is_first_instance(obj):
        return ()
    found = TEMPLATES.get((group_of(obj), kind_of(obj)), ())
    return next((path for path in found if isinstance(get(obj, path), dict)), None)


def vm_path(obj: Object) -> Path | None:
    """Where the VM stands in the object, None where it holds none."""
    path = None if is_first_instance(obj) else VMS.get((group_of(obj), kind_of(obj)))
    return path if path is not None and isinstance(get(obj, path), dict) else None


def removed_fields(obj: Object) -> Iterator[tuple[Path, Any, Removed]]:
    """The path of each field of the object that is gone from the API, its value, and its row."""
    vm, template = vm_path(obj), template_path(obj)
    for row in REMOVED:
        start = vm if row.of_vm else None if template is None else (*template, "spec")
        if start is not None:
            yield from _found(obj, start, row)


def _found(obj: Object, start: Path, row: Removed) -> Iterator[tuple[Path, Any, Removed]]:
    around = (*start, *row.each)
    below = get(obj, around) if row.each else None
    places = [(*around, number) for number in range(len(below))] if isinstance(below, list) else [] if row.each else [start]
    for place in places:
        value = get(obj, (*place, *row.field))
        if value is not None:
            yield (*place, *row.field), value, row
