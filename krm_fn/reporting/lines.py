"""An object as lines of YAML, each with the path of the value that it shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from krm_fn.base.objects import Object
from krm_fn.base.paths import Path
from krm_fn.base.redaction import HIDDEN
from krm_fn.yamlio.emit import is_literal, scalar_text

STEP = 2  # columns per level
LONGEST = 2_000  # characters of a line


class ShownLine(NamedTuple):
    """A line: its text, the path of the value at it, and whether it has that value or only begins a map or list."""

    text: str
    path: Path
    has_value: bool


def lines_of(obj: Object) -> Iterator[ShownLine]:
    """The lines of an object, as `yamlio.dump` writes it. Long lines are cut, and what is hidden has no quotes."""
    for key, value in obj.items():
        yield from _entry(f"{_scalar(key)}:", value, (key,), 0)


def _entry(head: str, value: Any, path: Path, column: int) -> Iterator[ShownLine]:
    if isinstance(value, str) and is_literal(value):
        yield ShownLine(f"{head} |" if value[-1] == "\n" else f"{head} |-", path, has_value=True)
        for line in value.removesuffix("\n").split("\n"):
            yield ShownLine(_cut(" " * (column + STEP) + line if line else ""), path, has_value=False)
    elif isinstance(value, dict | list) and value:
        yield from _below(head, value, path, column)
    else:
        yield ShownLine(_cut(f"{head} {_scalar(value)}"), path, has_value=True)


def _below(head: str, value: Any, path: Path, column: int) -> Iterator[ShownLine]:
    """The lines of a map or list behind its key or dash; its first entry follows a dash on the same line."""
    if head.endswith("-"):
        below, lead = column + STEP, head + " "
    else:
        yield ShownLine(_cut(head), path, has_value=False)
        below = column + (STEP if isinstance(value, dict) else 0)
        lead = " " * below
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in entries:
        name = f"{_scalar(key)}:" if isinstance(value, dict) else "-"
        yield from _entry(lead + name, item, (*path, key), below)
        lead = " " * below


def _scalar(value: Any) -> str:
    if value == HIDDEN:
        return HIDDEN
    try:
        return scalar_text(value)
    except (TypeError, ValueError):  # what no cluster takes, such as NaN
        return str(value)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text):,} characters)"
