"""The flag `--schemas`: folders of CustomResourceDefinitions that objects are checked against."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from krm_fn.base.errors import InputError
from krm_fn.base.objects import kind_of
from krm_fn.cli import completion
from krm_fn.sources import reading

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from krm_fn.base.objects import Object

KIND = "CustomResourceDefinition"


def schemas_option(command: Any) -> Any:
    """Gives a command `--schemas DIR`; the folders reach it as `schemas`."""
    return click.option(
        "--schemas",
        multiple=True,
        metavar="DIR",
        shell_complete=completion.FOLDER,
        help=f"Check objects against the {KIND}s in this folder. Repeatable.",
    )(command)


def read_schemas(folders: Sequence[str]) -> tuple[Object, ...]:
    """The CustomResourceDefinitions below the folders (or in files). Raises: InputError where one holds none."""
    return tuple(definition for folder in folders for definition in _definitions(folder))


def _definitions(folder: str) -> list[Object]:
    read = reading.read((folder,))
    read.refuse_skipped()
    found = [item for item in read.items if kind_of(item) == KIND]
    if not found:
        raise InputError(f"no {KIND} found in {folder}")
    return found
