"""The flag `--policy`: its files are read once, where the command starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.sources import policy_files

if TYPE_CHECKING:
    import click

    from krm_fn.kubevirt.settings import PolicyObject


def read(_: click.Context, __: click.Parameter, paths: tuple[str, ...]) -> tuple[PolicyObject, ...]:
    """The policies, bindings and parameters in files and folders. Raises: ConfigError."""
    return tuple(found for path in paths for found in policy_files.read(path))
