"""What waits in a cluster, grouped into steps: what each costs, and the commands to run by hand.

upstream: pkg/virt-controller/watch/workload-updater/workload-updater.go (outdated launchers, migrations that are required),
pkg/virt-controller/watch/vm/vm.go (RestartRequired), pkg/virt-api/rest/lifecycle.go (what a restart by hand takes),
pkg/instancetype/upgrade/handler.go (old forms of revisions)
"""

from __future__ import annotations

from shlex import quote

from krm_fn.base.annotations import Any, Iterable, Iterator, Sequence
from krm_fn.base.bundle import effective_namespace, is_cluster_kind
from krm_fn.base.objects import Object, annotations_of, kind_of, labels_of, metadata, name_of, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.quantity import NANO, Quantity
from krm_fn.base.value import Value
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.resolve import MATCHERS
from krm_fn.kubevirt.resolve.revision import same_payload
from krm_fn.kubevirt.stored_revisions import is_current, status_path
from krm_fn.live.dumps import SIZES, VM
from krm_fn.sizing.draining import Drain, is_migratable, pods_of
from krm_fn.sizing.neighbours import NodePod, claims_of
from krm_fn.sizing.schema import COUNT, TEXT, TEXTS, closed

RESTART, MIGRATE, REVISION, NEXT = "restart", "migrate", "revision", "at the next start"
OUTDATED = "kubevirt.io/outdatedLauncherImage"
INSTANCE = "VirtualMachineInstance"
METHODS = ("spec", "workloadUpdateStrategy", "workloadUpdateMethods")
MIGRATIONS = ("spec", "configuration", "migrations")
# How many migrations run at once, and how many from one node.
# upstream: pkg/virt-config/virt-config.go:ParallelMigrationsPerClusterDefault, ParallelOutboundMigrationsPerNodeDefault
AT_ONCE, FROM_ONE_NODE = 5, 2
ABORTED = "kubevirt.io/testWorkloadUpdateMigrationAbortion"
UNDER_WAY = "the migration under way"
# The conditions of an instance that wait for a migration, and what they stand for.
# upstream: staging/src/kubevirt.io/api/core/v1/types.go:VirtualMachineInstanceConditionType
WAITING = {
    "HotVCPUChange": "a change of its CPUs waits for a migration",
    "HotMemoryChange": "a change of its memory waits for a migration",
    "VolumesChange": "a change of its volumes waits for a migration",
    "MigrationRequired": "a change of its networks waits for a migration",
}
TITLES = {
    "restart-required": "Restart VMs of which a change waits",
    "migration-required": "Migrate instances of which a change waits",
    "outdated-launcher": "Renew launchers of an older release",
    "old-revision": "Move VMs from old revisions of their instancetype or preference",
    "old-form": "Renew revisions in a form of an older release",
    "apply": "Apply git",
}
# What is done after an apply, by its effect, and why.
APPLIED = {
    "restartRequired": (RESTART, ""),
    "migration:nobody": (MIGRATE, "the change waits for a migration"),
    "migration:LiveMigrate": (MIGRATE, "the change waits for a migration"),
    "migration:Evict": (RESTART, "the change waits for a restart"),
}
BY_HAND = ("restartRequired", "migration:nobody")
UNKNOWN_OF = {
    INSTANCE: "whether VMs have outdated launchers or wait for a migration",
    "ControllerRevision": "whether the revisions of VMs are old",
    "Pod": "how much memory migrations take",
    "Node": "which drains succeed",
    "PersistentVolumeClaim": "which volumes keep machines on some nodes",
    "PersistentVolume": "which volumes keep machines on some nodes",
}
VOLUMES = {"PersistentVolumeClaim", "PersistentVolume"}


class WaitingCluster(Value):
    """The objects of a dump that decide what waits."""

    vms: tuple[Object, ...]
    instances: dict[tuple[str, str], Object]
    revisions: dict[tuple[str, str], Object]
    sizes: dict[tuple[str, str, str], Object]
    launchers: dict[tuple[str, str], NodePod]
    moving: frozenset[tuple[str, str]]
    methods: tuple[str, ...]
    limits: tuple[int, int]
    release: Release


