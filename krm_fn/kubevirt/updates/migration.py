"""The migration with which a running instance takes over what its spec says now, and who starts it.

upstream: pkg/virt-controller/watch/workload-updater/workload-updater.go:getUpdateData, watch/vmi/lifecycle.go
"""

from __future__ import annotations

from krm_fn.base.objects import Object
from krm_fn.base.paths import get
from krm_fn.kubevirt.migratability import Assessment, Shared, assessed
from krm_fn.kubevirt.pods.launch import Launch, LaunchContext
from krm_fn.kubevirt.updates import networks
from krm_fn.kubevirt.updates.machine import Machine, World
from krm_fn.kubevirt.updates.resources import GUEST, SOCKETS

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
