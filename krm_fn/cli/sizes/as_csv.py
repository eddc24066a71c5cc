"""One line for each row, with exact figures: CPUs, bytes and counts as plain numbers."""

from __future__ import annotations

import csv
import io
from fractions import Fraction

from krm_fn.base.quantity import NANO, Quantity
from krm_fn.cli.sizes import SizesReport
from krm_fn.cli.sizes.cells import devices, plain
from krm_fn.sizing.prices import exact
from krm_fn.sizing.rows import Row

FIGURES = (
    "vms",
    "without_pod",
    "migratable",
    "not_migratable",
    "vcpus",
    "guest_bytes",
    "pod_cpus",
    "pod_memory_bytes",
    "overhead_bytes",
    "storage_bytes",
    "devices",
    "note",
)
# What a spreadsheet takes for a formula.
FORMULA = "=+-@"


def write(report: SizesReport) -> str:
    """A head, and the rows, heaviest first."""
    out = io.StringIO()
    cost = () if report.prices is None else ("cost",)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow((*(head.lower().replace(" ", "_") for head in report.heads), *FIGURES, *cost))
    writer.writerows(
        (*map(text, row.labels), *_figures(row), *([exact(Fraction(row.cost))] if cost else [])) for row in report.rows
    )
    return out.getvalue()


def _figures(row: Row) -> tuple[object, ...]:
    return (
        row.machines,
        row.without_pod,
        row.migratable,
        row.not_migratable,
        row.vcpus,
        *(number(amount) for amount in (row.guest, row.cpu, row.memory, row.overhead, row.storage)),
        devices(row),
        plain("; ".join(row.notes)),
    )


def number(amount: Quantity) -> str:
    """The amount without a unit."""
    whole, rest = divmod(amount.nanos, NANO)
    return f"{whole}.{rest:09}".rstrip("0").rstrip(".")


def text(written: str) -> str:
    """Text of users that no spreadsheet runs."""
    shown = plain(written)
    return f"'{shown}" if len(shown) > 1 and shown[:1] in FORMULA else shown