def plan(
    objects: Sequence[Object],
    release: Release,
    *,
    changed: Sequence[Object] = (),
    upgrade: Sequence[Object] = (),
    drained: Sequence[Drain] = (),
) -> Object:
    """`{"steps": [step, …], "drains": [drain, …], "loss": {…}, "unknown": [text, …]}`.

    `changed` are the records of `drift`, if git is to be applied; `upgrade` are the steps of `diff`, if KubeVirt is to be
    upgraded; `drained` is what draining each node comes to.

    A step has `sort`, `title`, `machines` (`namespace`, `name`, `because`, `does`, and `command` or `by`) and its `cost`:
    `migrations`, `restarts`, and `memory`, what migrations at once need on other nodes, as far as that is known. `loss` is the
    node whose loss leaves the most machines without room, with these machines.
    """
    cluster = _cluster(objects, release)
    found = {
        "apply": list(_applied(changed)),
        "restart-required": list(_restarts(cluster)),
        "migration-required": list(_migrations(cluster)),
        "outdated-launcher": list(_outdated(cluster)),
        "old-revision": list(_revisions(cluster, current=True)),
        "old-form": list(_revisions(cluster, current=False)),
    }
    present = {kind_of(obj) for obj in objects}
    steps = [_step(sort, machines, cluster) for sort, machines in found.items() if machines]
    if not any(map(claims_of, cluster.launchers.values())):
        present |= VOLUMES  # there is nothing to know of them
    worst = max(drained, key=lambda each: len(each.lost), default=None)
    return {
        "steps": [*steps, *(_upgraded(each, cluster) for each in upgrade)],
        "drains": [_drain(each) for each in drained],
        **({"loss": {"node": worst.node, "withoutRoom": list(worst.lost)}} if worst else {}),
        "unknown": [f"the dump has no {kind}: not known {what}" for kind, what in UNKNOWN_OF.items() if kind not in present],
    }


def _cluster(objects: Sequence[Object], release: Release) -> WaitingCluster:
    kubevirt = next((obj for obj in objects if kind_of(obj) == "KubeVirt"), {})
    limits = as_map(get(kubevirt, MIGRATIONS))
    migrations = (obj for obj in objects if kind_of(obj) == "VirtualMachineInstanceMigration" and not _is_final(obj))
    return WaitingCluster(
        vms=tuple(obj for obj in objects if kind_of(obj) == VM),
        instances={_place(obj): obj for obj in objects if kind_of(obj) == INSTANCE},
        revisions={_place(obj): obj for obj in objects if kind_of(obj) == "ControllerRevision"},
        sizes={(kind_of(obj), _space(obj), name_of(obj)): obj for obj in objects if kind_of(obj) in SIZES},
        launchers={(pod.key[0], pod.vmi): pod for pod in pods_of(objects) if pod.vmi},
        moving=frozenset((effective_namespace(obj), text(get(obj, ("spec", "vmiName")))) for obj in migrations),
        methods=tuple(map(str, as_list(get(kubevirt, METHODS)))),
        limits=(
            limits.get("parallelMigrationsPerCluster", AT_ONCE),
            limits.get("parallelOutboundMigrationsPerNode", FROM_ONE_NODE),
        ),
        release=release,
    )


def _place(obj: Object) -> tuple[str, str]:
    return effective_namespace(obj), name_of(obj)


def _space(obj: Object) -> str:
    return "" if is_cluster_kind(kind_of(obj)) else effective_namespace(obj)


