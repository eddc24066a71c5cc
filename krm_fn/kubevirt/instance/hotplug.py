"""The limits of a new instance for CPUs and memory that are hotplugged later.

upstream: pkg/defaults/defaults.go:setupHotplug, pkg/liveupdate/memory/memory.go:ValidateLiveUpdateMemory
"""

from __future__ import annotations

from krm_fn.base.objects import Object
from krm_fn.base.paths import as_map, get
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.fields.verbs import reach, write
from krm_fn.kubevirt.quantity import BINARY_SI, Quantity, of_int, parse, wrapped
from krm_fn.kubevirt.releases import Release

MOST_VCPUS = 512
UINT32 = 0xFFFFFFFF
MIB = 1 << 20
GIB = 1 << 30
# Guest memory grows in blocks. For huge pages of 1Gi, a block has the size of a page.
BLOCK, BLOCK_OF_1GI_PAGES, LEAST_GUEST = 2 * MIB, GIB, GIB
ARCHITECTURES = {(): ("amd64", "arm64"), (1, 7): ("amd64",)}


def set_hotplug(spec: Object, *, cluster: Cluster, release: Release) -> None:
    """Write `cpu.maxSockets` and `memory.maxGuest` if the cluster lets running instances grow."""
    if cluster.rollout_strategy(release) != "LiveUpdate":
        return
    _set_max_sockets(reach(spec, ("domain", "cpu")), cluster)
    _set_max_guest(spec, cluster, release)


def _set_max_sockets(cpu: Object, cluster: Cluster) -> None:
    sockets, cores, threads = (_count(cpu.get(key)) for key in ("sockets", "cores", "threads"))
    if _count(cpu.get("maxSockets")):
        return
    most = _count(cluster.live_update.get("maxCpuSockets"))
    if most:
        most = max(most, sockets)
    else:
        most = sockets * cluster.max_hotplug_ratio & UINT32
        # Upstream divides by zero if cores or threads are 0. Such a VM is refused later, so 1 is used here.
        if (most * cores * threads) & UINT32 > MOST_VCPUS:
            most = max(MOST_VCPUS // max(cores * threads & UINT32, 1), sockets)
    if most:
        cpu["maxSockets"] = most


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _set_max_guest(spec: Object, cluster: Cluster, release: Release) -> None:
    memory = as_map(get(spec, ("domain", "memory")))
    guest = parse(memory.get("guest"))
    if memory.get("maxGuest") is not None:
        return
    most = parse(cluster.live_update.get("maxGuest"))
    if most is None and guest is not None:
        most = of_int(wrapped(guest.value() * cluster.max_hotplug_ratio), BINARY_SI)
    if guest and most and _memory_can_grow(spec, guest, most, release):
        write(spec, ("domain", "memory", "maxGuest"), str(most))


def _memory_can_grow(spec: Object, guest: Quantity, most: Quantity, release: Release) -> bool:
    domain = as_map(spec.get("domain"))
    if get(domain, ("cpu", "realtime")) is not None or get(domain, ("cpu", "numa", "guestMappingPassthrough")) is not None:
        return False
    if domain.get("launchSecurity") is not None or guest.nanos > most.nanos:
        return False
    block = BLOCK_OF_1GI_PAGES if get(domain, ("memory", "hugepages", "pageSize")) == "1Gi" else BLOCK
    if guest.value() % block or most.value() % block or guest.value() < LEAST_GUEST:
        return False
    return spec.get("architecture") in _architectures(release)


def _architectures(release: Release) -> tuple[str, ...]:
    return [names for since, names in ARCHITECTURES.items() if release.within(since=since)][-1]
