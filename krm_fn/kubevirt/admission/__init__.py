"""The checks of KubeVirt's validating webhooks, as pure functions over VMs after expansion.

Each module of `fields` has one group of fields, and declares its checks in tables: `GROUPS` of rows, `EXAMINATIONS` for checks
that no row can express, and `VM_EXAMINATIONS` for checks of VirtualMachines only. `specs` combines them. KubeVirt stops at the
first stage that refuses; here the causes of all stages are found.
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import as_map, get, is_set
from krm_fn.kubevirt.admission.fields import data_volume_templates, earlier_releases, live_update, scheduling, volume_requests
from krm_fn.kubevirt.admission.scope import Cause, Scope, settled
from krm_fn.kubevirt.admission.specs import check_tree, metadata_causes
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.holders import INSTANCE_SPEC, TEMPLATE
from krm_fn.kubevirt.releases import Release

__all__ = ["Cause", "admit_vm"]


def admit_vm(
    vm: Object, *, expanded: Object | None, cluster: Cluster, release: Release, instancetype: Object | None = None
) -> tuple[Cause, ...]:
    """All causes for which admission refuses a VM; paths start at the VM's root.

    `expanded` is the VM with instancetype, preference and defaults applied, or None if they can't be. Then only the VM's own
    fields are checked. `instancetype` is the spec of the applied one, if there is one. Conflicts and unmet requirements are
    reported elsewhere.
    upstream: pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go:Admit
    """
    if is_set(get(vm, ("metadata", "deletionTimestamp"))):
        return ()
    return settled(_causes(vm, expanded, cluster, release, instancetype), vm)


def _causes(
    vm: Object, expanded: Object | None, cluster: Cluster, release: Release, instancetype: Object | None
) -> Iterator[Cause]:
    own = as_map(vm.get("spec"))
    if own.get("template") is None:
        return  # a rule of the schema reports it
    subject = vm if expanded is None else expanded
    spec = as_map(subject.get("spec"))
    template = as_map(get(spec, ("template", "spec")))
    scope = Scope(template, path=INSTANCE_SPEC, cluster=cluster, release=release, instancetype=instancetype)
    if own.get("dataVolumeTemplates") is not None:
        yield from data_volume_templates.foreign_namespaces(vm)
        yield from data_volume_templates.data_volume_templates(spec, release)
    yield from live_update.run_strategy(own, ("spec",), scope)
    yield from earlier_releases.update_strategy(own, ("spec",), scope)
    yield from live_update.live_update_features(own, ("spec",), scope)
    yield from live_update.rollout(own, ("spec",), scope)
    yield from scheduling.empty_eviction_strategy(as_map(get(own, ("template", "spec"))), INSTANCE_SPEC)
    yield from metadata_causes(as_map(get(spec, ("template", "metadata"))), (*TEMPLATE, "metadata"), scope)
    if expanded is not None:
        yield from check_tree("vm", release).run(scope)
        yield from _requested(vm, scope)


def _requested(vm: Object, scope: Scope) -> Iterator[Cause]:
    """The causes of volume requests in the VM's status, and of the VM after these requests.

    The VM is not expanded for this: upstream uses it as the mutating webhook stored it.
    """
    wanted = get(vm, volume_requests.PLACE)
    if not is_set(wanted):
        return
    faults = tuple(volume_requests.volume_requests(vm, scope.release))
    yield from faults
    own = get(vm, INSTANCE_SPEC)
    if not faults and isinstance(own, dict):
        stored = {**own, "architecture": scope.spec.get("architecture")}
        carried_out = Scope(
            volume_requests.with_requests(stored, wanted), path=INSTANCE_SPEC, cluster=scope.cluster, release=scope.release
        )
        yield from check_tree("instance", scope.release).run(carried_out)
