"""VMs that a change reaches as it reaches another VM of their namespace, so that their records are not worked out once more.

Most VMs of many differ in their own texts only (`pipeline.equivalents`). If the change edits none of these texts, but other
fields of the VMs, what they refer to or the cluster, the same happens to all VMs that are alike in the rest on both sides.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable
from krm_fn.base.objects import Object
from krm_fn.changes.migratable import MigratableKeys, known_claims
from krm_fn.kubevirt.facts import Resolution
from krm_fn.kubevirt.resolve import MATCHERS, refers
from krm_fn.kubevirt.updates.machine import Machine, World
from krm_fn.kubevirt.updates.references import find
from krm_fn.pipeline.equivalents import KEY, READINGS, TEXTS, compiled, dumped, marshalled, notes
from krm_fn.pipeline.starts import verbosity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.changes.owners import Owner
    from krm_fn.changes.pairs import Pair


# What a record depends on, of each text that a VM has of its own.
OF_RECORDS = {**READINGS, "note": notes, "label": verbosity}
PLACES = [tuple(step for step in path if step != KEY) for path, _ in TEXTS]
read = compiled([(place, OF_RECORDS[sort]) for place, (_, sort) in zip(PLACES, TEXTS, strict=True)])

# Keys with which a record has texts of the VM, or may have some.
OWN_KEYS = ("startError", "error", "volumesChange", "creates")
# Places of an instance at which a VM's own texts stand, or below which they do.
OWN_PLACES = ("/spec/volumes", "/spec/domain/firmware", "/spec/hostname", "/labels", "/annotations")
INTERFACES = "/spec/domain/devices/interfaces"
# Keys of a VM at which its own texts stand, or below which they do.
OWN_FIELDS = ("volumes", "firmware", "hostname", "labels", "annotations", "interfaces", "dataVolumeTemplates")


def _note(value: Any, found: dict[Any, Any]) -> Any:
    found[len(found)] = marshalled(value)
    return value


read_own = compiled([(place, _note) for place in PLACES])


def own_texts(vm: Object) -> list[bytes | None]:
    """A VM's own texts, in order."""
    found: dict[Any, Any] = {}
    read_own(vm, found)
    return list(found.values())


class Repeats:
    """The outcomes for the VMs of a target so far."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], tuple[Pair, MigratableKeys]] = {}
        self._kept: list[Resolution] = []  # so that no other spec gets the id of one of these

    def outcome(self, pair: Pair, work: Callable[[Pair], MigratableKeys]) -> MigratableKeys:
        """What `work` finds for the first of those VMs that are alike."""
        key = self._key(pair)
        if key is None:
            return work(pair)
        if key in self._known:
            first, outcome = self._known[key]
            pair.sizes.repeat(first.new, pair.new, pair.world)
            return outcome.but(record=_of_other(outcome.record, pair.owner)) if pair.is_edited else outcome
        outcome = work(pair)
        if holds_for_others(outcome.record):
            self._known[key] = pair, outcome
        return outcome

    def _key(self, pair: Pair) -> tuple[Any, ...] | None:
        """All that the record depends on, None where that may be more than is looked at here."""
        if pair.origin.presets or pair.world.presets:
            return None
        old, new, worlds = pair.old.obj, pair.new.obj, (pair.origin, pair.world)
        before = self._state(old, worlds)
        after = before if not pair.is_edited else self._state(new, worlds) if own_texts(old) == own_texts(new) else None
        if before is None or after is None:
            return None
        return before, after, pair.owner.namespace, id(pair.origin), id(pair.world), known_claims(pair)

    def _state(self, vm: Object, worlds: tuple[World, World]) -> tuple[Any, ...] | None:
        """What is read of a VM and of what it refers to on both sides, None where that may be more than is looked at here."""
        found = [find(Machine(vm=vm), world) for world in worlds] if refers(vm) else []
        rest = None if any(each.errors for each in found) else dumped(read(vm, {}))
        if rest is None:
            return None
        self._kept += found
        sources = [getattr(each, matcher.field) for each in found for matcher in MATCHERS]
        specs = [(id(source.spec), source.table, source.origin, str(source.ref)) if source else None for source in sources]
        return rest, *specs


def holds_for_others(record: Object) -> bool:
    """True for a record without any text of its VM."""
    if any(key in record for key in OWN_KEYS) or not record["update"]["allowed"]:
        return False
    return not any(_is_own(change) for change in record.get("changes", ()))


def _is_own(change: Object) -> bool:
    path, values = change["path"], (change.get("old"), change.get("new"))
    if path.startswith(OWN_PLACES) or any(_is_of_own_field(cause) for cause in change["causes"] if cause["source"] == "vm"):
        return True
    whole = any(isinstance(value, dict | list) and value for value in values)
    return path.startswith(INTERFACES) and (whole or path.endswith("/macAddress"))


def _is_of_own_field(cause: Object) -> bool:
    """True for an edit of a VM that may show a text of its own."""
    whole = any(isinstance(value, dict | list) and value for value in (cause.get("old"), cause.get("new")))
    return whole or any(field in cause.get("field", field) for field in OWN_FIELDS)


def _of_other(record: Object, owner: Owner) -> Object:
    """The record of an edited VM, of another one that is alike: causes name the VM."""
    if "changes" not in record:
        return record
    changes = [{**each, "causes": [_named(cause, owner) for cause in each["causes"]]} for each in record["changes"]]
    return {**record, "changes": changes}


def _named(cause: Object, owner: Owner) -> Object:
    return {**cause, "name": owner.name} if cause["source"] == "vm" else cause
