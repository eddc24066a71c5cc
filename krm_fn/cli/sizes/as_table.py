"""A table for terminals: aligned, in units that people read, heaviest rows first; then the quotas."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import combining, east_asian_width

from krm_fn.cli.sizes import DEVICES, SizesReport, cells
from krm_fn.cli.sizes.cells import costs, devices, figures, plain, stopped, without_pod
from krm_fn.sizing.rows import Row

GAP = "  "
LEAST = 10  # columns that a column of words keeps on a narrow terminal
CUT = "…"


def write(report: SizesReport) -> str:
    """The rows with their sum, then the quotas, then in words which VMs get no pod, and what quotas stop; then nodes."""
    parts = [_rows(report)]
    if quotas := [*cells.quota_rows(report.quotas)]:
        parts.append(aligned([("QUOTA", "RESOURCE", "USED", "HARD", "FREE", ""), *quotas], frozenset((2, 3, 4)), report.width))
    sentences = [
        *without_pod(report.sized),
        *costs(report),
        *(sentence for quota in report.quotas for sentence in stopped(quota)),
    ]
    return "\n\n".join(filter(None, (*parts, "\n".join(sentences), *_nodes(report)))) + "\n"


def _rows(report: SizesReport) -> str:
    names = len(report.heads)
    priced = report.prices is not None
    lines = [(*report.heads, *map(plain, report.figures), DEVICES)]
    lines += [(*map(plain, row.labels), *_cells(row, priced=priced)) for row in report.rows]
    for cluster, row in report.totals:
        lines.append((f"TOTAL {plain(cluster)}".strip(), *[""] * (names - 1), *_cells(row, priced=priced)))
    last = names + len(report.figures)
    return aligned(_without_empty(lines, keep=last), frozenset(range(names, last)), report.width)


def _nodes(report: SizesReport) -> list[str]:
    if report.placement is None:
        return []
    lines = _without_empty([cells.HEADS, *cells.lines(report.placement)], keep=len(cells.HEADS) - 1)
    found = cells.sentences(report.placement, report.shapes)
    return [aligned(lines, cells.NUMBERS, report.width), "\n".join([*found, cells.ESTIMATE])]


def _cells(row: Row, *, priced: bool) -> tuple[str, ...]:
    return (*figures(row, priced=priced), devices(row))


def _without_empty(lines: Sequence[tuple[str, ...]], keep: int) -> list[tuple[str, ...]]:
    """The lines without columns, behind the first, in which nothing stands below the head."""
    wanted = [place for place in range(len(lines[0])) if place < keep or any(line[place] for line in lines[1:])]
    return [tuple(line[place] for place in wanted) for line in lines]


def aligned(lines: Sequence[Sequence[str]], numbers: frozenset[int], width: int) -> str:
    """The lines in columns, `numbers` to the right. With a width, the widest columns of words are cut until all fits."""
    widths = [max(columns_of(cell) for cell in column) for column in zip(*lines, strict=True)]
    if width:
        _narrow(widths, numbers, width)
    return "\n".join(_line(line, widths, numbers) for line in lines)


def _narrow(widths: list[int], numbers: frozenset[int], width: int) -> None:
    words = [place for place in range(len(widths)) if place not in numbers]
    while sum(widths) + len(GAP) * (len(widths) - 1) > width:
        widest = max(words, key=lambda place: widths[place])
        if widths[widest] <= LEAST:
            return
        widths[widest] -= 1


def _line(cells: Sequence[str], widths: Sequence[int], numbers: frozenset[int]) -> str:
    padded = []
    for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        shown = shortened(cell, width)
        space = " " * (width - columns_of(shown))
        padded.append(space + shown if place in numbers else shown + space)
    return GAP.join(padded).rstrip()


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def shortened(text: str, width: int) -> str:
    """The text in at most so many columns, with a mark where it is cut."""
    if columns_of(text) <= width:
        return text
    kept = ""
    for letter in text:
        if columns_of(kept + letter) >= width:
            break
        kept += letter
    return kept + CUT
