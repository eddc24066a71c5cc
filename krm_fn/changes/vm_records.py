"""The record of a VM: the update is worked out only where it may reach the VM, and once for VMs that are alike."""

from __future__ import annotations

from functools import partial

from krm_fn.base.annotations import Iterable
from krm_fn.base.objects import Object
from krm_fn.changes.migratable import MigratableKeys, in_both_cases, outcome_of, told
from krm_fn.changes.records import NOTHING, fails_as_before, record_of, untouched_record, with_sizes
from krm_fn.changes.untouched import is_untouched, starts_the_same
from krm_fn.kubevirt.updates.admission import admitted
from krm_fn.kubevirt.updates.applying import applied, by_replacement, not_at_all
from krm_fn.kubevirt.updates.machine import Machine, World
from krm_fn.kubevirt.updates.migration import is_too_long
from krm_fn.kubevirt.updates.transition import Transition, fresh, transition
from krm_fn.live.dumps import is_live

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.changes.pairs import Pair
    from krm_fn.changes.repeats import Repeats
    from krm_fn.kubevirt.updates.applying import Writer


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
    """How the new object reaches the cluster. Two live objects are two states of it: a change is what the API server stores."""
    if is_live(pair.old.obj) and is_live(pair.new.obj):
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
