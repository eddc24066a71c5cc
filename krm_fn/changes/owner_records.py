"""The records of what has machines, by kind: VMs, pools, and what makes instances without a VM.

The update of a VM is worked out only where it may reach the VM, and once for VMs that are alike.
"""

from __future__ import annotations

from functools import partial

from krm_fn.base.annotations import Iterable
from krm_fn.base.objects import Object, labels_of, metadata
from krm_fn.base.paths import as_map, get
from krm_fn.changes.causes import side_of_template
from krm_fn.changes.effects import LIVE, NEW, NEXT_START, RESTART, changes_between, guest_change
from krm_fn.changes.migratable import MigratableKeys, in_both_cases, outcome_of, told
from krm_fn.changes.records import NOTHING, fails_as_before, record_of, refused_record, untouched_record, with_sizes
from krm_fn.changes.scaling import RECREATED, RELEASED, RESTARTED, counts, scaled
from krm_fn.changes.untouched import is_untouched, starts_the_same
from krm_fn.kubevirt.admission.selectors import missed
from krm_fn.kubevirt.holders import TEMPLATE
from krm_fn.kubevirt.updates import lone_instances, pools
from krm_fn.kubevirt.updates.admission import SELECTOR, VALIDATING, admitted, update_causes
from krm_fn.kubevirt.updates.machine import Machine, World
from krm_fn.kubevirt.updates.starting import Start
from krm_fn.kubevirt.updates.stored_form import applied, by_replacement, not_at_all, stored
from krm_fn.kubevirt.updates.transition import Transition, fresh, is_too_long, transition

TYPE_CHECKING = False

if TYPE_CHECKING:
    from krm_fn.changes.pairs import Pair
    from krm_fn.changes.repeats import Repeats
    from krm_fn.kubevirt.updates.stored_form import Writer


ERROR, UNMOVED = "error", "migration:nobody"


def vm_record(pair: Pair, repeats: Repeats) -> Object:
    """The keys of a VM's record."""
    old, new, worlds, how = pair.old.obj, pair.new.obj, (pair.origin, pair.world), pair.how
    if how.apply and not how.new and is_untouched(old, new, *worlds):
        return untouched_record(old, *worlds)
    if how.new and starts_the_same(old, new, *worlds):
        return untouched_record(old, *worlds, existing=False)
    work = _new if how.new else partial(in_both_cases, work=_updated)
    alone = is_too_long(pair.owner.name)  # nobody migrates it, where others like it are
    return told(work(pair) if alone else repeats.outcome(pair, work), pair, old)


def _updated(pair: Pair) -> MigratableKeys:
    write = _writer(pair)
    worlds = pair.origin, pair.world
    found = transition(pair.old.obj, pair.new.obj, *worlds, write=write, migratable=pair.how.assumed)
    gates = unknown_gates(found, pair)
    if gates and (held := gates & gates_of_old(found)):
        return with_gates(_updated(pair.opening(held)), held)
    if found.base.error and (held := _shut(gates_of_old(found), pair.origin)):
        return with_gates(_updated(pair.opening(held)), held)
    if not pair.is_edited and fails_as_before(found):
        return MigratableKeys(record=untouched_record(pair.old.obj, *worlds))
    record = with_sizes(record_of(found, pair.owner, replaced=not pair.how.apply), pair.sizes.of(found, pair.new))
    if UNMOVED in record["effect"] and not pair.world.known:
        record["unknown"] = {"workloadUpdateStrategy": True}
    if _fails_anyway(found, record["effect"], pair):
        record |= {"asBefore": True, **({} if pair.is_edited else {"unedited": True})}
    return with_gates(outcome_of(record, found), gates)


def _writer(pair: Pair) -> Writer:
    """How the new object reaches the cluster. Two objects with a uid are two states of one: the API server has stored both."""
    if all(metadata(each.obj).get("uid") for each in (pair.old, pair.new)):
        return by_replacement if pair.is_edited else not_at_all
    return applied if pair.how.apply else by_replacement


def unknown_gates(found: Transition, pair: Pair) -> frozenset[str]:
    """The feature gates for which KubeVirt refuses the update, where nothing says whether they are open.

    Only gates that the release knows: opening another one changes nothing.
    """
    if pair.world.known or found.verdict.allowed:
        return frozenset()
    return _shut({cause.gate for cause in found.verdict.causes if cause.gate}, pair.world)


def _shut(gates: Iterable[str], world: World) -> frozenset[str]:
    """Those of some gates that are shut on a side whose settings are not known, and that its release knows."""
    if world.known:
        return frozenset()

    def opened(gate: str) -> World:
        return world.but(cluster=world.cluster.opening((gate,)))

    return frozenset(gate for gate in gates if not world.gate(gate) and opened(gate).gate(gate))


def gates_of_old(found: Transition) -> frozenset[str]:
    """The closed feature gates that the old VM needs: a VM that the cluster has let in shows that they are open."""
    causes = admitted(Machine(vm=found.old), found.origin).causes
    return frozenset(cause.gate for cause in causes if cause.gate)


