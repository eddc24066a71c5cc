"""A VM on its way from one side of a change to the other: created, started and settled on the first, updated on the second.

And the migration with which a running instance takes over what its spec says now, and who starts it.

upstream: pkg/virt-controller/watch/workload-updater/workload-updater.go:getUpdateData, watch/vmi/lifecycle.go
"""

from __future__ import annotations

from krm_fn.base.objects import Object, metadata, text
from krm_fn.base.paths import as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.migratability import Assessment, Shared, assessed, immovable, verdict_of
from krm_fn.kubevirt.pods.launch import Launch, LaunchContext
from krm_fn.kubevirt.resolve import MATCHERS
from krm_fn.kubevirt.updates import networks, power
from krm_fn.kubevirt.updates.admission import AdmissionVerdict, admitted, written
from krm_fn.kubevirt.updates.controller import followed, settled
from krm_fn.kubevirt.updates.machine import Machine, Pin, World
from krm_fn.kubevirt.updates.resources import GUEST, SOCKETS
from krm_fn.kubevirt.updates.revisions import sync
from krm_fn.kubevirt.updates.starting import Start, instance_of, started_spec
from krm_fn.kubevirt.updates.stored_form import stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.updates.stored_form import Writer


# References settle in so many passes of the controller.
PASSES = 4


class Transition(Value):
    """What became of a VM. `base` is it before the update, `head` once the controller has settled, `after` once the guest has
    followed. `first` and `last` are what it starts as before and after. `sent`: the update writes something.
    `origin` and `world` are the clusters of both sides, `old` and `new` the manifests. `assessment` is what migrations of the
    instance depend on, None where nobody asks or none runs.
    """

    base: Machine
    head: Machine
    after: Machine
    first: Start
    last: Start
    verdict: AdmissionVerdict
    sent: bool
    origin: World
    world: World
    old: Object
    new: Object
    assessment: Assessment | None = None

    @property
    def needs_migration(self) -> bool:
        """True where the running instance has to move before all of its spec takes effect."""
        return migration(self.base, self.head, self.world) is not None


def created(vm: Object, world: World, *, migratable: bool = True) -> Machine:
    """A VM in the stored form as the cluster has it, its references stored or expanded; what its status names is kept."""
    machine = Machine(vm=vm, migratable=migratable, pins=pins_of(vm))
    if not any(metadata(vm).get(mark) for mark in ("uid", "generation")):  # else it was created long ago
        machine = machine.but(vm=written(machine, world))
    for _ in range(PASSES):
        synced = sync(machine, world).machine
        if synced == machine:
            break
        machine = synced
    return machine


def pins_of(vm: Object) -> dict[str, Pin]:
    """What the status of a VM that was read from a cluster says of its revisions."""
    pins = {}
    for matcher in MATCHERS:
        ref = as_map(get(vm, ("status", matcher.status)))
        revision = text(get(ref, ("controllerRevisionRef", "name")))
        if revision and metadata(vm).get("uid"):
            pins[matcher.field] = Pin(
                name=text(ref.get("name")),
                kind=text(ref.get("kind")),
                volume=text(ref.get("inferFromVolume")),
                revision=revision,
            )
    return pins


def started(machine: Machine, world: World) -> tuple[Machine, Start]:
    """The machine once the controller has settled, with its instance if it runs, and what it starts as in any case."""
    start = next_start(machine, world)
    strategy = power.strategy_of(machine.vm)
    machine = machine.but(strategy=strategy)
    if strategy != power.HALTED and start.running is not None:
        return settled(machine.but(running=start.running, started=started_spec(machine)), world), start
    halted = settled(machine, world)
    return halted, start if halted == machine else next_start(halted, world)


def next_start(machine: Machine, world: World) -> Start:
    """What a machine starts as next, or why it does not start; the controller cares for its references before."""
    for _ in range(PASSES):
        synced = sync(machine.but(error=""), world)
        machine = synced.machine
        if machine.error:
            return Start(running=None, error=machine.error)
        if not synced.ends:
            break
    return instance_of(machine, world)


