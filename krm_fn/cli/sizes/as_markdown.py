"""Tables in Markdown, for comments on a change."""

from __future__ import annotations

from collections.abc import Sequence

from krm_fn.base.markdown import code
from krm_fn.cli.sizes import DEVICES, NOTE, SizesReport, cells
from krm_fn.cli.sizes.cells import costs, devices, figures, note, plain, stopped

# GitHub takes 65,536 characters in a comment.
LONGEST = 50_000


def write(report: SizesReport) -> str:
    """The rows with their sum, then the quotas, then what these stop, then the nodes."""
    names, priced = len(report.heads), report.prices is not None
    rows = [[*map(code, row.labels), *figures(row, priced=priced), code(devices(row)), code(note(row))] for row in report.rows]
    sums = [
        [f"**total** {code(cluster)}".strip(), *[""] * (names - 1), *figures(row, priced=priced), code(devices(row)), ""]
        for cluster, row in report.totals
    ]
    rows = [*_fitting(rows), *sums]
    heads = [*report.heads, *map(_bare, report.figures), DEVICES, NOTE]
    parts = [table(heads, names, names + len(report.figures), rows), *map(code, costs(report))]
    if quotas := [[*map(code, row[:2]), *row[2:5], row[5][:4]] for row in cells.quota_rows(report.quotas)]:
        parts.append(table(["QUOTA", "RESOURCE", "USED", "HARD", "FREE", ""], 2, 5, quotas))
    parts.append("\n".join(f"- {code(sentence)}" for quota in report.quotas for sentence in stopped(quota)))
    return "\n\n".join(filter(None, (*parts, *_nodes(report)))) + "\n"


def _bare(head: str) -> str:
    """A head without what Markdown reads: a currency is text of users."""
    return "".join(letter for letter in plain(head) if letter.isalnum() or letter in " $€£¥")


def _nodes(report: SizesReport) -> list[str]:
    if report.placement is None:
        return []
    rows = [[code(line[0]), *line[1:6], code(line[6])] for line in cells.lines(report.placement)]
    found = [[f"- {code(sentence)}"] for sentence in cells.sentences(report.placement, report.shapes)]
    listed = "\n".join(line[0] for line in _fitting(found))
    return [table(cells.HEADS, 1, 6, rows), listed, cells.ESTIMATE]


def table(heads: Sequence[str], first: int, last: int, rows: Sequence[Sequence[str]]) -> str:
    """A table; the columns from `first` up to `last` hold numbers."""
    rule = ["---:" if first <= place < last else "---" for place in range(len(heads))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in ([head.lower() for head in heads], rule, *rows))


def _fitting(rows: list[list[str]]) -> list[list[str]]:
    """As many rows as fit into a comment, and how many are left out."""
    left = LONGEST
    kept: list[list[str]] = []
    for row in rows:
        left -= sum(map(len, row)) + 3 * len(row)
        if left < 0:
            more = f"and {len(rows) - len(kept)} more"
            return [*kept, [more, *[""] * (len(row) - 1)]]
        kept.append(row)
    return kept
