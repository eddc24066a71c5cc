"""The DataVolumes that the controller makes of a VM's templates.

upstream: pkg/virt-controller/watch/vm/vm.go:handleDataVolumes
"""

from __future__ import annotations

from krm_fn.base.objects import annotations_of, text
from krm_fn.base.paths import as_map
from krm_fn.kubevirt.updates.machine import entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.updates.machine import Machine, World

# With this annotation set to "false" they are made when the VM starts.
IMMEDIATE = "kubevirt.io/immediate-data-volume-creation"


def new_data_volumes(before: Machine, after: Machine, world: World) -> list[str]:
    """The names of those that are made once the update is there; one that exists stays as it is, whatever its template says."""
    starts = before.running is None and after.running is not None
    if after.unresolved or (_waits_for_start(after) and not starts):
        return []
    there = set() if _waits_for_start(before) and before.running is None else set(_templates(before))
    names = [name for name in _templates(after) if name not in there]
    return [name for name in names if world.bundle.find("DataVolume", after.namespace, name) is None]


def _waits_for_start(machine: Machine) -> bool:
    return annotations_of(machine.vm).get(IMMEDIATE) == "false"


def _templates(machine: Machine) -> list[str]:
    found = entries(machine.vm["spec"], "dataVolumeTemplates")
    return [text(as_map(each.get("metadata")).get("name")) for each in found]
