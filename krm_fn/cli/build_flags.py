"""The flags that say what is built, and how: `--exclude`, `--target`, `--jobs`, `--timeout`, `--network`, `-k` and others."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import click

from krm_fn.base.console import NAME
from krm_fn.base.errors import UsageError
from krm_fn.base.globs import steps_of
from krm_fn.cli import completion, file_flags
from krm_fn.config.repository import allowed_build_flags, build_flag, variables
from krm_fn.repositories import building
from krm_fn.repositories.guard import Timeout
from krm_fn.repositories.pools import cores

Decorator = Callable[[Any], Any]


NETWORK, UNTIL = f"{NAME}.network", f"{NAME}.until"
FLAG = "--kustomize-build-flag"


def together(*options: Decorator) -> Decorator:
    """What gives a command several options, in the order in which its help has them."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


build_flags_option = click.option(
    FLAG,
    "build_flags",
    multiple=True,
    callback=lambda _, __, given: tuple(build_flag(each, FLAG) for each in given),
    metavar="FLAG",
    shell_complete=completion.among(allowed_build_flags),
    help=f"A flag for kustomize, one of {', '.join(allowed_build_flags())}. It is added to kustomizeBuildFlags of the "
    "config. Repeatable.",
)


class Seconds(click.types.FloatParamType):
    """How long something may take."""

    most = 86_400

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(value)
        except ValueError:
            seconds = 0
        if not 0 < seconds <= self.most:  # which a NaN isn't either
            self.fail(f"found {value!r}; expected seconds, more than 0 and at most {self.most}", param, ctx)
        return seconds


def build_options(default: float) -> Decorator:
    """Gives a command `--timeout` and `--network`, for what kustomize or helm builds. `may_fetch` knows the second one."""
    text = "The time limit for kustomize or helm, in seconds."
    how: dict[str, Any] = {"show_default": True, "metavar": "SECONDS", "help": text}
    timeout = click.option("--timeout", type=Seconds(), default=default, callback=_until, **how)
    text = "Let builds fetch from other machines, and give them what they need to log in there. Nothing else allows it."
    network = click.option("--network", is_flag=True, expose_value=False, callback=_keep_network, help=text)
    return together(timeout, network)


def _keep_network(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[NETWORK] = value


def _keep_until(context: click.Context, _: click.Parameter, value: float) -> None:
    context.meta[UNTIL] = time.time() + value


def _until(context: click.Context, _: click.Parameter, value: float) -> Timeout:
    """The time limit of each build, which knows that of all."""
    limit = Timeout(value)
    limit.until = context.meta.get(UNTIL, 0.0)
    return limit


total_option = click.option(
    "--total-timeout",
    is_eager=True,  # before `--timeout`
    type=Seconds(),
    default=building.TOTAL,
    show_default=True,
    expose_value=False,
    callback=_keep_until,
    metavar="SECONDS",
    help="The time limit for all builds together, in seconds. What is left then is not built, which is an error.",
)


def may_fetch() -> bool:
    """True where the current command was called with `--network`."""
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(NETWORK))


def builder() -> building.Builder | None:
    """The program that builds kustomizations for the current command."""
    return building.builder(network=may_fetch())


def built(
    kustomizations: Iterable[str], *, timeout: float, flags: Sequence[str] = (), follow: bool = False
) -> list[tuple[str, bytes]]:
    """The kustomizations of `-k`, each with what is built of it. Raises: InputError, UsageError for a flag in place of one."""
    places = check_kustomizations(kustomizations)
    how: dict[str, Any] = {"timeout": timeout, "flags": flags, "network": may_fetch(), "follow": follow}
    return [(place, building.printed(place, **how)) for place in places]


def check_kustomizations(places: Iterable[str]) -> list[str]:
    """The folders and addresses of `-k`, as kustomize takes them. Raises: UsageError for a flag in place of one."""
    return [_kustomization(place) for place in places]


def _kustomization(place: str) -> str:
    """The folder or the address as kustomize can't take it for a flag."""
    if not place or (place.startswith("-") and not os.path.isdir(place)):  # noqa: PTH112
        fix = f"to pass flags to kustomize, pipe its output: `kustomize build FLAGS DIR | {NAME} render -`"
        raise UsageError(f"-k: found {place!r}; expected a folder or an address; {fix}")
    return f"./{place}" if place.startswith("-") else place


def _glob(written: str) -> str:
    """The glob. Raises: UsageError for one with a bracket that nothing closes."""
    if any("[" in step and "]" not in step for step in steps_of(written)):
        raise UsageError(f"--exclude: {written!r} has a [ that no ] closes; write [[] for the character")
    return written


part_options = together(
    click.option(
        "--target",
        metavar="NAME",
        help="Only the target of this name: the folder of a kustomization or of a chart. The others still offer their objects.",
    ),
    click.option(
        "--cluster",
        metavar="NAME",
        help="Only what belongs to this cluster, one of spec.clusters of the config at the root of the repository.",
    ),
    click.option(
        "--variables",
        callback=lambda _, __, file: file_flags.read_form(file, variables) or (),
        metavar="FILE",
        help="Values of variables that Flux takes from outside git: a YAML map of names and texts.",
    ),
)
exclude_option = click.option(
    "--exclude",
    multiple=True,
    callback=lambda _, __, given: tuple(map(_glob, given)),
    metavar="GLOB",
    help="Skip these files and folders, such as '**/testdata/**'. Repeatable.",
)
folder_options = together(
    exclude_option,
    click.option(
        "-j",
        "--jobs",
        type=click.IntRange(1, 1024),
        default=None,
        callback=lambda _, __, value: value or cores(),
        metavar="N",
        help="How many processes work on the kustomizations in folders. Default: one for each processor.",
    ),
    total_option,
)
