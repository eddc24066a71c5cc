"""Values with their sources as a tree: paths with a common start stand below it, and sources stand in one column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from krm_fn.base.console import printable
from krm_fn.base.paths import dotted, steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Leaf = tuple[str, str, str, str, list[str]]  # path, value, kind of the source, its text, notes

COLORS = {
    "vm": "green",
    "instancetype": "cyan",
    "preference": "magenta",
    "preset": "yellow",
    "configuration": "yellow",
    "patch": "yellow",
}
WIDEST = 44  # letters of a line up to the column of sources


def tree(leaves: Sequence[Leaf], names: Mapping[str, str], *, color: bool, width: int) -> Iterator[str]:
    """The lines of a tree. `names` are those of entries of lists, by their paths; `width` is that of the terminal, or 0.

    In a narrow terminal, sources stand below their values.
    """
    rows = list(_rows(_grown(leaves), names))
    column = min(WIDEST, max(len(left) for left, leaf in rows if leaf)) + 2
    below = bool(width) and any(max(column, len(left) + 2) + _longest(leaf) > width for left, leaf in rows if leaf)
    seen: set[str] = set()
    for left, leaf in rows:
        if leaf is None:
            yield left
            continue
        _, _, kind, source, notes = leaf
        shown = printable(source)
        shown = click.style(shown, fg=COLORS.get(kind), dim=kind == "default") if color else shown
        indent = " " * (len(left) - len(left.lstrip()) + 4 if below else column)
        yield from (left, f"{indent}{shown}") if below else (f"{left.ljust(column - 2)}  {shown}",)
        yield from (printable(f"{indent}{note}") for note in notes if note not in seen)
        seen.update(notes)


def _longest(leaf: Leaf) -> int:
    return max(map(len, (leaf[3], *leaf[4])))


def _grown(leaves: Sequence[Leaf]) -> dict[str, Any]:
    """The leaves below the labels of their paths. An entry of a list is one label: `disks[0]`."""
    root: dict[str, Any] = {}
    for leaf in leaves:
        labels: list[str] = []
        for step in steps(leaf[0]):
            if isinstance(step, int) and labels:
                labels[-1] += f"[{step}]"
            else:
                labels.append(dotted((step,)))
        at = root
        for label in labels[:-1]:
            at = at.setdefault(label, {})
        at[labels[-1]] = leaf
    return root


def _rows(at: Mapping[str, Any], names: Mapping[str, str], path: str = "", depth: int = 1) -> Iterator[tuple[str, Leaf | None]]:
    for label, each in at.items():
        below, text, here = each, label, f"{path}.{label}" if path and not label.startswith("[") else f"{path}{label}"
        while isinstance(below, dict) and len(below) == 1 and here not in names:
            ((inner, below),) = below.items()
            joint = "" if inner.startswith("[") else "."
            text, here = f"{text}{joint}{inner}", f"{here}{joint}{inner}"
        indent = "  " * depth
        if isinstance(below, dict):
            named = f"  # {names[here]}" if here in names else ""
            yield printable(f"{indent}{text}{named}"), None
            yield from _rows(below, names, here, depth + 1)
        else:
            yield printable(f"{indent}{text}: {below[1]}"), below