def transition(old: Object, new: Object, base: World, head: World, *, write: Writer, migratable: bool | None) -> Transition:
    """What the update of a VM from one manifest to another does, in the cluster of the head.

    `migratable`: the instance can be live-migrated; None: as it says itself, and yes where that is not known.
    """
    was, now = stored(old), stored(new)
    first, start = started(created(was, base, migratable=migratable is not False), base)
    known = assessment(first, head) if migratable is None else None
    if known:
        claims = shared(first.namespace, base, head)
        migratable = verdict_of(known, claims).status is not False
        first = first.but(migratable=migratable, immovable=immovable(known, claims))
    vm = write(was, now, first.vm)
    verdict = AdmissionVerdict(vm=first.vm) if vm is None else admitted(first.but(vm=stored(vm)), head, before=first.vm)
    settled_at = settled(first.but(vm=verdict.vm) if verdict.allowed else first, head)
    following = followed(settled_at, head)
    after = settled_at if following == settled_at else settled(following, head)
    return Transition(
        base=first,
        head=settled_at,
        after=after,
        first=start,
        last=next_start(after, head),
        verdict=verdict,
        sent=vm is not None,
        origin=base,
        old=was,
        new=now,
        world=head,
        assessment=known,
    )


def fresh(old: Object, new: Object, base: World, head: World) -> Transition:
    """What VMs that are created from the two manifests start as, each in its cluster: nothing that exists is looked at."""
    was, now = stored(old), stored(new)
    first, last = created(was, base), created(now, head)
    return Transition(
        base=first,
        head=last,
        after=last,
        first=next_start(first, base),
        last=next_start(last, head),
        verdict=admitted(Machine(vm=now), head),
        sent=True,
        origin=base,
        world=head,
        old=was,
        new=now,
    )


LIVE_MIGRATE, EVICT, NOBODY = "LiveMigrate", "Evict", "nobody"
LONGEST = 63  # characters of a label
HOT_CPU, HOT_MEMORY, VOLUMES, REQUIRED = "HotVCPUChange", "HotMemoryChange", "VolumesChange", "MigrationRequired"


def is_too_long(name: str) -> bool:
    """True for the name of a machine that no migration can have as a label.

    upstream: pkg/virt-api/webhooks/mutating-webhook/mutators/migration-create-mutator.go:addMigrationSelectorLabel
    """
    return len(name) > LONGEST


def migration(before: Machine, after: Machine, world: World) -> Object | None:
    """Why the instance needs a migration, and who starts it: `because`, `by`, `network`; None where it needs none."""
    if before.running is None or after.running is None:
        return None
    was, now = before.running, after.running
    network = networks.migration(now, world, after.namespace)
    needs = {
        HOT_CPU: get(was.spec, SOCKETS) != get(now.spec, SOCKETS),
        HOT_MEMORY: get(was.spec, GUEST) != get(now.spec, GUEST),
        VOLUMES: bool(now.moving),
        REQUIRED: bool(network),
    }
    because = [condition for condition, needed in needs.items() if needed]
    if not because:
        return None
    found: Object = {"because": because, "by": _by(after, world)}
    return {**found, "network": network} if network else found


def assessment(machine: Machine, world: World) -> Assessment | None:
    """What migrations of the running instance depend on; None where none runs."""
    if machine.running is None:
        return None
    meta = {"name": machine.name, "annotations": machine.running.annotations}
    around = LaunchContext(bundle=world.bundle, cluster=world.cluster, release=world.release, namespace=machine.namespace)
    return assessed(Launch({"metadata": meta, "spec": machine.running.spec}, around))


def shared(namespace: str, origin: World, world: World) -> Shared:
    """Which claims of a namespace several nodes can use. A claim keeps its access modes: those before an update come first."""

    def is_shared(name: str) -> bool | None:
        before = origin.claims.is_shared(namespace, name)
        return world.claims.is_shared(namespace, name) if before is None else before

    return is_shared


def _by(machine: Machine, world: World) -> str:
    if is_too_long(machine.name):
        return NOBODY  # the API server refuses the migrations that the updater creates
    moves = machine.migratable or bool(machine.running and machine.running.moving)
    if LIVE_MIGRATE in world.update_methods and moves:
        return LIVE_MIGRATE
    return EVICT if EVICT in world.update_methods else NOBODY
