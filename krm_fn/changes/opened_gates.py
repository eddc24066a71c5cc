"""Feature gates that a change of the release opens, told in the records of the machines that they concern."""

from __future__ import annotations

from krm_fn.base.bundle import Entry, effective_namespace
from krm_fn.base.objects import Object, group_of, kind_of
from krm_fn.base.paths import as_map, get
from krm_fn.changes.records import NOTHING
from krm_fn.kubevirt.admission.gates import enabled
from krm_fn.kubevirt.default_gates import need, opened
from krm_fn.kubevirt.holders import SERVED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.changes.sides import Side


OPENED = "gateOpened"


class OpenedGates:
    """The gates that are open by default on the new side, and closed on the old one."""

    def __init__(self, base: Side, head: Side) -> None:
        before, self._after = base.analysis, head.analysis
        found = opened(self._after.cluster, self._after.release) if before.release != self._after.release else []
        self._rows = [row for row in found if not enabled(before.cluster, row.gate, before.release)]

    def added_to(self, record: Object, entry: Entry | None) -> Object:
        """The record of a machine that exists on both sides with what the cluster needs from now on."""
        if not self._rows or entry is None:
            return record
        spec = as_map(get(entry.obj, SERVED[group_of(entry.obj), kind_of(entry.obj)].instance))
        needs = ((row.gate, need(row, spec, effective_namespace(entry.obj), self._after.bundle)) for row in self._rows)
        found = [{"gate": gate, "release": str(self._after.release), "needs": said} for gate, said in needs if said]
        effect = [*(each for each in record["effect"] if each != NOTHING), OPENED]
        return {**record, "effect": effect, "gates": found} if found else record
