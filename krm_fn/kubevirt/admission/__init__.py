"""What KubeVirt's validating webhooks refuse, as pure checks over VMs as they are after expansion.

Each module stands for one group of fields and declares its checks in tables: `GROUPS` of rows, `EXAMINATIONS` for what no row
expresses, `VM_EXAMINATIONS` for what is asked of VirtualMachines only. Upstream stops at the first stage that refuses; here
the causes of all stages are found.
"""

from __future__ import annotations

from krm_fn.base.paths import as_map, get, is_set
from krm_fn.kubevirt.admission import (
    claims,
    cpu,
    credentials,
    devices,
    disks,
    dns,
    firmware,
    former,
    grace,
    interfaces,
    machines,
    memory,
    networks,
    probes,
    requests,
    scheduling,
    templates,
    volumes,
)
from krm_fn.kubevirt.admission.causes import Cause
from krm_fn.kubevirt.admission.plan import Plan
from krm_fn.kubevirt.admission.scope import Scope
from krm_fn.kubevirt.holders import INSTANCE_SPEC, TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.configuration import Cluster
    from krm_fn.kubevirt.releases import Release, Version

__all__ = ["Cause", "admit_instance_spec", "admit_vm"]

GROUPS = (
    *cpu.GROUPS,
    *memory.GROUPS,
    *firmware.GROUPS,
    *probes.GROUPS,
    *disks.GROUPS,
    *volumes.GROUPS,
    *interfaces.GROUPS,
    *devices.GROUPS,
    *claims.GROUPS,
    *credentials.GROUPS,
    *dns.GROUPS,
    *former.GROUPS,
)
EXAMINATIONS = (
    *memory.EXAMINATIONS,
    *firmware.EXAMINATIONS,
    *cpu.EXAMINATIONS,
    *scheduling.EXAMINATIONS,
    *networks.EXAMINATIONS,
    *interfaces.EXAMINATIONS,
    *devices.EXAMINATIONS,
    *claims.EXAMINATIONS,
    *disks.EXAMINATIONS,
    *volumes.EXAMINATIONS,
    *dns.EXAMINATIONS,
    *probes.EXAMINATIONS,
    *grace.EXAMINATIONS,
    *former.EXAMINATIONS,
)
VM_EXAMINATIONS = (*memory.VM_EXAMINATIONS, *interfaces.VM_EXAMINATIONS)

_plans: dict[tuple[str, Version], Plan] = {}


def _plan(name: str, release: Release) -> Plan:
    """The compiled tables of a kind of object for a release; made once."""
    key = name, release.version
    if key not in _plans:
        groups, examinations = {
            "instance": (GROUPS, (*EXAMINATIONS, *former.TEMPLATE_EXAMINATIONS)),
            "vm": (GROUPS, (*EXAMINATIONS, *VM_EXAMINATIONS)),
        }[name]
        _plans[key] = Plan(groups, examinations, release)
    return _plans[key]


def admit_vm(
    vm: Object, *, expanded: Object | None, cluster: Cluster, release: Release, instancetype: Object | None = None
) -> tuple[Cause, ...]:
    """All for which admission refuses a VM; paths run from the VM's root.

    `expanded` is the VM with instancetype, preference and defaults applied; None where they can't be, and then only the VM's
    own fields are looked at. `instancetype` is the spec of the one that was applied, if there was one. Conflicts and unmet
    requirements are not repeated here.
    upstream: pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go:Admit
    """
    if is_set(get(vm, ("metadata", "deletionTimestamp"))):
        return ()
    return tuple(_causes(vm, expanded, cluster, release, instancetype))


def _causes(
    vm: Object, expanded: Object | None, cluster: Cluster, release: Release, instancetype: Object | None
) -> Iterator[Cause]:
    own = as_map(vm.get("spec"))
    if own.get("template") is None:
        return  # the schema tells of it
    subject = vm if expanded is None else expanded
    spec = as_map(subject.get("spec"))
    template = as_map(get(spec, ("template", "spec")))
    scope = Scope(template, path=INSTANCE_SPEC, cluster=cluster, release=release, instancetype=instancetype)
    if own.get("dataVolumeTemplates") is not None:
        yield from templates.foreign_namespaces(vm)
        yield from templates.data_volume_templates(spec, release)
    yield from machines.run_strategy(own, ("spec",), scope)
    yield from former.update_strategy(own, ("spec",), scope)
    yield from machines.empty_pointers(as_map(get(own, ("template", "spec"))), INSTANCE_SPEC)
    yield from machines.instance_metadata(as_map(get(spec, ("template", "metadata"))), (*TEMPLATE, "metadata"), scope)
    if expanded is not None:
        yield from _plan("vm", release).run(scope)
        yield from _requested(vm, scope)


def _requested(vm: Object, scope: Scope) -> Iterator[Cause]:
    """What is wrong with volume requests in the VM's status, or with the VM once they are carried out.

    The VM is not expanded for that: upstream takes it as the mutating webhook stored it.
    """
    wanted = get(vm, requests.PLACE)
    if not is_set(wanted):
        return
    faults = tuple(requests.volume_requests(vm, scope.release))
    yield from faults
    own = get(vm, INSTANCE_SPEC)
    if not faults and isinstance(own, dict):
        stored = {**own, "architecture": scope.spec.get("architecture")}
        carried_out = Scope(
            requests.with_requests(stored, wanted), path=INSTANCE_SPEC, cluster=scope.cluster, release=scope.release
        )
        yield from _plan("instance", scope.release).run(carried_out)


def admit_instance_spec(
    spec: Object, path: Path, *, cluster: Cluster, release: Release, as_written: bool = False
) -> list[Cause]:
    """All that admission says of a VirtualMachineInstance's spec with its defaults set; `path` leads to the spec.

    `as_written` as in Scope.
    upstream: pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:ValidateVirtualMachineInstanceSpec
    """
    scope = Scope(spec, path=path, cluster=cluster, release=release, as_written=as_written)
    return _plan("instance", release).run(scope)
