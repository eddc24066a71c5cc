"""A kustomization, read from its file, and what is wrong with it before anything is built."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from krm_fn import yamlio
from krm_fn.base.errors import InputError
from krm_fn.base.redaction import holds_secret
from krm_fn.repositories import plugins
from krm_fn.repositories.kustomization import is_kustomization, joined, kustomization
from krm_fn.repositories.types import Problem
from krm_fn.sources.files import UNREADABLE, read_found

if TYPE_CHECKING:
    from krm_fn.base.paths import Path
    from krm_fn.repositories.types import Kustomization, Reference
    from krm_fn.yamlio import StreamText


class Read(NamedTuple):
    """A kustomization and its text; what can't be read names nothing."""

    kustomization: Kustomization
    text: StreamText | None = None
    problem: Problem | None = None


def read(folder: str, file: str) -> Read | None:
    """The kustomization in a file; None where the file holds another object, such as one of Flux."""
    try:
        text = yamlio.read_stream(read_found(file)[0], file=file)
    except OSError as error:
        return _unread(folder, Problem(file=file, reason="unreadable", detail=error.strerror or UNREADABLE))
    except InputError as error:
        problem = Problem(file=file, reason="unreadable", detail=error.message, line=error.line, column=error.column)
        return _unread(folder, problem)
    objects = [item for item in text.items if item is not None]
    if not objects:
        return Read(kustomization({}, folder, file), text)  # kustomize says what is wrong with it
    if not (is_kustomization(objects[0]) or (isinstance(objects[0], dict) and plugins.misspelt(objects[0]))):
        return None
    found = kustomization(objects[0], folder, file, linked(folder))
    return Read(found, text, referring(found, text, found.refused.role, found.refused) if found.refused else None)


def linked(path: str) -> str:
    """Where a path leads when links are followed, as a path from the working directory."""
    return joined(".", os.path.realpath(path))


def _unread(folder: str, problem: Problem) -> Read:
    return Read(kustomization({}, folder, problem.file), problem=problem)


def referring(found: Kustomization, text: StreamText | None, reason: str, each: Reference) -> Problem:
    """A problem with a reference, at its place."""
    line, column = place(text, each.at)
    shown = "a URL with a password" if holds_secret(each.path) else each.path
    return Problem(file=found.file, reason=reason, detail=shown, line=line, column=column)


def place(text: StreamText | None, at: Path) -> tuple[int, int]:
    """Line and column of a place in a kustomization, which is the first object of its text."""
    if text is None:
        return 0, 0
    first = next(number for number, item in enumerate(text.items) if item is not None)
    return text.place(first, at)
