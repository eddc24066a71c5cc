"""What of a record hangs on whether the running instance can be live-migrated, and what is known of that."""

from __future__ import annotations

from krm_fn.base.annotations import Callable
from krm_fn.base.objects import Object, name_of
from krm_fn.base.paths import as_list, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.holders import INSTANCE_SPEC
from krm_fn.kubevirt.migratability import Assessment, Verdict, claims_of, verdict_of
from krm_fn.kubevirt.updates.resources import NOT_MIGRATABLE
from krm_fn.kubevirt.updates.restart import MESSAGE
from krm_fn.kubevirt.updates.transition import LONGEST, is_too_long, shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.changes.pairs import Pair
    from krm_fn.kubevirt.updates.transition import Transition


TOO_LONG = {"reason": "NameTooLong", "message": f"a migration takes only names of at most {LONGEST} characters"}
# The keys of a record that may differ where an instance can't be migrated.
KEYS = ("effect", "restartRequired", "live", "atRestart", "migration")


class MigratableKeys(Value):
    """The keys of a record. `assessment` is what migrations of the instance depend on, None where the record hangs on none.

    `moves`: the record says that it needs a migration, or that it would need one.
    """

    record: Object
    assessment: Assessment | None = None
    moves: bool = False


def outcome_of(record: Object, found: Transition) -> MigratableKeys:
    """The outcome of a transition."""
    moves = found.head.restart == NOT_MIGRATABLE or found.needs_migration
    may_move = moves or bool(found.head.restart)  # the first reason for a restart hides others
    known = found.assessment if may_move and not _waits(found) else None
    if known and found.head.running and found.head.running.moving:
        known = known.but(reasons=tuple(each for each in known.reasons if each.storage))  # its disks are copied, too
    return MigratableKeys(record=record, assessment=known, moves=moves)


def _waits(found: Transition) -> bool:
    """True where all of the update waits for a restart: an instance that can't be migrated waits in the same way."""
    specs = [machine.running and machine.running.spec for machine in (found.base, found.head, found.after)]
    return found.head.restart == MESSAGE and bool(specs[0]) and all(spec == specs[0] for spec in specs)


def in_both_cases(pair: Pair, work: Callable[[Pair], MigratableKeys]) -> MigratableKeys:
    """What `work` finds; where that hangs on something unknown, the record also says what is there otherwise."""
    outcome = work(pair)
    if outcome.assessment is None or _verdict(outcome.assessment, pair).status is not None:
        return outcome
    other = work(pair.but(how=pair.how.but(migratable=False))).record
    otherwise = {key: other[key] for key in KEYS if key in other}
    if otherwise == {key: outcome.record[key] for key in KEYS if key in outcome.record}:
        return outcome.but(assessment=None)
    return outcome.but(record={**outcome.record, "ifNotMigratable": otherwise})


def told(outcome: MigratableKeys, pair: Pair, vm: Object) -> Object:
    """The record with the reason for which the instance of this VM can't be migrated, or with what is not known."""
    if "migration" in outcome.record and is_too_long(name_of(vm)):
        return {**outcome.record, "migratable": {"status": "False", **TOO_LONG}}
    if outcome.assessment is None:
        return outcome.record
    own = outcome.assessment.with_claims(claims_of(as_list(get(vm, (*INSTANCE_SPEC, "volumes")))))
    found = _verdict(own, pair)
    if found.status or not (outcome.moves or "ifNotMigratable" in outcome.record):
        return outcome.record
    said: Object = {"status": "Unknown" if found.unknown else "False", "reason": found.reason, "message": found.message}
    return {**outcome.record, "migratable": {**said, **({"unknown": list(found.unknown)} if found.unknown else {})}}


def _verdict(assessment: Assessment, pair: Pair) -> Verdict:
    return verdict_of(assessment, shared(pair.owner.namespace, pair.origin, pair.world))


def known_claims(pair: Pair) -> tuple[bool | None, ...]:
    """Of each claim of a VM whether several nodes can use it; () where that is taken for granted."""
    if pair.how.assumed is not None:
        return ()
    is_shared = shared(pair.owner.namespace, pair.origin, pair.world)
    claims = claims_of(as_list(get(pair.old.obj, (*INSTANCE_SPEC, "volumes"))))
    return tuple(is_shared(name) for name in claims.values())
