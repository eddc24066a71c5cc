"""How kustomizations are built, on the command line: the two timeouts, `--network`, `--kustomize-build-flag` and `-k DIR`."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import click

from krm_fn.base.console import NAME
from krm_fn.base.errors import UsageError
from krm_fn.cli import completion
from krm_fn.config.repository import allowed_build_flags, build_flag
from krm_fn.repositories import building

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    Decorator = Callable[[Any], Any]

NETWORK, UNTIL = f"{NAME}.network", f"{NAME}.until"
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
    timeout = click.option("--timeout", type=Seconds(), default=default, show_default=True, metavar="SECONDS", help=text)
    text = "Let builds fetch from other machines, and give them what they need to log in there. Nothing else allows it."
    network = click.option("--network", is_flag=True, expose_value=False, callback=_keep_network, help=text)
    return lambda command: timeout(network(command))


def _keep_network(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[NETWORK] = value


def total_option(command: Any) -> Any:
    """Gives a command `--total-timeout`. `builder` knows when that ends."""
    return click.option(
        "--total-timeout",
        type=Seconds(),
        default=building.TOTAL,
        show_default=True,
        expose_value=False,
        callback=_keep_until,
        metavar="SECONDS",
        help="The time limit for all builds together, in seconds. What is left then is not built, which is an error.",
    )(command)


def _keep_until(context: click.Context, _: click.Parameter, value: float) -> None:
    context.meta[UNTIL] = time.time() + value


def may_fetch() -> bool:
    """True where the current command was called with `--network`."""
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(NETWORK))


def builder() -> building.Builder | None:
    """The program that builds kustomizations for the current command."""
    using = building.builder(network=may_fetch())
    context = click.get_current_context(silent=True)
    return using._replace(until=context.meta.get(UNTIL, 0.0)) if using and context else using


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
