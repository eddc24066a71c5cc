"""Changes of files as a unified diff, which `git apply` and `patch -p1` take."""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING

import click

from krm_fn.base.console import file_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

COLORS = {"-": "red", "+": "green", "@": "cyan"}
UNENDED = "\n\\ No newline at end of file\n"


def unified(file: str, before: bytes, after: bytes, *, color: bool = False) -> bytes:
    """The diff of one file, empty where nothing changed."""
    old, new = _lines(before), _lines(after)
    lines = difflib.unified_diff(old, new, _named("a", file), _named("b", file))
    return "".join(_shown(lines, color=color)).encode(errors="surrogateescape")


def _shown(lines: Iterable[str], *, color: bool) -> Iterator[str]:
    for line in lines:
        whole = line if line.endswith("\n") else line + UNENDED
        shade = COLORS.get(line[0]) if color else None
        yield click.style(whole.rstrip("\n"), fg=shade) + "\n" if shade else whole


def _lines(data: bytes) -> list[str]:
    """The lines of a text with their ends; what is no UTF-8 stays as it is."""
    text = data.decode(errors="surrogateescape")
    return [line + "\n" for line in text.split("\n")[:-1]] + [line for line in text.split("\n")[-1:] if line]


def _named(side: str, file: str) -> str:
    return file_name(file if os.path.isabs(file) else f"{side}/{file}")  # noqa: PTH117
