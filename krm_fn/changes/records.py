"""A VM's record in the answer: what a transition came to, in KubeVirt's own words."""

from __future__ import annotations

from krm_fn.base.annotations import Sequence
from krm_fn.base.objects import Object
from krm_fn.base.paths import dotted
from krm_fn.base.redaction import reach
from krm_fn.changes.effects import changes, guest
from krm_fn.changes.pins import keeps, kept_by, kept_untouched
from krm_fn.kubevirt.admission import Cause
from krm_fn.kubevirt.resolve import MATCHERS
from krm_fn.kubevirt.updates import power
from krm_fn.kubevirt.updates.admission import SCHEMA
from krm_fn.kubevirt.updates.data_volumes import new_data_volumes
from krm_fn.kubevirt.updates.machine import Machine, Running, World
from krm_fn.kubevirt.updates.references import differences
from krm_fn.kubevirt.updates.transition import migration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.changes.owners import Owner
    from krm_fn.kubevirt.updates.transition import Transition


NOTHING, AT_NEXT_START = "nothing", "atNextStart"
# What a record is told for, although the machine stays as it is.
TOLD = ("revisionsChanged", "creates", "keeps", "replicas", "pod", "manifest", "policies", "unknown", "data")
RUNNING, HALTED, STOPPED, STARTED = "running", "halted", "stopped", "started"


def record_of(found: Transition, owner: Owner, *, replaced: bool = False) -> Object:
    """The keys that say what the update does; those that say nothing are left out. `replaced`: see `changes`."""
    record: Object = {
        "update": _update(found),
        "restartRequired": found.head.restart or None,
        "live": list(live(found)),
        "atRestart": list(at_restart(found)),
        "startError": found.last.error if found.last.error not in ("", found.first.error) else None,
        "migration": migration(found.base, found.head, found.world),
        "volumesChange": found.head.volumes_change or None,
        "power": power_of(found),
        "revisionsChanged": list(differences(revisions(found.base), revisions(found.head))),
        "creates": creates(found),
        "error": found.head.error or None,
        "guest": guest(found) or None,
        "changes": changes(found, owner, replaced=replaced) if found.verdict.allowed else None,
        "keeps": keeps(kept_by(found)),
    }
    said = {key: value for key, value in record.items() if value not in (None, [])}
    return {"effect": effect(said), **said}


def with_sizes(record: Object, sizes: Object) -> Object:
    """The record with what is known of its pods: without one, the next start fails."""
    if "startError" not in sizes or not record["update"]["allowed"]:
        return {**record, **{key: value for key, value in sizes.items() if key != "startError"}}
    words = [word for word in record["effect"] if word not in (NOTHING, AT_NEXT_START)]
    return {**record, **sizes, "effect": [*words, AT_NEXT_START]}


def refused_record(causes: Sequence[Cause], stage: str = SCHEMA) -> Object:
    """The record of an object whose new manifest is refused; SCHEMA: no API server takes it."""
    update = {"sent": True, "allowed": False, "stage": stage, "causes": [_cause(cause) for cause in causes]}
    return {"effect": ["refused"], "update": update}


def _cause(cause: Cause) -> Object:
    shown = reach(cause.path).shown  # a key below one like `password` may be secret
    path = dotted(shown)
    return {"field": (cause.upstream_path if shown == cause.path else "") or path, "path": path, "message": cause.message}


def untouched_record(vm: Object, origin: World, world: World, *, existing: bool = True) -> Object:
    """The record of a VM that no update reaches: what it keeps, if it exists and that has changed."""
    kept = keeps(kept_untouched(vm, origin, world)) if existing else []
    halted = power.strategy_of(vm) == power.HALTED
    record: Object = {"effect": [NOTHING], "update": {"sent": False, "allowed": True}, "power": HALTED if halted else RUNNING}
    return {**record, "keeps": kept} if kept else record


def _update(found: Transition) -> Object:
    verdict = found.verdict
    update: Object = {"sent": found.sent, "allowed": verdict.allowed}
    if not verdict.allowed:
        update["stage"] = verdict.stage
        update["causes"] = [_cause(cause) for cause in verdict.causes]
    return update


def live(found: Transition) -> tuple[str, ...]:
    """The paths of the running instance that change at once."""
    if not found.base.running or not found.head.running:
        return ()
    return differences(found.base.running.seen, found.head.running.seen)


def at_restart(found: Transition) -> tuple[str, ...]:
    """The paths in which the instance differs from what it starts as next."""
    now: Running | None = found.after.running if stays(found) else found.base.running or found.first.running
    if now is None or found.last.running is None:
        return ()
    return differences(now.seen, found.last.running.seen)


def stays(found: Transition) -> bool:
    """True where an instance runs before and after."""
    return found.base.running is not None and found.head.running is not None


def power_of(found: Transition) -> str:
    """Whether the VM runs: running, halted, or stopped or started by the update."""
    ran, runs = found.base.running is not None, found.head.running is not None
    if ran:
        return RUNNING if runs else STOPPED
    return STARTED if runs else HALTED


def revisions(machine: Machine) -> Object:
    """The revisions that a VM's spec and status name, by matcher."""
    found = {}
    for matcher in MATCHERS:
        written, pin = machine.vm["spec"].get(matcher.field), machine.pins.get(matcher.field)
        names = {"spec": (written or {}).get("revisionName"), "status": pin.revision if pin else None}
        said = {key: name for key, name in names.items() if name}
        if said:
            found[matcher.field] = said
    return found


def fails_as_before(found: Transition) -> bool:
    """True for a VM that did not start before, and does not start now for the same reason."""
    was, now = found.base, found.head
    if was.running or now.running or found.sent:
        return False
    reasons = was.error, found.first.error
    return bool(now.error) and now.error in reasons and found.last.error in ("", now.error, *reasons)


def creates(found: Transition) -> list[str]:
    """The DataVolumes that the controller creates at once: those of new templates."""
    return [f"DataVolume/{name}" for name in new_data_volumes(found.base, found.head, found.world)]


def effect(record: Object) -> list[str]:
    """The short form of a record."""
    if not record["update"]["allowed"]:
        return ["refused"]
    turned = record.get("power") in ("stopped", "started")
    words = {
        record.get("power", ""): turned,
        "live": "live" in record,
        f"migration:{(record.get('migration') or {}).get('by')}": "migration" in record,
        "restartRequired": "restartRequired" in record,
        AT_NEXT_START: "atRestart" in record or "startError" in record,
        "error": "error" in record,
    }
    return [word for word, holds in words.items() if holds] or [NOTHING]


def is_worth_telling(record: Object) -> bool:
    """False for a VM that nothing changes."""
    return record["effect"] != [NOTHING] or any(key in record for key in TOLD)
