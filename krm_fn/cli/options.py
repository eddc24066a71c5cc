"""The flags that commands share: one for each key of the config, and those that select the input."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import click

from krm_fn import config
from krm_fn.base.console import NAME, file_name, one_line, printable
from krm_fn.base.errors import ConfigError, UsageError
from krm_fn.cli import completion, file_flags
from krm_fn.cli.build_flags import build_flags_option, build_options, built, folder_options, part_options, together
from krm_fn.cli.progress import is_quiet, quiet_option
from krm_fn.config.keys import KEYS, NAMES
from krm_fn.config.places import located_in_list
from krm_fn.kubevirt import releases
from krm_fn.kubevirt.releases import MINORS, Release
from krm_fn.kubevirt.settings import Config
from krm_fn.repositories import building, cache, config_files
from krm_fn.repositories.clusters import Configs
from krm_fn.sources import policy_files, reading
from krm_fn.yamlio import ListText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from krm_fn.config.keys import Key
    from krm_fn.repositories.judging import UnitResult
    from krm_fn.repositories.rendering import UnitObjects
    from krm_fn.sources.reading import Repair, Watch
    from krm_fn.sources.source import Sources

    Decorator = Callable[[Any], Any]
    Choice = click.Choice[str]
else:
    Choice = click.Choice  # generic from click 8.2 on


# Set among the flags where `--config` is the file of a test case and not the operator's.
UNTRUSTED = "untrusted"
NOTED = f"{NAME}.noted"
# What all flags have that take a KubeVirt release.
VERSION: dict[str, Any] = {
    "metavar": "VERSION",
    "shell_complete": completion.among(lambda: MINORS),
}


class KeyWords(Choice):
    """Shows and completes the words of a key; the config's own checks validate them, because they suggest the nearest word."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002
        return value


def help_of(key: Key) -> str:
    """The help of the flag of a config key."""
    known = f". Known releases: {MINORS[0]} to {MINORS[-1]}" if key.type == "version" else ""
    text = f"{key.doc.removeprefix('true: ')}{known}."
    return text if text.partition(" ")[0].endswith(":") else text[0].upper() + text[1:]


def _option(key: Key) -> Decorator:
    flag, text = file_flags.flag_of(key.name), help_of(key)
    match key.type:
        case "switch":
            return click.option(f"{flag}/--no-{flag[2:]}", key.field, default=None, help=text)
        case "names":
            return click.option(flag, key.field, metavar="NAME[,NAME]", help=text)
        case "severity":
            return click.option(flag, key.field, multiple=True, metavar="RULE=LEVEL", help=f"{text} Repeatable.")
        case "policies":
            help_text = f"A file or folder with {text} Repeatable."
            return click.option(
                flag,
                key.field,
                multiple=True,
                metavar="PATH",
                help=help_text,
                callback=lambda _, __, paths: tuple(found for path in paths for found in policy_files.read(path)),
                shell_complete=completion.FILE,
            )
        case _ if key.type in file_flags.EXAMPLES:
            help_text = f"{text} The value is a file name or YAML."
            return click.option(flag, key.field, metavar="FILE|YAML", help=help_text, shell_complete=completion.FILE)
        case _:
            more: dict[str, Any] = {"type": KeyWords(key.words)} if key.words else VERSION
            default = f" Default: {key.default}." if key.default else ""
            return click.option(flag, key.field, **more, help=text + default)


def keys_options(names: Iterable[str]) -> Decorator:
    """What gives a command `--config`, `--isolated` and flags for these keys of the config; `settings` takes them."""
    return together(
        click.option(
            "--config",
            "config_file",
            metavar="FILE",
            shell_complete=completion.FILE,
            help="Read the function config from this file. Default: the nearest .kubevirt-render.yaml, in the folder of the "
            "paths or above it in the repository.",
        ),
        click.option(
            "--isolated",
            is_flag=True,
            help="Ignore .kubevirt-render.yaml and the functionConfig of the input. Use only --config and the flags.",
        ),
        *(_option(key) for key in KEYS if key.name in names),
    )


