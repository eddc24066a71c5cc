"""Files that a command rewrites, looked at before anything is written: `--check` and `--diff`."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Sequence

import click

from krm_fn.base.console import file_name, write_out
from krm_fn.cli import options
from krm_fn.cli.build_flags import together
from krm_fn.cli.pens import is_colored

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


looking_options = together(
    click.option(
        "--check", is_flag=True, help="Write nothing. Name the files that would change; the exit code is 1 if there are any."
    ),
    click.option("--diff", is_flag=True, help="Write nothing. Print the changes as a unified diff."),
)


def look(changed: Sequence[tuple[str, bytes, bytes]], *, check: bool, diff: bool) -> int:
    """Say what would change of files, each with its texts before and after. The exit code is 1 with `check` if one would."""
    for file, _, _ in changed if check else ():
        options.note(f"{file_name(file)}: would change")
    if diff:
        color = is_colored()
        write_out(b"".join(unified(*each, color=color) for each in changed))
    return int(bool(check and changed))
