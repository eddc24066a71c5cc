"""`--kustomize-build-flag`: what `kustomizeBuildFlags` in a repository's config lists, on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from krm_fn.cli import completion
from krm_fn.config.repository import allowed_build_flags, build_flag

if TYPE_CHECKING:
    from typing import Any

FLAG = "--kustomize-build-flag"


def _checked(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Raises: ConfigError for a flag that a config may not name either."""
    return tuple(build_flag(each, FLAG) for each in given)


def build_flags_option(command: Any) -> Any:
    """Gives a command `--kustomize-build-flag`; it reaches it as `build_flags`."""
    return click.option(
        FLAG,
        "build_flags",
        multiple=True,
        callback=_checked,
        metavar="FLAG",
        shell_complete=completion.among(allowed_build_flags),
        help=f"A flag for kustomize, one of {', '.join(allowed_build_flags())}. It is added to kustomizeBuildFlags of the "
        "config. Repeatable.",
    )(command)