def with_gates(outcome: MigratableKeys, gates: frozenset[str]) -> MigratableKeys:
    """The outcome with the gates that it depends on; nothing hangs on them where nothing happens."""
    if not gates or outcome.record["effect"] == [NOTHING]:
        return outcome
    known = outcome.record.get("unknown", {}).get("featureGates", ())
    unknown = {**outcome.record.get("unknown", {}), "featureGates": sorted({*known, *gates})}
    return outcome.but(record={**outcome.record, "unknown": unknown})


def _fails_anyway(found: Transition, effect: list[str], pair: Pair) -> bool:
    """True for an update that fails for the reasons for which it fails without any change."""
    if found.verdict.allowed:
        return effect == [ERROR] and found.head.error in (found.base.error, found.first.error)
    if admitted(Machine(vm=found.old), found.origin).causes == found.verdict.causes:
        return True
    if pair.is_edited or not pair.how.apply:
        return False
    again = transition(pair.old.obj, pair.old.obj, found.origin, found.origin, write=applied, migratable=True)
    return again.verdict.causes == found.verdict.causes


def _new(pair: Pair) -> MigratableKeys:
    found = fresh(pair.old.obj, pair.new.obj, pair.origin, pair.world)
    gates = unknown_gates(found, pair)
    if gates and (held := gates & gates_of_old(found)):
        return with_gates(_new(pair.opening(held)), held)
    if not pair.is_edited and _is_refused_as_before(found):
        return MigratableKeys(record=untouched_record(pair.old.obj, pair.origin, pair.world, existing=False))
    return with_gates(MigratableKeys(record=with_sizes(record_of(found, pair.owner), pair.sizes.of(found, pair.new))), gates)


def _is_refused_as_before(found: Transition) -> bool:
    """True for a new VM that KubeVirt refuses on both sides, or that starts on none. Releases may word the reasons anew."""
    if not found.verdict.allowed:
        return not admitted(Machine(vm=found.old), found.origin).allowed
    return bool(found.first.error and found.last.error)


# The keys of a VM's record that also hold for the VMs of a pool.
SHARED = ("startError", "error", "guest", "creates", "changes", "keeps", "pod")
NEW_ONLY, STOPPED, AT_NEXT_START = "newOnly", "stopped", "atNextStart"


def pool_record(pair: Pair) -> Object:
    """The keys of a pool's record."""
    old, new = pair.old.obj, pair.new.obj
    causes = update_causes(new if pair.how.new else old, new, pair.world) if pair.is_edited else ()
    if causes:
        return refused_record(causes, VALIDATING)
    before, after = pools.pooled(old), pools.pooled(new)
    how = pools.rollout(new, pools.replicas(old), pair.world.release)
    if not pair.how.new and is_untouched(before, after, pair.origin, pair.world):
        record = untouched_record(before, pair.origin, pair.world)
        return _completed(pair, how, record["effect"], {key: record[key] for key in SHARED if key in record})
    work = partial(_of_vms, how=how, before=stored(before), after=stored(after))
    return told(in_both_cases(pair, work), pair, before)


def _of_vms(pair: Pair, how: str, before: Object, after: Object) -> MigratableKeys:
    reaches = how in (pools.PROACTIVE, pools.OPPORTUNISTIC)
    exist = pools.replicas(pair.old.obj) > 0 and not pair.how.new
    found = _led(pair, before, after, reaches=reaches) if exist and (reaches or before == after) else None
    word = _by_the_pool(found, before, after, pair) if found and how == pools.PROACTIVE else ""
    if found is None or word == RECREATED:
        found = fresh(before, after, pair.origin, pair.world)
    elif not pair.is_edited and fails_as_before(found):
        return MigratableKeys(record=_completed(pair, how, [NOTHING], {}))
    record = with_sizes(record_of(found, pair.owner, replaced=True), pair.sizes.of(found, pair.new))
    said = {key: record[key] for key in SHARED if key in record}
    effect = [word] if word else record["effect"]
    if not found.verdict.allowed:
        effect, said = [ERROR], {**said, "error": _refused(record)}
    elif not exist and not pair.how.new:
        effect = [NEW_ONLY] if effect != [NOTHING] else effect
    elif exist and not reaches and before != after:
        effect = [NEW_ONLY]
    when = NEW if effect == [NEW_ONLY] else RESTART if word else ""
    if when and "changes" in said:
        said["changes"] = [{**change, "when": when} for change in said["changes"]]
    if word in (RESTARTED, RECREATED):
        said["atOnce"] = pools.at_once(pair.new.obj, pair.world.release)
    completed = _completed(pair, how, effect, said)
    return outcome_of(completed, found) if effect is record["effect"] else MigratableKeys(record=completed)


def _led(pair: Pair, before: Object, after: Object, *, reaches: bool) -> Transition:
    """What becomes of a VM that exists."""
    write = pools.by_pool(pair.world.release) if reaches else not_at_all
    return transition(before, after, pair.origin, pair.world, write=write, migratable=pair.how.assumed)


