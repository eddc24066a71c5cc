"""The options that say what builds and checks the targets of a repository: processes of this machine, or a Dask cluster."""

from __future__ import annotations

from contextlib import closing, nullcontext
from typing import TYPE_CHECKING

import click

from krm_fn.base.errors import UsageError
from krm_fn.cli import options

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from typing import Any

    from krm_fn.repositories.distributing import Workers

PROCESSES, DASK = "processes", "dask"


def executor_options(command: Any) -> Any:
    """Gives a command `--executor` and `--scheduler`."""
    command = click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="The address of the Dask scheduler, such as tcp://HOST:8786. Only with --executor dask.",
    )(command)
    return click.option(
        "--executor",
        type=click.Choice((PROCESSES, DASK)),
        default=PROCESSES,
        show_default=True,
        help="What builds and checks the kustomizations in folders: processes of this machine, or workers of a Dask cluster. "
        "dask needs more packages: `pip install '.[dask]'` in a clone.",
    )(command)


def check_executor(flags: Mapping[str, Any]) -> None:
    """Raises: UsageError where one of the two options lacks the other."""
    if flags["executor"] == DASK and not flags["scheduler"]:
        raise UsageError("--executor dask needs --scheduler ADDRESS")
    if flags["scheduler"] and flags["executor"] != DASK:
        raise UsageError("--scheduler needs --executor dask")


def workers(flags: Mapping[str, Any]) -> AbstractContextManager[Workers | None]:
    """The workers that the options name, None for processes of this machine. Raises: UsageError where they can't be used."""
    if flags["executor"] != DASK:
        return nullcontext()
    from krm_fn.repositories.distributing import Workers

    return closing(Workers(flags["scheduler"], note=options.note))
