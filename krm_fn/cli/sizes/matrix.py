"""The pairs of instancetypes and preferences as a table, JSON, CSV or Markdown.

A row of the table stands for the preferences with which an instancetype needs the same; a row of CSV for one pair.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from krm_fn.base.markdown import code
from krm_fn.cli.output_files import json_text
from krm_fn.cli.sizes.as_csv import number
from krm_fn.cli.sizes.as_markdown import table
from krm_fn.cli.sizes.as_table import aligned
from krm_fn.cli.sizes.cells import devices, figures, plain
from krm_fn.sizing.demands import totals
from krm_fn.sizing.rows import Row, added, reasons

if TYPE_CHECKING:
    from krm_fn.pipeline.capacity import MatrixPair


HEADS = ("INSTANCETYPE", "VCPUS", "GUEST", "CPU", "MEMORY", "DEVICES", "PREFERENCES")
COLUMNS = ("instancetype", "preference", "vcpus", "guest_bytes", "pod_cpus", "pod_memory_bytes", "devices", "refused")
NUMBERS = frozenset((1, 2, 3, 4))
REFUSED = "refused: "


def _row(pair: MatrixPair) -> Row:
    return added(Row(labels=()), pair.demand)


def _lines(pairs: Sequence[MatrixPair]) -> list[tuple[str, ...]]:
    """One line for each instancetype and need, with the preferences; the refused ones last."""
    found: dict[tuple[str, ...], list[str]] = {}
    for pair in pairs:
        row = _row(pair)
        cells = (*figures(row)[1:5], devices(row)) if pair.demand.pods else ("", "", "", "", "")
        found.setdefault((plain(pair.instancetype), *cells), []).append(plain(pair.preference))
    return [(*key, ("" if key[1] else REFUSED) + ", ".join(names)) for key, names in found.items()]


def as_table(pairs: Sequence[MatrixPair], width: int) -> str:
    refused = sum(not pair.demand.pods for pair in pairs)
    count = f"{len(pairs)} pairs, {refused} refused"
    return f"{aligned([HEADS, *_lines(pairs)], NUMBERS, width)}\n\n{count}\n"


def as_json(pairs: Sequence[MatrixPair], _: int) -> str:
    """The answer of the library for a VM of each pair."""
    demands = [pair.demand for pair in pairs]
    return json_text({"vms": [demand.record for demand in demands], "quotas": [], "totals": totals(demands)})


def as_csv(pairs: Sequence[MatrixPair], _: int) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for pair in pairs:
        row, names = _row(pair), (plain(pair.instancetype), plain(pair.preference))
        needs = (row.vcpus, number(row.guest), number(row.cpu), number(row.memory)) if pair.demand.pods else ("", "", "", "")
        writer.writerow((*names, *needs, devices(row), plain("; ".join(reasons(pair.demand.record)))))
    return out.getvalue()


def as_markdown(pairs: Sequence[MatrixPair], _: int) -> str:
    rows = [[code(line[0]), *line[1:5], code(line[5]), code(line[6])] for line in _lines(pairs)]
    return table(list(HEADS), 1, 5, rows) + "\n"


FORMATS: dict[str, Callable[[Sequence[MatrixPair], int], str]] = {
    "table": as_table,
    "json": as_json,
    "csv": as_csv,
    "markdown": as_markdown,
}
