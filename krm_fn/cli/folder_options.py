"""The flags of commands that look for kustomizations in folders."""

from __future__ import annotations

from typing import Any

import click

from krm_fn.base.errors import UsageError
from krm_fn.base.globs import steps_of
from krm_fn.cli import sizing_files
from krm_fn.cli.build_flags import total_option
from krm_fn.config.repository import variables
from krm_fn.repositories.pools import cores


def part_options(command: Any) -> Any:
    """Gives a command `--target`, `--cluster` and `--variables`."""
    command = click.option(
        "--variables",
        callback=lambda _, __, file: sizing_files.read(file, variables) or (),
        metavar="FILE",
        help="Values of variables that Flux takes from outside git: a YAML map of names and texts.",
    )(command)
    command = click.option(
        "--cluster",
        metavar="NAME",
        help="Only what belongs to this cluster, one of spec.clusters of the config at the root of the repository.",
    )(command)
    return click.option(
        "--target",
        metavar="NAME",
        help="Only the target of this name: the folder of a kustomization or of a chart. The others still offer their objects.",
    )(command)


def folder_options(command: Any) -> Any:
    """Gives a command `--exclude`, `--jobs` and `--total-timeout`."""
    command = total_option(command)
    return exclude_option(
        click.option(
            "-j",
            "--jobs",
            type=click.IntRange(1, 1024),
            default=None,
            callback=lambda _, __, value: value or cores(),
            metavar="N",
            help="How many processes work on the kustomizations in folders. Default: one for each processor.",
        )(command)
    )


def _glob(written: str) -> str:
    """The glob. Raises: UsageError for one with a bracket that nothing closes."""
    if any("[" in step and "]" not in step for step in steps_of(written)):
        raise UsageError(f"--exclude: {written!r} has a [ that no ] closes; write [[] for the character")
    return written


def exclude_option(command: Any) -> Any:
    """Gives a command `--exclude`."""
    return click.option(
        "--exclude",
        multiple=True,
        callback=lambda _, __, given: tuple(map(_glob, given)),
        metavar="GLOB",
        help="Skip these files and folders, such as '**/testdata/**'. Repeatable.",
    )(command)
