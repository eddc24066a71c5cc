"""The forms in which `capacity` writes what VMs need: one module each, with `write(report) -> str`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from krm_fn.base.objects import Object
from krm_fn.base.value import Value
from krm_fn.sizing.rows import Row, Sized, heads, rows, total

if TYPE_CHECKING:
    from krm_fn.sizing.nodes import NodeShape
    from krm_fn.sizing.placement import Placement
    from krm_fn.sizing.prices import Prices


FORMATS = ("table", "json", "csv", "markdown")
WITH_MIGRATIONS = ("json", "csv")  # they say which machines can be live-migrated
# Guest is its memory; CPU and memory are what the pods request.
HEADS = ("VMS", "VCPUS", "GUEST", "CPU", "MEMORY", "STORAGE")
COST, DEVICES, NOTE = "COST", "DEVICES", "NOTE"


class SizesReport(Value):
    """What is written: all demands, in groups by the word `by`, and the answer of the library with all details.

    `width` is that of the terminal, 0 where it has none. `shapes` are the nodes of a file, and `placement` is on these.
    """

    sized: tuple[Sized, ...]
    by: str
    answer: Object
    width: int = 0
    shapes: Sequence[NodeShape] = ()
    placement: Placement | None = None
    prices: Prices | None = None

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads of the columns that name a row."""
        return heads(self.sized, self.by)

    @property
    def figures(self) -> tuple[str, ...]:
        """The heads of the columns of numbers."""
        if self.prices is None:
            return HEADS
        return (*HEADS, f"{COST} {self.prices.currency}".strip())

    @property
    def rows(self) -> list[Row]:
        return rows(self.sized, self.by)

    @property
    def total(self) -> Row:
        return total(self.sized)

    @property
    def totals(self) -> list[tuple[str, Row]]:
        """The sum of each cluster with its name, if no row is that; of all with "" where there is only one."""
        clusters = sorted({each.cluster for each in self.sized})
        if len(clusters) > 1 and self.by == "cluster":
            return []
        if len(clusters) < 2:
            return [("", self.total)]
        return [(name or "no cluster", total(each for each in self.sized if each.cluster == name)) for name in clusters]

    @property
    def quotas(self) -> list[Object]:
        found: list[Object] = self.answer["quotas"]
        return found


def written(name: str, report: SizesReport) -> str:
    """The report in a format."""
    import importlib

    module: Any = importlib.import_module(f"{__name__}.as_{name}")
    text: str = module.write(report)
    return text
