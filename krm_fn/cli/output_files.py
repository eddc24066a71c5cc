"""`-o FORMAT[=FILE]`, repeatable: what a command writes, and where; and JSON of what others wrote, in printable characters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from krm_fn.base.console import decoded, write_out
from krm_fn.base.errors import UsageError
from krm_fn.cli import completion, replacing
from krm_fn.config.keys import hint
from krm_fn.sources.files import leads_out

if TYPE_CHECKING:
    from krm_fn.cli.build_flags import Decorator


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