def _step(sort: str, machines: Sequence[Object], cluster: WaitingCluster) -> Object:
    moved = [each for each in machines if each["does"] == MIGRATE]
    found = [cluster.launchers.get((each["namespace"], each["name"])) for each in moved]
    cost: Object = {"migrations": len(moved), "restarts": sum(each["does"] == RESTART for each in machines)}
    if moved and cluster.launchers:
        cost["memory"] = str(Quantity(nanos=_at_once(filter(None, found), cluster.limits) // NANO * NANO, format="BinarySI"))
    return {"sort": sort, "title": TITLES.get(sort, sort), "cost": cost, "machines": list(machines)}


def _at_once(pods: Iterable[NodePod], limits: tuple[int, int]) -> int:
    """The most memory that migrations at once need.

    upstream: pkg/virt-controller/watch/migration/migration.go:handlePendingMigration
    """
    taken: list[NodePod] = []
    for pod in sorted(pods, key=_memory, reverse=True):
        if len(taken) < limits[0] and sum(each.node == pod.node for each in taken) < limits[1]:
            taken.append(pod)
    return sum(map(_memory, taken))


def _memory(pod: NodePod) -> int:
    return pod.needs.amounts.get("memory", 0)


def _machine(obj: Object, because: str, does: str, **more: Any) -> Object:
    namespace, name = _place(obj)
    return {"namespace": namespace, "name": name, "because": because, "does": does, **more}


def _command(verb: str, obj: Object) -> str:
    return f"virtctl {verb} {quote(name_of(obj))} -n {quote(effective_namespace(obj))}"


def _condition(obj: Object, sort: str) -> Object:
    """A condition, empty where it is not there."""
    found = map(as_map, as_list(get(obj, ("status", "conditions"))))
    return next((each for each in found if each.get("type") == sort), {})


def _is_final(obj: Object) -> bool:
    return get(obj, ("status", "phase")) in ("Succeeded", "Failed")


def _restart(vm: Object | None) -> Object:
    """The command that restarts a VM; none where KubeVirt refuses it.

    upstream: pkg/virt-api/rest/lifecycle.go:RestartVMRequestHandler
    """
    spec = as_map((vm or {}).get("spec"))
    strategy = spec.get("runStrategy") or ("Halted" if spec.get("running") is False else "Always")
    if vm is None or strategy in ("Halted", "Once") or _condition(vm, "VolumesChange").get("status") == "True":
        return {}
    return {"command": _command("restart", vm)}


def _restarts(cluster: WaitingCluster) -> Iterator[Object]:
    for vm in cluster.vms:
        condition = _condition(vm, "RestartRequired")
        if condition.get("status") == "True":
            yield _machine(vm, text(condition.get("message")) or "RestartRequired", RESTART, **_restart(vm))


def _migrations(cluster: WaitingCluster) -> Iterator[Object]:
    for instance in _running(cluster):
        because = next((words for sort, words in WAITING.items() if _waits(instance, sort)), "")
        if because and not (_is_migrating(instance) or ABORTED in annotations_of(instance)):
            yield _moved(instance, because, cluster)


def _waits(instance: Object, sort: str) -> bool:
    condition = _condition(instance, sort)
    # upstream asks only whether the condition of CPUs is there
    return bool(condition) and (sort == "HotVCPUChange" or condition.get("status") == "True")


def _is_migrating(instance: Object) -> bool:
    """upstream: pkg/util/migrations/migrations.go:IsMigrating"""
    state = as_map(get(instance, ("status", "migrationState")))
    return bool(state.get("startTimestamp")) and not state.get("endTimestamp")


def _outdated(cluster: WaitingCluster) -> Iterator[Object]:
    for instance in _running(cluster):
        if OUTDATED in labels_of(instance):
            yield _moved(instance, "its launcher is of an older release", cluster)


def _running(cluster: WaitingCluster) -> Iterable[Object]:
    found = (each for each in cluster.instances.values() if get(each, ("status", "phase")) == "Running")
    return (each for each in found if not metadata(each).get("deletionTimestamp"))


def _moved(instance: Object, because: str, cluster: WaitingCluster) -> Object:
    """A migration where the instance can be moved, else a restart; KubeVirt does by itself what its strategy says."""
    if _is_migrating(instance) or _place(instance) in cluster.moving:
        return _machine(instance, because, MIGRATE, by=UNDER_WAY)
    migratable = is_migratable(instance)
    why = because if migratable else f"{because}, and it can't be migrated"
    if migratable and "LiveMigrate" in cluster.methods:
        return _machine(instance, why, MIGRATE, by="KubeVirt")
    if "Evict" in cluster.methods:
        return _machine(instance, why, RESTART, by="KubeVirt")
    if migratable:
        return _machine(instance, why, MIGRATE, command=_command("migrate", instance))
    return _machine(instance, why, RESTART, **_restart(_vm_of(instance, cluster)))


def _vm_of(instance: Object, cluster: WaitingCluster) -> Object | None:
    """The VM that has made an instance; of one that the dump lacks, its name alone."""
    owners = map(as_map, as_list(metadata(instance).get("ownerReferences")))
    known = next((vm for vm in cluster.vms if _place(vm) == _place(instance)), None)
    return known or (instance if any(each.get("kind") == VM for each in owners) else None)


def _revisions(cluster: WaitingCluster, *, current: bool) -> Iterator[Object]:
    """The VMs whose stored revision differs from the object of today, or those in a form of an older release."""
    for vm in cluster.vms:
        for matcher in MATCHERS:
            name = text(get(vm, ("spec", matcher.field, "revisionName"))) or text(get(vm, status_path(matcher)))
            revision = cluster.revisions.get((effective_namespace(vm), name))
            if revision is None:
                continue
            written = as_map(get(vm, ("spec", matcher.field)))
            if not current:
                if not is_current(revision):
                    yield _machine(vm, f"ControllerRevision {name} is in a form of an older release", REVISION, by="KubeVirt")
                continue
            kind = matcher.kind_named(text(written.get("kind")))
            space = "" if is_cluster_kind(kind) else effective_namespace(vm)
            today = cluster.sizes.get((kind, space, text(written.get("name"))))
            if today and not same_payload(revision.get("data"), today, cluster.release):
                yield _machine(vm, f"{kind} {name_of(today)} has changed since ControllerRevision {name} was stored", REVISION)


def _upgraded(step: Object, cluster: WaitingCluster) -> Object:
    """The step of an upgrade: all launchers are renewed, and some machines start with other values then."""
    moved = [_moved(each, "its launcher is of an older release", cluster) for each in _running(cluster)]
    changed = (each for each in step["vms"] if each["effect"] != ["nothing"])
    machines = [{"namespace": each["namespace"], "name": each["name"], "because": _why(each), "does": NEXT} for each in changed]
    title = f"Upgrade KubeVirt from {step['from']} to {step['to']}"
    return {**_step("upgrade", moved, cluster), "title": title, "machines": machines}


def _why(record: Object) -> str:
    fields = [*record.get("live", ()), *record.get("atRestart", ())]
    said = [text(record.get(key)) for key in ("error", "startError")] + [each["message"] for each in record.get("keeps", ())]
    return "; ".join(filter(None, [f"other values at {', '.join(fields)}" if fields else "", *said])) or "other pods"


def _drain(found: Drain) -> Object:
    machines = {what: list(names) for what, names in found.machines.items()}
    named = {"withoutRoom": found.without_room, "lost": found.lost, "held": found.held}
    return {
        "node": found.node,
        "succeeds": found.succeeds,
        "machines": machines,
        **{key: list(names) for key, names in named.items()},
    }


def _applied(changed: Sequence[Object]) -> Iterator[Object]:
    """What applying git leaves to do: restarts and migrations, by hand or by KubeVirt."""
    for record in changed:
        named = {"metadata": {"namespace": record["namespace"], "name": record["name"]}}
        effect = next((each for each in APPLIED if each in record["effect"]), None)
        if effect:
            does, because = APPLIED[effect]
            how = {"command": _command(does, named)} if effect in BY_HAND else {"by": "KubeVirt"}
            yield _machine(named, because or text(record.get("restartRequired")), does, **how)


def schema() -> Object:
    """The JSON Schema of what `-o json` prints."""

    def of(properties: Object, *optional: str) -> Object:
        return closed(properties, required=tuple(key for key in properties if key not in optional))

    def several(items: Object) -> Object:
        return {"type": "array", "items": items}

    words = dict.fromkeys(("namespace", "name", "because", "does", "command", "by"), TEXT)
    memory = {**TEXT, "description": "What migrations at once need on other nodes."}
    cost = of({"migrations": COUNT, "restarts": COUNT, "memory": memory}, "memory")
    step = of({"sort": TEXT, "title": TEXT, "cost": cost, "machines": several(of(words, "command", "by"))})
    machines = {"type": "object", "additionalProperties": TEXTS, "description": "By what an eviction does to them."}
    lost = {**TEXTS, "description": "What fits on no other node once this one is gone."}
    found = {"succeeds": {"type": "boolean"}, "machines": machines, "withoutRoom": TEXTS, "lost": lost, "held": TEXTS}
    drain = of({"node": TEXT, **found})
    loss = of({"node": TEXT, "withoutRoom": TEXTS})
    loss["description"] = "The node whose loss leaves the most machines without room on the others."
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:kubevirt-render:schema:v1alpha1:plan",
        "title": "What `kubevirt-render plan -o json` prints",
        **of({"steps": several(step), "drains": several(drain), "loss": loss, "unknown": TEXTS}, "loss"),
    }
