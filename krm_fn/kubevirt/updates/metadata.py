"""Annotations that a running instance takes from its VM, and those that the VM takes back.

upstream: pkg/virt-controller/watch/vm/vm.go: syncDynamicAnnotationsAndLabelsToVMI, syncPCITopologyAnnotationsToVM
"""

from __future__ import annotations

from krm_fn.base.objects import Object, annotations_of
from krm_fn.base.paths import Path, as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.expand.pinned import PCI_TOPOLOGY
from krm_fn.kubevirt.fields.verbs import write
from krm_fn.kubevirt.holders import TEMPLATE
from krm_fn.kubevirt.releases import Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.updates.machine import World


SLOTS = "kubevirt.io/pci-interface-slot-count"


class Followed(Value):
    """An annotation that the instance takes over: where the VM has it, and in which releases."""

    key: str
    at: Path
    since: Version = (1, 6)
    until: Version = ()


OF_TEMPLATE = (*TEMPLATE, "metadata", "annotations")
FOLLOWED = (
    Followed(key="descheduler.alpha.kubernetes.io/evict", at=OF_TEMPLATE),
    Followed(key="descheduler.beta.kubernetes.io/evict", at=OF_TEMPLATE, until=(1, 6, 1)),
    Followed(key="descheduler.alpha.kubernetes.io/prefer-no-eviction", at=OF_TEMPLATE, since=(1, 6, 1)),
    Followed(key="kubevirt.io/skip-backup-hooks", at=("metadata", "annotations"), since=(1, 6, 6), until=(1, 7)),
    Followed(key="kubevirt.io/skip-backup-hooks", at=("metadata", "annotations"), since=(1, 7, 3)),
)


# From this release on, the annotations of the template and those of the VM are two changes in one patch, and the second is made
# only if all annotations of the instance are still as they were.
TWO_CHANGES_SINCE: Version = (1, 7)
TWO_CHANGES = (
    "the controller cannot copy annotations of the VM and of its template to the instance at once; change one after the other"
)


def is_refused(vm: Object, annotations: Object, world: World) -> bool:
    """True where the controller's patch of the instance's annotations fails, as it takes over some from two places."""
    changed = {
        row.at for row in world.release.rows(FOLLOWED) if as_map(get(vm, row.at)).get(row.key) != annotations.get(row.key)
    }
    return len(changed) > 1 and world.release.within(since=TWO_CHANGES_SINCE)


def followed(vm: Object, annotations: Object, world: World) -> Object:
    """The annotations of the instance with those of the VM that it follows; the same where they do not differ."""
    result = {**annotations}
    for row in world.release.rows(FOLLOWED):
        given = as_map(get(vm, row.at))
        result.pop(row.key, None)
        if row.key in given:
            result[row.key] = given[row.key]
    return annotations if result == annotations else result


def taken_back(vm: Object, annotations: Object) -> Object:
    """The VM with the PCI topology of its instance, where it has none; the VM itself else."""
    version, template = annotations.get(PCI_TOPOLOGY), get(vm, TEMPLATE)
    if not version or not isinstance(template, dict) or annotations_of(template).get(PCI_TOPOLOGY):
        return vm
    template = {**template, "metadata": {**as_map(template.get("metadata"))}}
    template["metadata"]["annotations"] = {**as_map(template["metadata"].get("annotations"))}
    for key in (PCI_TOPOLOGY, SLOTS):
        if annotations.get(key) is not None:
            write(template, ("metadata", "annotations", key), annotations[key])
    return {**vm, "spec": {**vm["spec"], "template": template}}
