"""The defaults that the webhook for new VirtualMachineInstances writes into a spec, after presets and before validation.

These functions change the given spec, which belongs to the caller. The tables have the values for unset fields.

upstream: pkg/defaults/defaults.go:SetDefaultVirtualMachineInstance

The limits of a new instance for CPUs and memory that are hotplugged later.

upstream: pkg/defaults/defaults.go:setupHotplug, pkg/liveupdate/memory/memory.go:ValidateLiveUpdateMemory
"""

from __future__ import annotations

from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.base.quantity import BINARY_SI, Quantity, of_int, parse, wrapped
from krm_fn.base.value import Value
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.expand import set_instance_defaults
from krm_fn.kubevirt.expand.object_defaults import (
    PlatformDefaults,
    disable_acpi,
    platform_of,
    set_cpu_model,
    set_hyperv_needs,
    set_object_defaults,
    set_platform_defaults,
)
from krm_fn.kubevirt.fields.verbs import reach, write
from krm_fn.kubevirt.releases import Release, Version

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


# In earlier releases all architectures supported CPU hotplug.
PLUGGED_UNIFORMLY_UNTIL = (1, 5)


class Labelled(Value):
    """A label that nodes must have if `path` in the domain has another value than false."""

    path: Path
    label: str
    until: Version = ()


# Later releases require such nodes when they create the pod.
NODE_LABELS = (
    Labelled(path=("cpu", "realtime"), label="kubevirt.io/realtime", until=(1, 5)),
    Labelled(path=("launchSecurity", "sev"), label="kubevirt.io/sev", until=(1, 5)),
    Labelled(path=("launchSecurity", "sev", "policy", "encryptedState"), label="kubevirt.io/sev-es", until=(1, 5)),
)


def set_webhook_defaults(spec: Object, *, cluster: Cluster, release: Release) -> None:
    """Complete a new instance's spec, in upstream's order."""
    set_instance_defaults(spec, cluster, release)
    platform = platform_of(spec, release)
    domain = reach(spec, ("domain",))
    _set_structures(domain, platform)
    _set_inputs(domain)
    set_object_defaults(spec, release)
    set_hyperv_needs(domain)
    set_platform_defaults(domain, platform, release)
    set_cpu_model(domain, cluster)
    if platform.hotplug or release.within(until=PLUGGED_UNIFORMLY_UNTIL):
        set_hotplug(spec, cluster=cluster, release=release)
    for row in NODE_LABELS:
        if release.within(until=row.until) and get(domain, row.path) not in (None, False):
            reach(spec, ("nodeSelector",))[row.label] = ""


def _set_structures(domain: Object, platform: PlatformDefaults) -> None:
    """The structures that KubeVirt always creates."""
    domain["firmware"] = as_map(domain.get("firmware"))
    domain["features"] = as_map(domain.get("features"))
    domain["features"]["acpi"] = as_map(domain["features"].get("acpi"))
    if not platform.acpi:
        disable_acpi(domain)


def _set_inputs(domain: Object) -> None:
    for device in as_list(get(domain, ("devices", "inputs"))):
        if isinstance(device, dict):
            device["bus"] = device.get("bus") or "usb"
            device["type"] = device.get("type") or "tablet"
