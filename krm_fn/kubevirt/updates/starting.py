"""The instance that a VM starts as, why it does not start, and the claims that a migration of volumes exchanges in it.

upstream: pkg/virt-controller/watch/vm/vm.go:handleVolumeUpdateRequest,
pkg/virt-controller/watch/volume-migration/volume-migration.go:ValidateVolumes, ValidateVolumesUpdateMigration
"""

from __future__ import annotations

from krm_fn.base.objects import LOCAL_CONFIG, Object, text
from krm_fn.base.paths import as_list, as_map, copy, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.facts import Resolution
from krm_fn.kubevirt.instance import start
from krm_fn.kubevirt.instance.refusals import start_causes
from krm_fn.kubevirt.releases import Bound, Version
from krm_fn.kubevirt.resolve import MATCHERS
from krm_fn.kubevirt.updates.machine import Machine, Running, World, by_name, disks_of, entries, is_hotpluggable, volumes_of
from krm_fn.kubevirt.updates.references import find
from krm_fn.kubevirt.updates.stored_form import stored_spec

MIGRATION = "Migration"
# From when on a claim that is missing stops the migration before it starts.
CLAIM_CHECKED_SINCE: Bound = ((1, 6, 7), (1, 7, 5), (1, 8, 5), (1, 9))
# Until this release, volumes that are exchanged without a migration are noticed here, if a gate says so.
EXCHANGE_NOTICED_UNTIL: Version = (1, 6, 3)
EXCHANGE_GATE, MIGRATION_GATE = "VolumesUpdateStrategy", "VolumeMigration"
EXCHANGED = "the volumes replacement is effective only after restart"
MISSING = "One of the destination volumes doesn't exist"
FAULTS = ("filesystems", "shareable", "luns")
IMMOVABLE = "cannot migrate the volumes as the VMI isn't migratable: {}"
LEFT_BEHIND = "cannot migrate the VM. The volume {} is RWO and not included in the migration volumes"
# Access modes with which several nodes can use a claim.
SHARED = ("ReadOnlyMany", "ReadWriteMany")
# Where a claim's name stands in a volume.
CLAIM_AT = (("dataVolume", "name"), ("persistentVolumeClaim", "claimName"), ("memoryDump", "claimName"))


class Moved(Value):
    """The running instance, the message of RestartRequired, and why the migration cannot start; "" where it can."""

    running: Running
    restart: str = ""
    waiting: str = ""


def claim_of(volume: Object) -> str:
    """The claim behind a volume, "" where there is none."""
    return next((text(get(volume, at)) for at in CLAIM_AT if volume.get(at[0]) is not None), "")


def migrate(machine: Machine, running: Running, world: World) -> Moved:
    """The instance with the claims of the VM, if these can be migrated."""
    if machine.vm["spec"].get("updateVolumesStrategy") != MIGRATION:
        noticed = world.release.within(until=EXCHANGE_NOTICED_UNTIL) and world.gate(EXCHANGE_GATE)
        return Moved(running=running, restart=EXCHANGED if noticed and _is_exchanged(machine.spec, running.spec) else "")
    changed = _changed(machine.spec, running.spec)
    if not changed or not (world.gate(EXCHANGE_GATE) and world.gate(MIGRATION_GATE)):
        return Moved(running=running)
    missing = _missing(machine, running, changed, world)
    invalid = "" if missing else _invalid(machine, running, changed)
    if missing or invalid:
        return Moved(running=running, restart=invalid, waiting=missing)
    if machine.immovable:
        return Moved(running=running, restart=IMMOVABLE.format(machine.immovable))
    left = [name for name in by_name(volumes_of(running.spec)) if name in running.unshared and name not in changed]
    if left:
        return Moved(running=running, restart=LEFT_BEHIND.format(left[0]))
    moving = running.moving or frozenset(changed)
    wanted = by_name(volumes_of(machine.spec))
    volumes = [copy(wanted[name]) if (name := each.get("name", "")) in moving else each for each in volumes_of(running.spec)]
    return Moved(running=running.but(spec={**running.spec, "volumes": volumes}, moving=moving))


def _is_exchanged(template: Object, spec: Object) -> bool:
    """True where the volumes differ, unless a hotpluggable one is gone from the template."""
    wanted, here = by_name(volumes_of(template)), by_name(volumes_of(spec))
    if any(is_hotpluggable(volume) for name, volume in here.items() if name not in wanted):
        return False
    return [_without_policy(each) for each in volumes_of(template)] != [_without_policy(each) for each in volumes_of(spec)]


def _without_policy(volume: Object) -> Object:
    """The volume without what only the instance says of its image."""
    disk = volume.get("containerDisk")
    return {**volume, "containerDisk": {**as_map(disk), "imagePullPolicy": ""}} if disk is not None else volume


def _changed(template: Object, spec: Object) -> dict[str, str]:
    """The volumes that have another claim in the template, each with that claim."""
    wanted = {name: claim for name, volume in by_name(volumes_of(template)).items() if (claim := claim_of(volume))}
    here = {name: claim for name, volume in by_name(volumes_of(spec)).items() if (claim := claim_of(volume))}
    return {name: claim for name, claim in wanted.items() if name in here and here[name] != claim}


def _invalid(machine: Machine, running: Running, changed: dict[str, str]) -> str:
    """Why volumes cannot be migrated, whatever the claims are; "" where they can."""
    found: dict[str, list[str]] = {kind: [] for kind in FAULTS}
    for volume in volumes_of(machine.spec):
        kind = _fault(volume.get("name", ""), running) if volume.get("name") in changed else ""
        if kind:
            found[kind].append(volume["name"])
    listed = "".join(f" {kind}: [{' '.join(each)}]" for kind, each in found.items() if each)
    return f"invalid volumes to update with migration:{listed}" if listed else ""


