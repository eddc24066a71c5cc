"""The flags that an application may give to the program that builds it.

Everybody who can push into an application's folder can set its parameters, and the sidecar builds for every application. So
only flags are allowed that run no program, read no file outside of the repository, reach no network and write nowhere. A flag
that is not in the tables is refused. An allowed flag is written again, in the one form `--flag=value`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from krm_fn.base.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# helm reads a value of `--values` as several file names, in quotes or not, or as addresses.
NO_FILE_NAME = frozenset(',":\n\r')


class Flag(Value):
    """A flag: its long and its short name, and the kind of its value: "text", a "file", a "folder", or "" for a switch."""

    name: str
    short: str = ""
    value: str = ""


KUSTOMIZE = (
    Flag(name="--enable-helm"),  # behind `helm`
    Flag(name="--helm-api-versions", value="text"),
    Flag(name="--helm-debug"),
    Flag(name="--helm-kube-version", value="text"),
    Flag(name="--reorder", value="text"),
)
HELM = (
    Flag(name="--api-versions", short="-a", value="text"),
    Flag(name="--include-crds"),
    Flag(name="--is-upgrade"),
    Flag(name="--kube-version", value="text"),
    Flag(name="--namespace", short="-n", value="text"),
    Flag(name="--no-hooks"),
    Flag(name="--set", value="text"),
    Flag(name="--set-json", value="text"),
    Flag(name="--set-literal", value="text"),
    Flag(name="--set-string", value="text"),
    Flag(name="--show-only", short="-s", value="text"),
    Flag(name="--skip-crds"),
    Flag(name="--skip-schema-validation"),
    Flag(name="--skip-tests"),
    Flag(name="--values", short="-f", value="file"),
)
ALLOWED = {"kustomize": KUSTOMIZE, "helm": HELM}


class Wanted(Value):
    """The words that an application wants to pass, and the place where it sets them, for errors."""

    words: tuple[str, ...] = ()
    place: str = ""


class RefusedError(Exception):
    """A word that may not reach the program, and the reason, "" if the word itself shows it."""

    def __init__(self, word: str, reason: str = "") -> None:
        super().__init__(word)
        self.word, self.reason = word, reason


def read(words: Sequence[str], known: Sequence[Flag]) -> Iterator[tuple[Flag | None, str]]:
    """Each flag with its value ("" for a switch without one), and each word that is no flag, with None.

    Flags are read as in Go's pflag, but only in these forms: `--flag`, `--flag=value`, `--flag value` and `-f value`.
    Raises: RefusedError for an unknown flag, and for a flag without its value.
    """
    names = {name: flag for flag in known for name in (flag.name, flag.short) if name}
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            yield None, word
            continue
        name, equals, value = word.partition("=")
        flag = names.get(name)
        if flag is None or (equals and name == flag.short):
            raise RefusedError(word)
        yield flag, _value(flag, word, rest) if not equals or not flag.value else value


def _value(flag: Flag, word: str, rest: Iterator[str]) -> str:
    if flag.value:
        for value in rest:
            return value
        raise RefusedError(word, "the value is missing")
    _, equals, value = word.partition("=")
    if equals and value not in ("true", "false"):
        raise RefusedError(word, "expected true or false")
    return value


def permitted(words: Sequence[str], known: Sequence[Flag], is_file: Callable[[str], bool]) -> Iterator[str]:
    """The words of an application that may reach the program; `is_file` returns whether a file may be read.

    Raises: RefusedError.
    """
    for flag, value in read(words, known):
        if flag is None:
            raise RefusedError(value)
        if flag.value == "file" and not is_file(value):
            raise RefusedError(f"{flag.name}={value}", "expected one file in the application's repository")
        yield f"{flag.name}={value}" if flag.value or value else flag.name


def is_below(path: Path, folders: Sequence[Path]) -> bool:
    """True for a place in one of the folders, after links are followed."""
    real = Path(os.path.realpath(path))  # unlike resolve(), it accepts links that lead to themselves
    return any(real.is_relative_to(os.path.realpath(folder)) for folder in folders)


def is_one_file(name: str, folder: Path, folders: Sequence[Path]) -> bool:
    """True if the name, relative to `folder`, is a file in one of the folders, and helm reads it as this file alone."""
    if NO_FILE_NAME & set(name) or name != name.strip():
        return False
    path = folder / name
    return os.path.isfile(path) and is_below(path, folders)  # noqa: PTH113  is_file() raises for a name that is too long


def repository(folder: Path, source: str) -> Path:
    """The application's repository: the folder without the path inside it that Argo CD gives, if the folder ends with that."""
    parts = Path(source).parts
    real = folder.resolve()
    return real.parents[len(parts) - 1] if parts and real.parts[-len(parts) :] == parts else real
