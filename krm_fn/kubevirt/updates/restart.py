"""Whether a VM has to be restarted for its new spec: what is left once all that changes while it runs is taken over.

upstream: pkg/virt-controller/watch/vm/vm.go:syncRestartRequired
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_map, copy, drop, get, put
from krm_fn.base.value import Value
from krm_fn.kubevirt.releases import Version
from krm_fn.kubevirt.updates import networks
from krm_fn.kubevirt.updates.machine import Machine, World, by_name, disks_of, is_hotpluggable, volumes_of
from krm_fn.kubevirt.updates.references import expanded, expands_alike

MESSAGE = "a non-live-updatable field was changed in the template spec"
MIGRATION = "Migration"

CPU, SOCKETS = ("domain", "cpu"), ("domain", "cpu", "sockets")
GUEST = ("domain", "memory", "guest")
UUID = ("domain", "firmware", "uuid")
CLAIMS = ("persistentVolumeClaim", "dataVolume")
# Until this release, the strategy Stage takes no volumes over.
STAGED_UNTIL: Version = (1, 6, 3)
# From this release on, a CD-ROM that is taken away needs a restart, whatever its volume.
CDROMS_SINCE: Version = (1, 6, 4)
# Releases that remove the condition once nothing needs a restart any more. They look at the uuid of the firmware, too.
LIFTED_IN: tuple[tuple[Version, Version], ...] = (((1, 6, 4), (1, 7)), ((1, 7, 1), ()))


class Comparison(Value):
    """The spec at the last start and the one of now, both expanded, and the machine that they belong to."""

    before: Object
    now: Object
    machine: Machine
    world: World


class LivePart(Value):
    """A part of a spec that may change without a restart: its places, and when."""

    at: tuple[Path, ...]
    taken_over: Callable[[Comparison], bool]


def restart_required(machine: Machine, world: World) -> str | None:
    """The message of the condition, "" where no restart is needed; None where it cannot be told, and the condition stays."""
    if machine.started is None or machine.running is None:
        return None
    now = expanded(machine, world)
    if now is None:
        return None
    former = machine.but(vm={**machine.vm, "spec": machine.started})
    if machine.started == machine.vm["spec"] or expands_alike(former, machine, world):
        return ""
    before = expanded(former, world)
    if before is None:
        return None
    compared = Comparison(before=before, now=now, machine=machine, world=world)
    left = copy(before)
    for part in PARTS:
        if part.taken_over(compared):
            for at in part.at:
                _take_over(left, now, at)
    return "" if left == now else MESSAGE


def is_lifted(world: World) -> bool:
    """True where the condition is removed once nothing needs a restart any more."""
    return any(world.release.within(since=since, until=until) for since, until in LIFTED_IN)


def _take_over(spec: Object, now: Object, at: Path) -> None:
    """Give a spec what another one has at a place."""
    value = get(now, at)
    if value is not None:
        put(spec, at, value)
    else:
        drop(spec, at)


def _volumes(found: Comparison) -> bool:
    """upstream: validLiveUpdateVolumes"""
    if _is_staged(found):
        return _as_in_instance(found)
    old = by_name(volumes_of(found.before))
    migrates = found.machine.vm["spec"].get("updateVolumesStrategy") == MIGRATION
    for volume in volumes_of(found.now):
        before = old.get(volume.get("name", ""))
        if not (_hotplugs(volume) or (before is not None and (before == volume or (migrates and _claims(volume))))):
            return False
        old.pop(volume.get("name", ""), None)
    return all(_hotplugs(volume) for volume in old.values())


def _is_staged(found: Comparison) -> bool:
    """True where volumes and disks wait for a start like all the rest."""
    return not found.world.rolls_out_live and found.world.release.within(until=STAGED_UNTIL)


def _as_in_instance(found: Comparison) -> bool:
    running = found.machine.running
    return running is not None and all(of(found.now) == of(running.spec) for of in (volumes_of, disks_of))


def _hotplugs(volume: Object | None) -> bool:
    """upstream: pkg/storage/types/volume.go:IsHotplugVolume"""
    return is_hotpluggable(volume) or as_map((volume or {}).get("memoryDump")).get("hotpluggable") is True


def _claims(volume: Object) -> bool:
    return any(volume.get(key) is not None for key in CLAIMS)


def _disks(found: Comparison) -> bool:
    """upstream: validLiveUpdateDisks"""
    if _is_staged(found):
        return _as_in_instance(found)
    old, volumes = by_name(disks_of(found.before)), by_name(volumes_of(found.now))
    for disk in disks_of(found.now):
        name = disk.get("name", "")
        if not _hotplugs(volumes.get(name)) and old.get(name) != disk:
            return False
        old.pop(name, None)
    former = by_name(volumes_of(found.before))
    kept = by_name(disks_of(found.now))
    cdroms = found.world.release.within(since=CDROMS_SINCE)
    return not any(
        (name in former and not _hotplugs(former[name])) or (cdroms and disk.get("cdrom") is not None and name not in kept)
        for name, disk in old.items()
    )


def _both_have_cpu(found: Comparison) -> bool:
    return found.world.rolls_out_live and all(get(spec, CPU) is not None for spec in (found.before, found.now))


def _names_guest(found: Comparison) -> bool:
    return found.world.rolls_out_live and get(found.now, GUEST) is not None


def _rolls_out(found: Comparison) -> bool:
    return found.world.rolls_out_live


def _same_networks(found: Comparison) -> bool:
    running = found.machine.running
    migratable = found.machine.migratable
    return running is not None and not networks.restart_required(found.now, running.spec, found.world, migratable=migratable)


def _same_uuid(found: Comparison) -> bool:
    """The uuid that the controller writes into a VM without one is that of its instance."""
    running, firmware = found.machine.running, get(found.now, UUID[:-1])
    if running is None or firmware is None or get(running.spec, UUID[:-1]) is None:
        return False
    return is_lifted(found.world) and bool(get(running.spec, UUID) == firmware.get("uuid"))


PARTS = (
    LivePart(at=(("volumes",),), taken_over=_volumes),
    LivePart(at=(("domain", "devices", "disks"),), taken_over=_disks),
    LivePart(at=(SOCKETS,), taken_over=_both_have_cpu),
    LivePart(at=(GUEST,), taken_over=_names_guest),
    LivePart(at=(("nodeSelector",), ("affinity",), ("tolerations",)), taken_over=_rolls_out),
    LivePart(at=(("domain", "devices", "interfaces"), ("networks",)), taken_over=_same_networks),
    LivePart(at=(UUID,), taken_over=_same_uuid),
)
