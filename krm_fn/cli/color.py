"""Whether stdout shows colours, and the flag for that."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from krm_fn.cli.options import Decorator

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
