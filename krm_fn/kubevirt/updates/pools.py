"""A VirtualMachinePool: the VM in it, and how an update of the pool reaches the VMs that it has created.

upstream: pkg/virt-controller/watch/pool/pool.go:proactiveUpdate, opportunisticUpdate
"""

from __future__ import annotations

from krm_fn.base.objects import Object, name_of, namespace_of
from krm_fn.base.paths import as_map, copy, get, put
from krm_fn.kubevirt.holders import DATA_VOLUMES, POOLED, TEMPLATE
from krm_fn.kubevirt.releases import Release, Version
from krm_fn.kubevirt.updates import power
from krm_fn.kubevirt.updates.stored_form import Writer, replaced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.updates.machine import Machine


# How a pool's update reaches its VMs. BLOCKED: first, somebody has to delete VMs that are too many.
PROACTIVE, OPPORTUNISTIC, UNMANAGED, PAUSED, BLOCKED = "proactive", "opportunistic", "unmanaged", "paused", "blocked"
ROLLOUTS = (PROACTIVE, OPPORTUNISTIC, UNMANAGED, PAUSED, BLOCKED)

MOST_UNAVAILABLE_SINCE: Version = (1, 6)
DELETES_SINCE: Version = (1, 6)
STRATEGIES_SINCE: Version = (1, 7)
IDENTITY_KEPT_SINCE: Version = (1, 8)
IDENTITY = (("domain", "firmware", "uuid"), ("domain", "firmware", "serial"))


def pooled(pool: Object) -> Object:
    """The VM that a pool creates, with the pool's name: KubeVirt adds a number to it, and to those of DataVolume templates."""
    vm = as_map(get(pool, POOLED))
    meta = as_map(vm.get("metadata"))
    kept = {key: meta[key] for key in ("labels", "annotations") if meta.get(key)}
    named = {"name": name_of(pool), **({"namespace": namespace_of(pool)} if namespace_of(pool) else {})}
    metadata = {**named, **kept}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": metadata, "spec": as_map(vm.get("spec"))}


def replicas(obj: Object) -> int:
    """How many machines an object creates; 1 where it does not say. upstream: calcDiff"""
    number = get(obj, ("spec", "replicas"))
    return number if type(number) is int else 1


def rollout(pool: Object, before: int, release: Release) -> str:
    """How a pool's update reaches the VMs, of which there were `before`. upstream: execute, scale, update"""
    if get(pool, ("spec", "paused")) is True:
        return PAUSED
    if not release.within(since=STRATEGIES_SINCE):
        return PROACTIVE
    keeps = as_map(get(pool, ("spec", "scaleInStrategy")))
    if replicas(pool) < before and any(isinstance(keeps.get(word), dict) for word in (UNMANAGED, OPPORTUNISTIC)):
        return BLOCKED
    strategy = as_map(get(pool, ("spec", "updateStrategy")))
    return next((word for word in (UNMANAGED, OPPORTUNISTIC) if isinstance(strategy.get(word), dict)), PROACTIVE)


def keeps_disks(pool: Object, release: Release) -> bool:
    """True where the disks of VMs stay that are too many. upstream: statePreservationCleanupforVM"""
    strategy = as_map(get(pool, ("spec", "scaleInStrategy")))
    words = [as_map(strategy.get(way)).get("statePreservation") for way in (PROACTIVE, OPPORTUNISTIC)]
    return release.within(since=STRATEGIES_SINCE) and any(word in ("Offline", "Online") for word in words)


def at_once(pool: Object, release: Release) -> int:
    """How many VMs a proactive update restarts at once at most. upstream: calculateMaxUnavailableInt"""
    total, most = replicas(pool), get(pool, ("spec", "maxUnavailable"))
    if most is None or not release.within(since=MOST_UNAVAILABLE_SINCE):
        return max(total, 1)
    if isinstance(most, int):
        return max(min(most, total), 1)
    share = str(most).removesuffix("%")
    return max(total * int(share) // 100, 1) if share.isdecimal() else max(total, 1)


def by_pool(release: Release) -> Writer:
    """How the pool writes its VM: as a whole, if its template has changed. upstream: isOutdatedVM, opportunisticUpdate"""

    def write(old: Object, new: Object, live: Object) -> Object | None:
        if old == new:
            return None
        vm = replaced(new)
        return _with_identity(vm, live) if release.within(since=IDENTITY_KEPT_SINCE) else vm

    return write


def _with_identity(vm: Object, live: Object) -> Object:
    """The VM with the firmware uuid and serial that it has in the cluster. upstream: preserveVMIdentityFields"""
    result: Object = copy(vm)
    for path in IDENTITY:
        own = get(live, (*TEMPLATE, "spec", *path))
        if own:
            put(result, (*TEMPLATE, "spec", *path), own)
    return result


def deletes(old: Object, new: Object, release: Release) -> bool:
    """True where a proactive update deletes VMs that run, and creates new ones. Both are VMs as the API server has them.

    upstream: isOutdatedVMI
    """
    return release.within(since=DELETES_SINCE) and get(old, DATA_VOLUMES) != get(new, DATA_VOLUMES)


def restarts(old: Object, new: Object) -> bool:
    """True where a proactive update deletes the instances of VMs that run. upstream: isOutdatedVMI"""
    return bool(get(old, TEMPLATE) != get(new, TEMPLATE))


def starts_again(machine: Machine) -> bool:
    """True where a VM whose instance is deleted starts again by itself."""
    return power.starts(machine.vm, power.strategy_of(machine.vm))