config_options = keys_options(NAMES)
ignores_option = click.option("--no-ignores", is_flag=True, help="Ignore the annotations of objects that silence rules.")
helm_option = click.option("--helm", is_flag=True, help="Build the Helm charts in folders with `helm template`, too.")
# How much a command says besides its answer.
verbose_option = together(
    click.option("-v", "--verbose", is_flag=True, help="Report which files are skipped and which config is used."),
    quiet_option,
)
links_option = click.option("--follow-links", is_flag=True, help="Follow symbolic links to places outside the given paths too.")
cache_options = together(
    click.option(
        "--cache",
        "cache",
        default=cache.users_folder,
        metavar="DIR",
        shell_complete=completion.FOLDER,
        help="Where to keep what came of kustomizations in folders; those that did not change are not built again. "
        "Default: kubevirt-render in the user's cache folder.",
    ),
    click.option(
        "--no-cache", "cache", flag_value="", help="Build and check all kustomizations, and keep nothing for later runs."
    ),
)
# What a command reads from.
source_options = together(
    click.argument("paths", nargs=-1, metavar="[PATH]...", shell_complete=completion.FILE),
    click.option(
        "-k",
        "--kustomize",
        "kustomizations",
        multiple=True,
        metavar="DIR",
        shell_complete=completion.FOLDER,
        help="Build this kustomization and read the result. Repeatable.",
    ),
    build_options(building.TIMEOUT),
    verbose_option,
    links_option,
)
# All that says what a command reads: also what is wanted of folders.
input_options = together(source_options, folder_options, part_options, helm_option, build_flags_option)


def output_option(choices: Iterable[str], default: str = "", text: str = "The output format.") -> Decorator:
    """What gives a command `-o`, with the first of the choices as its default, where no other is named."""
    known = tuple(choices)
    how: dict[str, Any] = {"default": default or known[0], "show_default": True, "help": text}
    return click.option("-o", "--output", type=click.Choice(known), **how)


def read_sources(
    paths: tuple[str, ...],
    kustomizations: tuple[str, ...],
    *,
    verbose: bool,
    timeout: float = building.TIMEOUT,
    build_flags: Sequence[str] = (),
    follow_links: bool = False,
    repair: Repair | None = None,
    watch: Watch = reading.unwatched,
) -> Sources:
    """The input that the arguments name. Raises: UsageError if there is none, or a flag in place of a folder; InputError.

    A kustomization is built with `build_flags` in at most `timeout` seconds. `repair` gives what is to be read in place of an
    unreadable file. `watch` gets the progress of reading.
    """
    check_named(paths, kustomizations)
    return reading.read(
        paths,
        built=built(kustomizations, timeout=timeout, flags=build_flags, follow=follow_links),
        follow=follow_links,
        note=note if verbose else lambda _: None,
        repair=repair,
        watch=watch,
    )


def check_named(paths: Sequence[str], kustomizations: Sequence[str]) -> None:
    """Raises: UsageError where nothing is named that could be read."""
    if not (paths or kustomizations):
        raise UsageError("nothing to read; name files or folders, -k DIR, or - for stdin")


def note(text: str) -> None:
    """Print a note on stderr, once, unless the command is quiet. Notes are not findings."""
    context = click.get_current_context(silent=True)
    printed = context.meta.setdefault(NOTED, set()) if context else set()
    if is_quiet() or text in printed:
        return
    printed.add(text)
    click.echo(f"{NAME}: note: {printable(one_line(text))}", err=True)


def settings(
    found: Sources,
    config_file: str | None,
    flags: Mapping[str, Any],
    *,
    near: Sequence[str] = (),
    verbose: bool = False,
) -> Config:
    """The config, with the flags laid over it: `--config`, else that of the ResourceList that was read, else the repository's.

    `near` are the paths whose repository is meant. In isolation only `--config` and the flags count.
    Raises: ConfigError, InputError, UsageError.
    """
    file, isolated = config_file_of(found, config_file, flags, near), flags["isolated"]
    if file and verbose:
        note(f"the config is {file_name(file)}")
    if found.powerless and not isolated:
        _note_powerless(found.powerless)
    trusted = not flags.get(UNTRUSTED)
    base = _of_repository(config_file, near, trusted=trusted) if file else Config() if isolated else barred(_of_sources(found))
    return with_flags(base, flags)


