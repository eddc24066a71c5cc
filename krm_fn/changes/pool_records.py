"""The record of a VirtualMachinePool: what becomes of the VMs that it has created, and of those that it creates later."""

from __future__ import annotations

from functools import partial

from krm_fn.base.objects import Object
from krm_fn.changes.effects import NEW, RESTART
from krm_fn.changes.migratable import MigratableKeys, in_both_cases, outcome_of, told
from krm_fn.changes.records import NOTHING, fails_as_before, record_of, refused_record, untouched_record, with_sizes
from krm_fn.changes.scaling import RECREATED, RESTARTED, counts, scaled
from krm_fn.changes.untouched import is_untouched
from krm_fn.kubevirt.updates import pools
from krm_fn.kubevirt.updates.admission import VALIDATING, update_causes
from krm_fn.kubevirt.updates.applying import not_at_all
from krm_fn.kubevirt.updates.stored_form import stored
from krm_fn.kubevirt.updates.transition import Transition, fresh, transition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.changes.pairs import Pair


# The keys of a VM's record that also hold for the VMs of a pool.
SHARED = ("startError", "error", "guest", "creates", "changes", "keeps", "pod")
NEW_ONLY, STOPPED, ERROR = "newOnly", "stopped", "error"


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
