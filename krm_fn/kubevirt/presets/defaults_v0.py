"""The defaults that the preset controller, up to 0.8, wrote into an instance after presets.

Releases 0.3 and 0.4 wrote the same values later, when they created the pod; 0.5.0 did not write them. A random firmware uuid
is not written, only a given one: the cluster generates it.

upstream: until 0.9 pkg/virt-controller/watch/preset.go:initializeVirtualMachine
"""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_list, as_map, copy, get, is_set
from krm_fn.base.value import Value
from krm_fn.kubevirt.presets.domain import DOMAIN
from krm_fn.kubevirt.presets.facts import Applied
from krm_fn.kubevirt.presets.merge import era_of, release_for
from krm_fn.kubevirt.releases import Release, Version


class Filled(Value):
    """One row: `path`, below the domain, gets `value` if it is unset and the map around it exists."""

    path: Path
    value: Any


class Network(Value):
    """When an instance without networks gets the pod network; `unless_first_is_pod`: also if its first network is another."""

    unless_first_is_pod: bool = False
    heeds_autoattach: bool = False
    since: Version = ()
    until: Version = ()


MEMORY = "8Mi"  # upstream writes 8192Ki
MACHINE = "q35"
SATA_MACHINES = ("q35", "pc-q35")

FILLED = (
    *(Filled(path=("clock", "timer", name, "present"), value=True) for name in ("hpet", "kvm", "pit", "rtc", "hyperv")),
    Filled(path=("features", "acpi", "enabled"), value=True),
    Filled(path=("features", "apic", "enabled"), value=True),
    *(
        Filled(path=("features", "hyperv", name, "enabled"), value=True)
        for name in ("relaxed", "vapic", "spinlocks", "vpindex", "runtime", "synic", "synictimer", "reset", "vendorid")
    ),
    Filled(path=("devices", "watchdog", "i6300esb"), value={}),
    Filled(path=("devices", "watchdog", "i6300esb", "action"), value="reset"),
)

# The same for each disk; paths are below the disk.
DISK_FILLED = (
    Filled(path=("floppy", "tray"), value="closed"),
    Filled(path=("cdrom", "readonly"), value=True),
    Filled(path=("cdrom", "tray"), value="closed"),
)
TARGETS_WITH_BUS = ("disk", "cdrom", "lun")
TARGETS = (*TARGETS_WITH_BUS, "floppy")
SPINLOCKS = ("features", "hyperv", "spinlocks")
SPINLOCK_RETRIES = 4096

NETWORKS = (
    Network(unless_first_is_pod=True, since=(0, 6), until=(0, 6, 1)),
    Network(since=(0, 6, 1), until=(0, 8)),
    Network(heeds_autoattach=True, since=(0, 8)),
)


def with_defaults(found: Applied, given: Object, *, release: Release, firmware_uuid: str = "") -> Applied:
    """The result of presets, with the defaults of `release` written after them; `given` is the original instance.

    An instance that is excluded, failed, was processed by the controller before, or belongs to a later release gets none.
    """
    release = release_for(given, release)
    if not era_of(release).marker or found.excluded or found.refused or found.instance is given:
        return found
    return found.but(instance=set_defaults(found.instance, release=release, firmware_uuid=firmware_uuid))


def set_defaults(instance: Object, *, release: Release, firmware_uuid: str = "") -> Object:
    """The instance with the defaults of a release up to 0.8. Values of a wrong type are left as they are."""
    instance = copy(instance)
    domain = _made(instance, DOMAIN)
    if domain is None:
        return instance
    _set_memory(domain)
    if firmware_uuid:
        _fill(_made(domain, ("firmware",)), "uuid", firmware_uuid)
    _made(domain, ("features", "acpi"))
    _fill(_made(domain, ("machine",)), "type", MACHINE)
    _set_disks(domain)
    _set_network(instance["spec"], release)
    for row in FILLED:
        _fill(get(domain, row.path[:-1]), row.path[-1], copy(row.value))
    if get(domain, (*SPINLOCKS, "enabled")) is True:
        _fill(get(domain, SPINLOCKS), "spinlocks", SPINLOCK_RETRIES)
    return instance


def _set_memory(domain: Object) -> None:
    resources = _made(domain, ("resources",))
    if resources is not None and "memory" not in as_map(resources.get("requests")):
        # Upstream replaces the complete map, so a request for cpu alone is lost.
        resources["requests"] = {"memory": MEMORY}


def _set_disks(domain: Object) -> None:
    machine = get(domain, ("machine", "type"))
    bus = "sata" if isinstance(machine, str) and machine.startswith(SATA_MACHINES) else "ide"
    for disk in as_list(get(domain, ("devices", "disks"))):
        if not isinstance(disk, dict):
            continue
        if all(disk.get(target) is None for target in TARGETS):
            disk["disk"] = {}
        for target in TARGETS_WITH_BUS:
            _fill(disk.get(target), "bus", bus)
        for row in DISK_FILLED:
            _fill(get(disk, row.path[:-1]), row.path[-1], row.value)


def _set_network(spec: Object, release: Release) -> None:
    """upstream: pkg/api/v1/defaults.go:SetDefaults_NetworkInterface until 0.9"""
    row = next((row for row in NETWORKS if release.within(since=row.since, until=row.until)), None)
    devices = _made(spec, ("domain", "devices"))
    if row is None or devices is None or (row.heeds_autoattach and devices.get("autoattachPodInterface") is False):
        return
    networks = spec.get("networks")
    if networks is not None and not isinstance(networks, list):
        return
    if not networks or (row.unless_first_is_pod and get(networks, (0, "pod")) is None):
        # Upstream drops the instance's own interfaces here.
        devices["interfaces"] = [{"name": "default", "bridge": {}}]
        spec["networks"] = [{"name": "default", "pod": {}}]


def _made(value: Object, path: tuple[str, ...]) -> Object | None:
    """The map at `path`, created if it is absent; None if another value is there. Changes `value` in place."""
    for step in path:
        below = value.get(step)
        if below is None:
            below = value[step] = {}
        if not isinstance(below, dict):
            return None
        value = below
    return value


def _fill(holder: object, key: Any, value: Any) -> None:
    """Set an unset key of a map in place; nothing happens if the holder is no map."""
    if isinstance(holder, dict) and not is_set(holder.get(key)):
        holder[key] = value