def config_file_of(found: Sources, config_file: str | None, flags: Mapping[str, Any], near: Sequence[str]) -> str:
    """The file of the config that counts: `--config`, else the repository's; "" for none, or if a ResourceList has it."""
    if config_file is None and found.function_config is None and not flags["isolated"]:
        return config_files.config_file(near) or ""
    return config_file or ""


def barred(given: Config) -> Config:
    """The config of a file that may be a stranger's: it loads no code."""
    return given.but(rule_packages=(), barred_packages=given.rule_packages) if given.rule_packages else given


def note_hidden(units: Iterable[UnitResult | UnitObjects]) -> None:
    """Say which objects of units hold what looks like a VM, for where there is no VM."""
    for text in dict.fromkeys(text for each in units for text in each.hidden):
        note(text)


def laying(flags: Mapping[str, Any]) -> Callable[[Config], Config]:
    """What lays the flags over a config. What is wrong with them is said before anything is read. Raises: ConfigError.

    A file that a flag names is left for later: it may be a pipe, which can be read once.
    """
    config.with_texts(Config(), _texts(flags), place=_place)
    return partial(with_flags, flags=flags)


def with_flags(base: Config, flags: Mapping[str, Any]) -> Config:
    """The config with the flags laid over it, as far as a command has them. Raises: ConfigError."""
    found = config.with_texts(base, _texts(flags), place=_place)
    for key in KEYS:
        if key.type in file_flags.EXAMPLES:
            found = file_flags.laid_over(found, key, flags.get(key.field))
    found = found.but(policies=(*found.policies, *flags.get("policies", ())))
    if found.barred_packages:
        left = (name for name in found.barred_packages if name not in found.rule_packages)
        found = found.but(barred_packages=tuple(left))
    note_unmeasured(found.release)
    return found


def note_unmeasured(release: Release | None) -> None:
    """Say once that the behaviour of a release is not measured, if that is so."""
    if release and not release.is_measured:
        note(releases.not_measured(release))


def _note_powerless(files: Sequence[str]) -> None:
    others = len(files) - 1
    more = f" and {others} other file{'s' * (others > 1)}" if others else ""
    fact = "a functionConfig is used only from stdin, or from a list that is the only path"
    note(f"{file_name(files[0])}{more}: {fact}; name a config with --config")


def levels_by_flag(flags: Mapping[str, Any]) -> dict[str, str]:
    """The severities that flags give to rules."""
    return {name.removeprefix("severity."): level for name, level in map(_level, flags["severity"])}


def _of_repository(file: str | None, near: Sequence[str], *, trusted: bool) -> Config:
    """The config of the paths, which all belong to one cluster or to none; that of `file`, where it is named.

    Raises: ConfigError, UsageError.
    """
    configs = Configs(near, file=file, trusted=trusted)
    found = {each.cluster: each for each in map(configs.settings_for, near or (os.curdir,))}
    if len(found) > 1:
        named = " and ".join(name or "none" for name in list(found)[:2])
        raise UsageError(f"the paths belong to different clusters, {named}; name those of one cluster")
    return next(iter(found.values())).config


def _of_sources(found: Sources) -> Config:
    """The config of the ResourceList that was read."""
    try:
        return config.read(found.function_config)
    except ConfigError as error:
        for source in found.sources:
            if isinstance(source.text, ListText) and source.text.head.get("functionConfig") is found.function_config:
                raise located_in_list(error, source.text) from None
        raise


def _texts(flags: Mapping[str, Any]) -> dict[str, str]:
    """The flags that were given as the keys of a ConfigMap's data, but for those that name files."""
    texts: dict[str, str] = {}
    for key in KEYS:
        value = flags.get(key.field)
        if key.type == "severity":
            texts.update(_level(text) for text in value or ())
        elif key.type == "policies":
            continue  # they are objects already
        elif value is not None and not (key.type in file_flags.EXAMPLES and file_flags.names_file(key, value)):
            texts[key.name] = str(value).lower() if key.type == "switch" else value
    return texts


def _level(text: str) -> tuple[str, str]:
    rule, equals, level = text.partition("=")
    if not (rule and equals and level):
        raise ConfigError(f"found {text!r}; expected RULE=LEVEL such as some-rule=off", path="--severity")
    return f"severity.{rule}", level


def _place(name: str) -> str:
    head, _, below = name.partition(".")
    return f"{file_flags.flag_of(head)} {below}" if below else file_flags.flag_of(head)
