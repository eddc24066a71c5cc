"""`--quiet`: findings and errors only. What else a command prints on stderr asks here first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from krm_fn.base.console import NAME

if TYPE_CHECKING:
    from typing import Any

KEY = f"{NAME}.quiet"


def _keep(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[KEY] = value


def quiet_option(command: Any) -> Any:
    """Gives a command `-q`; `is_quiet` knows it, and the command itself does not get it."""
    text = "Print findings and errors only: no progress, notes and summary of the run on stderr."
    return click.option("-q", "--quiet", is_flag=True, expose_value=False, callback=_keep, help=text)(command)


def is_quiet() -> bool:
    """True where the current command was called with `-q`."""
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(KEY))
