"""The VM controller: one pass, and as many as it takes until nothing changes.

upstream: pkg/virt-controller/watch/vm/vm.go:sync

Volumes and disks that the manifest itself adds to, and takes from, a running instance.

upstream: pkg/storage/hotplug/hotplug.go:HandleDeclarativeVolumes
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable
from krm_fn.base.objects import Object
from krm_fn.base.paths import copy, put
from krm_fn.base.value import Value
from krm_fn.kubevirt.instance import stable_uuid
from krm_fn.kubevirt.releases import Version
from krm_fn.kubevirt.updates import networks, power, resources, revisions, starting
from krm_fn.kubevirt.updates.lone_instances import refusal
from krm_fn.kubevirt.updates.machine import Machine, Running, World, by_name, disks_of, is_hotpluggable, volumes_of
from krm_fn.kubevirt.updates.restart import is_lifted, restart_required
from krm_fn.kubevirt.updates.revisions import sync, written_by_controller
from krm_fn.kubevirt.updates.starting import instance_of, interfaces_of, started_spec

SINCE: Version = (1, 6)
GATE, OTHER_GATE = "DeclarativeHotplugVolumes", "HotplugVolumes"
MIGRATION = "Migration"
DISKS = ("domain", "devices", "disks")


def is_declarative(world: World) -> bool:
    """True where the cluster plugs the volumes that a manifest marks as hotpluggable.

    upstream: pkg/virt-controller/watch/vm/vm.go:handleDeclarativeVolumeHotplug
    """
    return world.release.within(since=SINCE) and world.gate(GATE) and not world.gate(OTHER_GATE)


def plugged(vm: Object, template: Object, running: Running) -> Object:
    """The spec of the running instance with the hotpluggable volumes of the template, which is not expanded."""
    if vm["spec"].get("updateVolumesStrategy") == MIGRATION:
        return running.spec
    volumes = [*_kept_volumes(template, running), *_new_volumes(template, running)]
    disks = [*_kept_disks(template, running, volumes), *_new_disks(template, running, volumes)]
    if volumes == volumes_of(running.spec) and disks == disks_of(running.spec):
        return running.spec
    return _with_lists(running.spec, volumes, disks)


def _with_lists(spec: Object, volumes: list[Object], disks: list[Object]) -> Object:
    changed: Object = {key: value for key, value in copy(spec).items() if key != "volumes"}
    if volumes:
        changed["volumes"] = volumes
    changed["domain"]["devices"].pop("disks", None)
    if disks:
        put(changed, DISKS, disks)
    return changed


def _kept_volumes(template: Object, running: Running) -> list[Object]:
    """Those of the instance that the template has unchanged; a changed one is plugged in again later."""
    wanted = by_name(volumes_of(template))

    def stays(volume: Object) -> bool:
        new = wanted.get(volume.get("name", ""))
        return not is_hotpluggable(volume) or (new is not None and (not is_hotpluggable(new) or new == volume))

    return [volume for volume in volumes_of(running.spec) if stays(volume)]


def _new_volumes(template: Object, running: Running) -> list[Object]:
    """Those of the template that the instance has not, and of which none of that name is just being plugged out."""
    here = {*by_name(volumes_of(running.spec)), *running.volumes}
    return [each for each in volumes_of(template) if is_hotpluggable(each) and each.get("name", "") not in here]


def _kept_disks(template: Object, running: Running, volumes: list[Object]) -> list[Object]:
    wanted, backed = by_name(volumes_of(template)), by_name(volumes)
    disks = by_name(disks_of(template))

    def stays(disk: Object) -> bool:
        name = disk.get("name", "")
        if name in backed:
            return True
        new = disks.get(name)
        both = new is not None and new.get("cdrom") is not None and disk.get("cdrom") is not None
        return new is not None and (name not in wanted or both)

    return [disk for disk in disks_of(running.spec) if stays(disk)]


def _new_disks(template: Object, running: Running, volumes: list[Object]) -> list[Object]:
    here, backed = by_name(disks_of(running.spec)), by_name(volumes)
    return [
        disk
        for disk in disks_of(template)
        if is_hotpluggable(backed.get(disk.get("name", ""))) and disk.get("name", "") not in here
    ]


# A VM that nothing settles is left after so many passes.
PASSES = 12
CONFLICT = "the VM conflicts with its instancetype"
UUID = ("domain", "firmware", "uuid")
UUID_WRITTEN_SINCE: Version = (1, 6)


class Pass(Value):
    """One pass on its way: the machine as the API server has it, and the VM with what the controller is about to write.

    `message` is that of RestartRequired. `ends`: the pass ends before the next step.
    """

    machine: Machine
    written: Object
    message: str = ""
    ends: bool = False

    def failed(self, error: str) -> Pass:
        return self.but(machine=self.machine.but(error=error), ends=True)


def settled(machine: Machine, world: World) -> Machine:
    """The machine once the controller has nothing more to do, or does not get through."""
    for _ in range(PASSES):
        before = machine.but(error="", unresolved=False, volumes_change="")
        after = one_pass(before, world)
        # the message of RestartRequired stops steps of the next pass, but here they have come to nothing
        if after == before.but(restart=after.restart) or after == machine:
            return after
        machine = after
    return machine


def one_pass(machine: Machine, world: World) -> Machine:
    """The machine after one pass of the controller."""
    synced = sync(machine, world)
    if synced.ends:
        return synced.machine.but(unresolved=bool(synced.machine.error))
    if synced.machine.running is not None and power.strategy_of(synced.machine.vm) == power.HALTED:
        return _stopped(synced.machine, world)
    machine = _started(synced.machine, world)
    if machine.error:
        return machine
    found = restart_required(machine, world)
    now = Pass(machine=machine, written=machine.vm, message=_message(machine.restart, found, world))
    blocked = bool(now.message)
    for step in STEPS:
        if not now.ends:
            now = step(now, world)
    if not now.ends and world.rolls_out_live and not blocked:
        now = _live(now, world)
    return _finished(now, world)


def _message(before: str, found: str | None, world: World) -> str:
    """The message of the condition RestartRequired; one that stands is kept, whatever else comes to need a restart.

    upstream: pkg/controller/conditions.go:UpdateCondition
    """
    lifted = found == "" and is_lifted(world)
    return "" if lifted else before or found or ""


def _stopped(machine: Machine, world: World) -> Machine:
    """The machine without its instance; the condition RestartRequired is looked at once more, as upstream does."""
    return machine.but(running=None, restart=restart_required(machine, world) or "", strategy=power.HALTED)


def _started(machine: Machine, world: World) -> Machine:
    """The machine with an instance, if its run strategy starts one."""
    strategy = power.strategy_of(machine.vm)
    if machine.running is None and power.starts(machine.vm, machine.strategy):
        start = instance_of(machine, world)
        if start.running is None:
            return machine.but(error=start.error)
        machine = machine.but(running=start.running, started=started_spec(machine), restart="")
    return machine.but(strategy=strategy)


def _changed(now: Pass, world: World, spec: Object) -> Pass:
    """The pass with another spec of the instance, if admission lets it in."""
    running = now.machine.running
    if running is None or spec == running.spec:
        return now
    refused = refusal(spec, running, world)
    return now.failed(refused) if refused else now.but(machine=now.machine.but(running=running.but(spec=spec)))


def _networks(now: Pass, world: World) -> Pass:
    running, template = now.machine.running, now.machine.spec
    if running is not None:
        now = _changed(now, world, networks.plugged(template, running, world, migratable=now.machine.migratable))
    if now.ends:
        return now
    return now.but(written=_with_template(now.written, networks.cleared(template, now.machine.running)))


def _with_template(vm: Object, spec: Object) -> Object:
    """The VM with another spec of its template."""
    template = vm["spec"]["template"]
    return vm if spec is template.get("spec") else {**vm, "spec": {**vm["spec"], "template": {**template, "spec": spec}}}


def _firmware(now: Pass, world: World) -> Pass:
    """A VM without firmware uuid gets the one that its name stands for.

    upstream: pkg/virt-controller/watch/vm/firmware.go:Sync
    """
    spec = now.written["spec"]["template"]["spec"]
    if now.machine.spec.get("domain", {}).get("firmware", {}).get("uuid") or not world.release.within(since=UUID_WRITTEN_SINCE):
        return now
    spec = copy(spec)
    put(spec, UUID, stable_uuid(now.machine.name))
    return now.but(written=_with_template(now.written, spec))


def _volumes(now: Pass, world: World) -> Pass:
    running = now.machine.running
    if running is None or not is_declarative(world):
        return now
    return _changed(now, world, plugged(now.written, now.written["spec"]["template"]["spec"], running))


def _metadata(now: Pass, world: World) -> Pass:
    running = now.machine.running
    if running is None:
        return now
    if revisions.is_refused(now.written, running.annotations, world):
        return now.failed(revisions.TWO_CHANGES)
    annotations = revisions.followed(now.written, running.annotations, world)
    machine = now.machine.but(running=running.but(annotations=annotations))
    return now.but(machine=machine, written=revisions.taken_back(now.written, annotations))


def _live(now: Pass, world: World) -> Pass:
    """CPUs, placement, memory and volume migration, which only a VM gets that needs no restart."""
    if now.machine.running is None:
        return now
    after = _grown(now, world)
    running = after.machine.running
    if running is None or after.ends:
        return after.but(message=now.message)  # what a pass has found is lost where it fails
    moved = starting.migrate(after.machine.but(vm=now.written), running, world)
    machine = after.machine.but(running=moved.running, volumes_change=moved.waiting)
    return after.but(machine=machine, message=after.message or moved.restart)


def _grown(now: Pass, world: World) -> Pass:
    wanted = resources.wanted(now.machine.but(vm=now.written), world)
    if wanted is None:
        return now.failed(CONFLICT)
    for step in resources.STEPS:
        running = now.machine.running
        if running is None or now.ends:
            return now
        grown = step(wanted, running)
        now = _changed(now.but(message=now.message or grown.restart), world, grown.running.spec)
    return now


def _finished(now: Pass, world: World) -> Machine:
    machine = now.machine.but(restart=now.message)
    if now.ends or now.written == machine.vm:
        return machine
    return written_by_controller(machine, world, now.written)


STEPS: tuple[Callable[[Pass, World], Pass], ...] = (_networks, _firmware, _volumes, _metadata)


def followed(machine: Machine, world: World) -> Machine:
    """The machine once its guest has taken over what the instance says, by a migration where it needs one."""
    running = machine.running
    if running is None:
        return machine
    names = frozenset(by_name(volumes_of(running.spec)))
    return machine.but(
        running=running.but(
            guest=running.spec.get("domain", {}).get("memory", {}).get("guest", running.guest),
            volumes=names,
            plugged=names - (running.volumes - running.plugged),
            interfaces=interfaces_of(running.spec),
            moving=frozenset(),
            unshared=starting.unshared(running.spec, machine.namespace, world),
        )
    )
