"""The flags that say what is built, and how: `--exclude`, `--target`, `--jobs`, `--timeout`, `--network`, `-k` and others.

And those whose value is a file, a folder or YAML: nested keys of the config, policies, schemas, and files of a form.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import click

from krm_fn import config, yamlio
from krm_fn.base.console import NAME, file_name
from krm_fn.base.errors import ConfigError, InputError, UsageError
from krm_fn.base.globs import steps_of
from krm_fn.base.objects import Object, kind_of
from krm_fn.cli import completion
from krm_fn.config.checks import CHECKS
from krm_fn.config.keys import NAMES, Key
from krm_fn.config.places import located
from krm_fn.config.repository import allowed_build_flags, build_flag, variables
from krm_fn.kubevirt.settings import Config
from krm_fn.repositories import building, config_files
from krm_fn.repositories.guard import Timeout
from krm_fn.repositories.pools import cores
from krm_fn.sources import reading
from krm_fn.sources.files import read_named, refuse_links_out

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")


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
        callback=lambda _, __, file: read_form(file, variables) or (),
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


# The types of keys whose flags name a file or take YAML, with an example for messages.
EXAMPLES = {
    "configuration": "{cpuModel: host-model}",
    "patches": "[{target: {name: web}, patch: [...]}]",
    "schemaPolicies": "[{name: small, schema: {...}}]",
}


def flag_of(name: str) -> str:
    """The flag of a config key: `--fail-on` of `failOn`."""
    name = NAMES[name].flag or name if name in NAMES else name
    return "--" + "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name)


def laid_over(base: Config, key: Key, given: str | None) -> Config:
    """The config with what the flag of a key names laid over it, where that is a file."""
    if given is None or not names_file(key, given):
        return base
    text, value = config_files.read(given)
    flag = flag_of(key.name)
    try:
        checked = CHECKS[key.type](key, value, flag)
        return base.but(**{key.field: config.merged(getattr(base, key.field), checked)})
    except ConfigError as error:
        raise located(error, given, lambda path: text.place(0, path, key=True), below=flag) from None


def names_file(key: Key, given: str) -> bool:
    """True where the flag of a key names a file, a pipe included; False for YAML text.

    Raises: ConfigError for a word, which as YAML would be no map: the name of a file that is not there.
    """
    if os.path.exists(given):  # noqa: PTH110
        return True
    try:
        word = isinstance(yamlio.read_value(given), str)
    except InputError:
        return False
    if word:
        raise ConfigError(
            f"there is no file {file_name(given)}; expected a file, or YAML such as '{EXAMPLES[key.type]}'",
            path=flag_of(key.name),
        )
    return False


KIND = "CustomResourceDefinition"


schemas_option = click.option(
    "--schemas",
    multiple=True,
    metavar="DIR",
    shell_complete=completion.FOLDER,
    help=f"Check objects against the {KIND}s in this folder. Repeatable.",
)


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


def read_form(file: str | None, form: Callable[[Any], T]) -> T | None:
    """What a file has in a form, None without a file. Raises: InputError, ConfigError that name the file and the place."""
    if file is None:
        return None
    try:
        refuse_links_out([file])
        data, _ = read_named(file)
        return form(yamlio.read_value(data.decode()))
    except OSError as error:
        raise InputError(f"cannot read {file_name(file)}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError("the file is not in UTF-8", file=file) from None
    except ConfigError as error:
        raise ConfigError(error.message, path=error.path, file=file) from None
    except InputError as error:
        raise InputError(error.message, file=file, line=error.line, column=error.column) from None
