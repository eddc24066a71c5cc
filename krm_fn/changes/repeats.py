"""VMs that a change reaches as it reaches another VM of their namespace, so that their records are not worked out once more.

Most VMs of many differ in their own texts only (`pipeline.own_texts`). If the change edits none of them, but what they refer to
or the cluster, the same happens to all VMs that are alike in the rest.
"""

from __future__ import annotations

from krm_fn.changes.migratable import known_claims
from krm_fn.kubevirt.resolve import MATCHERS
from krm_fn.kubevirt.updates.machine import Machine
from krm_fn.kubevirt.updates.references import find
from krm_fn.pipeline.equivalents import READINGS, compiled, dumped, notes
from krm_fn.pipeline.own_texts import KEY, TEXTS
from krm_fn.pipeline.starts import verbosity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.changes.migratable import Outcome
    from krm_fn.changes.pairs import Pair
    from krm_fn.kubevirt.facts import Resolution

# What a record depends on, of each text that a VM has of its own.
OF_RECORDS = {**READINGS, "note": notes, "label": verbosity}
read = compiled([(tuple(step for step in path if step != KEY), OF_RECORDS[sort]) for path, sort in TEXTS])

# Keys with which a record has texts of the VM, or may have some.
OWN_KEYS = ("startError", "error", "volumesChange", "creates")
# Places of an instance at which a VM's own texts stand, or below which they do.
OWN_PLACES = ("/spec/volumes", "/spec/domain/firmware", "/spec/hostname", "/labels", "/annotations")
INTERFACES = "/spec/domain/devices/interfaces"


class Repeats:
    """The outcomes for the VMs of a target so far."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], tuple[Pair, Outcome]] = {}
        self._kept: list[Resolution] = []  # so that no other spec gets the id of one of these

    def outcome(self, pair: Pair, work: Callable[[Pair], Outcome]) -> Outcome:
        """What `work` finds for the first of those VMs that are alike."""
        key = self._key(pair)
        if key is None:
            return work(pair)
        if key in self._known:
            first, outcome = self._known[key]
            pair.sizes.repeat(first.new, pair.new, pair.world)
            return outcome
        outcome = work(pair)
        if holds_for_others(outcome.record):
            self._known[key] = pair, outcome
        return outcome

    def _key(self, pair: Pair) -> tuple[Any, ...] | None:
        """All that the record depends on, None where that may be more than is looked at here."""
        vm = pair.old.obj
        if pair.is_edited or pair.origin.presets or pair.world.presets:
            return None
        found = [find(Machine(vm=vm), world) for world in (pair.origin, pair.world)]
        rest = None if any(each.errors for each in found) else dumped(read(vm, {}))
        if rest is None:
            return None
        self._kept += found
        sources = [getattr(each, matcher.field) for each in found for matcher in MATCHERS]
        specs = [(id(source.spec), source.table, source.origin, str(source.ref)) if source else None for source in sources]
        return rest, pair.owner.namespace, *specs, id(pair.origin), id(pair.world), known_claims(pair)


def holds_for_others(record: Object) -> bool:
    """True for a record without any text of its VM."""
    if any(key in record for key in OWN_KEYS) or not record["update"]["allowed"]:
        return False
    return not any(_is_own(change) for change in record.get("changes", ()))


def _is_own(change: Object) -> bool:
    path, values = change["path"], (change.get("old"), change.get("new"))
    if path.startswith(OWN_PLACES) or any(cause["source"] == "vm" for cause in change["causes"]):
        return True
    whole = any(isinstance(value, dict | list) for value in values)
    return path.startswith(INTERFACES) and (whole or path.endswith("/macAddress"))