def _fault(name: str, running: Running) -> str:
    """The kind of what forbids the migration of a volume, "" where nothing does."""
    if name in by_name(entries(running.spec, "domain", "devices", "filesystems")):
        return "filesystems"
    disk = by_name(disks_of(running.spec)).get(name, {})
    if disk.get("shareable") is True:
        return "shareable"
    return "luns" if disk.get("lun") is not None else ""


def _missing(machine: Machine, running: Running, changed: dict[str, str], world: World) -> str:
    """Which claim or DataVolume of the template is not there, as a message; "" where all are."""
    disks = by_name(disks_of(running.spec))
    for volume in volumes_of(machine.spec):
        name = volume.get("name", "")
        if name not in changed or name not in disks or _fault(name, running):
            continue
        if volume.get("persistentVolumeClaim") is not None:
            checked = world.release.within(since=CLAIM_CHECKED_SINCE)
            if checked and not _claim(changed[name], machine.namespace, world):
                return f"{MISSING}: the pvc {changed[name]} doesn't exist"
        elif volume.get("dataVolume") is not None and not _has_data_volume(changed[name], machine, world):
            return f"{MISSING}: the datavolume {changed[name]} doesn't exist"
    return ""


def _claim(name: str, namespace: str, world: World) -> Object | None:
    """The claim of a name; that of a DataVolume bears its name."""
    entry = world.bundle.find("PersistentVolumeClaim", namespace, name) if name else None
    return entry.obj if entry else None


def _has_data_volume(name: str, machine: Machine, world: World) -> bool:
    made = by_name([as_map(each.get("metadata")) for each in entries(machine.vm["spec"], "dataVolumeTemplates")])
    return name in made or world.bundle.find("DataVolume", machine.namespace, name) is not None


def unshared(spec: Object, namespace: str, world: World) -> frozenset[str]:
    """The volumes of an instance whose claim is known, and can be used by one node only.

    upstream: pkg/storage/types/pvc.go:IsReadWriteOnceAccessMode
    """
    claims = {name: _claim(claim_of(volume), namespace, world) for name, volume in by_name(volumes_of(spec)).items()}
    return frozenset(name for name, claim in claims.items() if claim is not None and not _is_shared(claim))


def _is_shared(claim: Object) -> bool:
    return any(mode in SHARED for mode in as_list(get(claim, ("spec", "accessModes"))))


class Start(Value):
    """The instance that a VM starts as; None where it does not start, then `error` says why. `found` is what it is made of."""

    running: Running | None
    error: str = ""
    found: Resolution | None = None


def instance_of(machine: Machine, world: World) -> Start:
    """What the VM of a machine starts as now."""
    found = find(machine, world)
    if found.errors:
        return Start(running=None, error=f"the {found.errors[0].matcher} is not found")
    made = _made(found, machine, world)
    if made is None:
        return Start(running=None, error="the VM conflicts with its instancetype, or the cluster forbids its network")
    causes = [cause for cause in start_causes(made, cluster=world.cluster, release=world.release) if cause.sure]
    if causes:
        return Start(running=None, error=causes[0].message)
    running = running_of(made)
    return Start(running=running.but(unshared=unshared(running.spec, machine.namespace, world)), found=found)


def made_of(found: Resolution, machine: Machine, world: World) -> Running | None:
    """The instance that would be made of a VM and what it refers to, None where conflicts forbid it."""
    made = _made(found, machine, world)
    return running_of(made) if made is not None else None


def _made(found: Resolution, machine: Machine, world: World) -> Object | None:
    made = start(
        found,
        owner=machine.vm,
        namespace=machine.namespace,
        bundle=world.bundle,
        cluster=world.cluster,
        release=world.release,
        presets=world.presets,
    )
    return made.instance


def running_of(instance: Object) -> Running:
    """An instance as the API server has it, which has just started."""
    spec, meta = stored_spec(as_map(instance.get("spec"))), as_map(instance.get("metadata"))
    guest = get(spec, ("domain", "memory", "guest"))
    return Running(
        spec=spec,
        labels=as_map(meta.get("labels")),
        annotations={key: value for key, value in as_map(meta.get("annotations")).items() if key != LOCAL_CONFIG},
        boot=guest,
        guest=guest,
        volumes=frozenset(by_name(volumes_of(spec))),
        plugged=frozenset(name for name, volume in by_name(volumes_of(spec)).items() if is_hotpluggable(volume)),
        interfaces=interfaces_of(spec),
    )


def interfaces_of(spec: Object) -> Object:
    """The interfaces of a guest that has taken over what its instance says: names, each with the network it is attached to."""
    networks = by_name(entries(spec, "networks"))
    return {
        name: get(networks.get(name), ("multus", "networkName"))
        for name, interface in by_name(entries(spec, "domain", "devices", "interfaces")).items()
        if interface.get("state") != "absent"
    }


def started_spec(machine: Machine) -> Object:
    """The VM's spec as it is remembered at a start: its matchers name the revisions in use.

    upstream: pkg/virt-controller/watch/vm/vm.go:patchVMRevision
    """
    spec = {**machine.vm["spec"]}
    for matcher in MATCHERS:
        pin = machine.pins.get(matcher.field)
        if isinstance(spec.get(matcher.field), dict) and pin and pin.revision:
            spec[matcher.field] = {**spec[matcher.field], "revisionName": pin.revision}
    return spec
