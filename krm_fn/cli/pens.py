"""How names and sentences are written in a format, so that nothing in them is more than text; and the flag for colours."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from krm_fn.base import markdown
from krm_fn.base.console import one_line, printable
from krm_fn.base.value import Value

if TYPE_CHECKING:
    from krm_fn.cli.options import Decorator


class Pen(Value):
    """`name` writes a name or a path, `prose` a sentence or a value that may have anything in it."""

    name: Callable[[str], str]
    prose: Callable[[str], str]


def _plain(text: str) -> str:
    return printable(one_line(text))


TEXT = Pen(name=_plain, prose=_plain)
MARKDOWN = Pen(name=markdown.code, prose=markdown.prose)


AUTO, ALWAYS, NEVER = "auto", "always", "never"


def color_option(what: str) -> Decorator:
    """Gives a command `--color`, which says whether `what` is shown."""
    text = f"Show {what}. auto: colours only on a terminal, or if FORCE_COLOR is set; none if NO_COLOR is set."
    return click.option("--color", type=click.Choice((AUTO, ALWAYS, NEVER)), default=AUTO, show_default=True, help=text)


def is_terminal() -> bool:
    """True where stdout is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def is_colored(choice: str = AUTO) -> bool:
    """True where stdout shows colours: as the flag says, then NO_COLOR (no-color.org), then FORCE_COLOR (force-color.org)."""
    if choice != AUTO:
        return choice == ALWAYS
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (is_terminal() and os.environ.get("TERM") != "dumb")


def table(columns: dict[str, Callable[[Any], str]], rows: Sequence[Any]) -> str:
    """The rows under their heads, aligned as kubectl does."""
    lines = [list(columns), *([printable(one_line(cell(row))) or "-" for cell in columns.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = ([cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines)
    return "\n".join("   ".join(cells).rstrip() for cells in padded)
