"""The flags that an application may give to the program that builds it.

Everybody who can push into an application's folder can set its parameters, and the sidecar builds for every application. So
only flags are allowed that run no program, read no file outside of the repository, reach no network and write nowhere. A flag
that is not in the tables is refused. An allowed flag is written again, in the one form `--flag=value`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from krm_fn.base.value import Value
from krm_fn.repositories.guard import Flag, RefusedWordError, read

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


class WantedFlags(Value):
    """The words that an application wants to pass, and the place where it sets them, for errors."""

    words: tuple[str, ...] = ()
    place: str = ""


def permitted(words: Sequence[str], known: Sequence[Flag], is_file: Callable[[str], bool]) -> Iterator[str]:
    """The words of an application that may reach the program; `is_file` returns whether a file may be read.

    Raises: RefusedError.
    """
    for flag, value in read(words, known):
        if flag is None:
            raise RefusedWordError(value)
        if flag.value == "file" and not is_file(value):
            raise RefusedWordError(f"{flag.name}={value}", "expected one file in the application's repository")
        yield f"{flag.name}={value}" if flag.value or value else flag.name


def repository(folder: Path, source: str) -> Path:
    """The application's repository: the folder without the path inside it that Argo CD gives, if the folder ends with that."""
    parts = Path(source).parts
    real = folder.resolve()
    return real.parents[len(parts) - 1] if parts and real.parts[-len(parts) :] == parts else real