def _by_the_pool(found: Transition, before: Object, after: Object, pair: Pair) -> str:
    """What a proactive update does to a VM that runs; "" for nothing."""
    if not (found.verdict.allowed and found.base.running and found.head.running) or before == after:
        return ""
    if pools.deletes(before, after, pair.world.release):
        return RECREATED
    if not pools.restarts(before, after):
        return ""
    return RESTARTED if pools.starts_again(found.after) else STOPPED


def _refused(record: Object) -> str:
    cause = record["update"]["causes"][0]
    return f"KubeVirt refuses what the pool writes to its VMs: {cause['path']}: {cause['message']}"


def _completed(pair: Pair, how: str, effect: list[str], said: Object) -> Object:
    """The record with the number of VMs and the way in which the update reaches them."""
    scale = "" if how in (pools.PAUSED, pools.BLOCKED) else scaled(pair)
    if scale:
        pair.sizes.scale(pair.new.obj, pools.replicas(pair.new.obj))
    words = [*([scale] if scale else []), *(word for word in effect if word != NOTHING)] or [NOTHING]
    shown = {"rollout": how} if pair.is_edited and not pair.how.new else {}
    return {"effect": words, "update": {"sent": pair.is_sent, "allowed": True}, **shown, **counts(pair), **said}


def replica_set_record(pair: Pair) -> Object:
    """The keys of a replica set's record: a changed template reaches only the instances that it creates from now on.

    upstream: pkg/virt-controller/watch/replicaset/replicaset.go:scale
    """
    old, new = pair.old.obj, pair.new.obj
    causes = update_causes(new if pair.how.new else old, new, pair.world) if pair.is_edited else ()
    if causes:
        return refused_record(causes, VALIDATING)
    paused = get(pair.new.obj, ("spec", "paused")) is True
    word = scaled(pair) if not paused else ""
    said = _of_templates(pair, *(as_map(get(each.obj, TEMPLATE)) for each in (pair.old, pair.new)))
    first = [RELEASED] if _is_released(pair) and not pair.how.new else [word] if word else []
    differs = "changes" in said or "startError" in said
    effect = [*first, *([AT_NEXT_START if pair.how.new else NEW_ONLY] if differs else [])]
    return {"effect": effect or [NOTHING], **_update(pair), **counts(pair), **said}


def _is_released(pair: Pair) -> bool:
    """True where the selector no longer finds the instances that exist: they stay, without an owner.

    upstream: pkg/controller/controller_ref_manager.go:ClaimVirtualMachineInstances
    """
    labels = labels_of(as_map(get(pair.old.obj, TEMPLATE)))
    before, after = (as_map(get(each.obj, SELECTOR)) for each in (pair.old, pair.new))
    return before != after and missed(after, labels) is not None


def instance_record(pair: Pair) -> Object:
    """The keys of an instance's record: its spec is fixed, labels and annotations are not."""
    old, new = pair.old.obj, pair.new.obj
    if pair.how.new:
        said = _of_templates(pair, old, new)
        differs = "changes" in said or "startError" in said
        return {"effect": [AT_NEXT_START] if differs else [NOTHING], **_update(pair), **said}
    live = _start(old, pair, pair.origin).running
    if live is None or not pair.is_edited:
        return {"effect": [NOTHING], **_update(pair)}
    causes = lone_instances.update_causes(old, new, live, apply=pair.how.apply)
    if causes:
        return refused_record(causes, VALIDATING)
    named = {**old, "metadata": metadata(new)}
    now = _start(named, pair, pair.origin).running
    sides = tuple(side_of_template(each, pair.origin, pair.owner) for each in (old, named))
    found = changes_between(live, now, (sides[0], sides[1]), LIVE) if now else []
    return {"effect": [LIVE] if found else [NOTHING], **_update(pair), **({"changes": found} if found else {})}


def _update(pair: Pair) -> Object:
    return {"update": {"sent": pair.is_sent, "allowed": True}}


def _of_templates(pair: Pair, old: Object, new: Object) -> Object:
    """What instances of both templates differ in."""
    was, now = _start(old, pair, pair.origin), _start(new, pair, pair.world)
    said: Object = {"startError": now.error} if now.error and now.error != was.error else {}
    if was.running and now.running:
        worlds = ((old, pair.origin), (new, pair.world))
        base, head = (side_of_template(template, world, pair.owner) for template, world in worlds)
        when = NEXT_START if pair.how.new else NEW
        found: Object = {"changes": changes_between(was.running, now.running, (base, head), when)}
        found["guest"] = guest_change(was.running, now.running)
        said = {**said, **{key: value for key, value in found.items() if value}}
    return {**said, **pair.sizes.of_instances(pair.new.obj, (was.running, pair.origin), (now.running, pair.world))}


def _start(template: Object, pair: Pair, world: World) -> Start:
    owner = pair.owner
    return lone_instances.start_of(template, owner.name, owner.namespace, world)
