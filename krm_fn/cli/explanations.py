"""Where values come from, as text, Markdown or JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from krm_fn.base.console import printable
from krm_fn.base.wording import show
from krm_fn.explaining.wording import notes_of, source_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from krm_fn.base.objects import Object

COLORS = {"vm": "green", "instancetype": "cyan", "preference": "magenta", "preset": "yellow", "configuration": "yellow"}


def as_json(answer: Object, *, color: bool) -> str:  # noqa: ARG001  all formats are called alike
    """All details."""
    return json.dumps(answer, indent=2) + "\n"


def as_text(answer: Object, *, color: bool) -> str:
    """A block for each VM, a line for each value; what else decides it, and what had no say, stand below."""
    return "\n".join("\n".join(_block(record, color=color)) + "\n" for record in answer["vms"])


def _block(record: Object, *, color: bool) -> Iterator[str]:
    yield printable(_title(record))
    if "error" in record:
        yield f"  {record['error']}"
    for field in record.get("fields", ()):
        source = printable(source_text(field["source"]))
        shown = click.style(source, fg=COLORS.get(field["source"]["from"])) if color else source
        yield f"  {printable(field['path'])}: {printable(show(field['value']))}  <- {shown}"
        for line in notes_of(field):
            yield f"      {printable(line)}"


def _title(record: Object) -> str:
    target = f" of {record['target']}" if record.get("target") else ""
    return f"{record['kind']} {record['namespace']}/{record['name']}{target}, KubeVirt {record['release']}"


def as_markdown(answer: Object, *, color: bool) -> str:  # noqa: ARG001  all formats are called alike
    """A table for each VM."""
    return "\n".join("\n".join(_table(record)) + "\n" for record in answer["vms"])


def _table(record: Object) -> Iterator[str]:
    yield f"### {_cell(_title(record))}"
    yield ""
    if "error" in record:
        yield _cell(record["error"])
        return
    yield "| field | value | from | notes |"
    yield "|---|---|---|---|"
    for field in record["fields"]:
        cells = (field["path"], show(field["value"]), source_text(field["source"]), "; ".join(notes_of(field)))
        yield f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    escaped = "".join(f"\\{letter}" if letter in "\\`*_{}[]<>#|~!&" else letter for letter in printable(text))
    return escaped.replace("\n", " ")


FORMATS: dict[str, Callable[..., str]] = {"text": as_text, "json": as_json, "markdown": as_markdown}
