"""`-o FORMAT[=FILE]`, repeatable: what a command writes, and where; and JSON of what others wrote, in printable characters.

And how names and sentences are written in a format, so that nothing in them is more than text; and the flag for colours.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from krm_fn.base import markdown
from krm_fn.base.console import decoded, one_line, printable, write_out
from krm_fn.base.errors import UsageError
from krm_fn.base.value import Value
from krm_fn.cli import completion, replacing
from krm_fn.config.keys import hint
from krm_fn.sources.files import leads_out

if TYPE_CHECKING:
    from krm_fn.cli.build_flags import Decorator


class Pen(Value):
    """`name` writes a name or a path, `prose` a sentence or a value that may have anything in it."""

    name: Callable[[str], str]
    prose: Callable[[str], str]


def _plain(text: str) -> str:
    return printable(one_line(text))


TEXT = Pen(name=_plain, prose=_plain)
MARKDOWN = Pen(name=markdown.code, prose=markdown.prose)


AUTO, ALWAYS, NEVER = "auto", "always", "never"


def color_option(what: str) -> Decorator:
    """Gives a command `--color`, which says whether `what` is shown."""
    text = f"Show {what}. auto: colours only on a terminal, or if FORCE_COLOR is set; none if NO_COLOR is set."
    return click.option("--color", type=click.Choice((AUTO, ALWAYS, NEVER)), default=AUTO, show_default=True, help=text)


def is_terminal() -> bool:
    """True where stdout is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def is_colored(choice: str = AUTO) -> bool:
    """True where stdout shows colours: as the flag says, then NO_COLOR (no-color.org), then FORCE_COLOR (force-color.org)."""
    if choice != AUTO:
        return choice == ALWAYS
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (is_terminal() and os.environ.get("TERM") != "dumb")


def table(columns: dict[str, Callable[[Any], str]], rows: Sequence[Any]) -> str:
    """The rows under their heads, aligned as kubectl does."""
    lines = [list(columns), *([printable(one_line(cell(row))) or "-" for cell in columns.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = ([cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines)
    return "\n".join("   ".join(cells).rstrip() for cells in padded)


def json_text(value: Any) -> str:
    """The value as JSON text over several lines, of printable characters alone: others stand there as escapes."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if not text.replace("\n", "").isprintable():
        text = "".join(letter if letter.isprintable() or letter == "\n" else _json_escape(letter) for letter in text)
    return text.replace("##", "#\\u0023") + "\n"


def _json_escape(letter: str) -> str:
    """The escape of a character; of what is none, since it stands for a byte, the text that messages have in its place."""
    if "\ud800" <= letter <= "\udfff":
        return decoded(letter).replace("\\", "\\\\")
    return json.dumps(letter)[1:-1]


def outputs_option(known: Sequence[str]) -> Decorator:
    """What gives a command `-o FORMAT[=FILE]`; the values reach it as `outputs`."""
    return click.option(
        "-o",
        "--output",
        "outputs",
        multiple=True,
        default=("text",),
        show_default=True,
        metavar="FORMAT[=FILE]",
        shell_complete=completion.among(lambda: known),
        help=f"The output format: {', '.join(known)}. Without FILE, the output is written to stdout. Repeatable.",
    )


def parsed(outputs: Sequence[str], known: Sequence[str]) -> list[tuple[str, str]]:
    """Format and file of each output, "" for stdout, which takes only one. Raises: UsageError."""
    targets = []
    for text in outputs:
        name, _, file = text.partition("=")
        if name not in known:
            raise UsageError(f"-o: unknown format {name!r}; expected one of {', '.join(known)}{hint(name, known)}")
        targets.append((name, "" if file == "-" else file))
    if [file for _, file in targets].count("") > 1:
        raise UsageError("-o: only one output can be written to stdout; write the others to files with -o FORMAT=FILE")
    return targets


def check(targets: Sequence[tuple[str, str]]) -> None:
    """Raises: UsageError for a file that is a link out of the repository."""
    for _, file in targets:
        if file and leads_out(file):
            raise UsageError(f"-o: {file} is a symbolic link to a file outside the repository; name that file instead")


def write(texts: Sequence[tuple[str, str]]) -> None:
    """Write texts to their files first, then those of stdout, whose file is ""."""
    encoded = [(file, text.encode(errors="replace")) for file, text in texts]
    for file, data in encoded:
        if file:
            replacing.write(file, data)
    write_out(b"".join(data for file, data in encoded if not file))
