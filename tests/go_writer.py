"""YAML as Go's writer lays it out, which kustomize and kpt write with: what the readers meet most."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from krm_fn.yamlio.emit import quoted, scalar_text
from krm_fn.yamlio.scalars import resolve

# What Go's writer quotes though YAML 1.2 readers need no quotes: former booleans, numbers with colons, dates, a merge.
FORMER = re.compile(
    r"[yYnN]|[yY]es|YES|[nN]o|NO|[oO]n|ON|[oO]ff|OFF|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|\d{4}-\d\d?-.*|<<"
)
INDICATORS = ("- ", "? ", ": ", "---", "...", *"#,[]{}&*!|>'\"%@` ")
NOT_PLAIN = re.compile(r": | #|[ :]$|^[-?:]$")


def entries(value: dict[str, Any] | list[Any], margin: str) -> Iterator[str]:
    """The lines of a map or list, by the rules of Go's writer."""
    for key, item in value.items() if isinstance(value, dict) else ((None, item) for item in value):
        head = "-" if key is None else f"{scalar(key, margin)}:"
        if not (item and isinstance(item, dict | list)):
            yield f"{margin}{head} {scalar(item, margin)}"
        elif key is None:
            first, *rest = entries(item, margin + "  ")
            yield f"{margin}- {first.removeprefix(margin + '  ')}"
            yield from rest
        else:
            yield margin + head
            yield from entries(item, margin if isinstance(item, list) else margin + "  ")


def scalar(value: Any, margin: str) -> str:
    if not isinstance(value, str):
        return scalar_text(value)
    if not value.replace("\n", "").isprintable() or value.endswith(" "):
        return quoted(value)
    if "\n" in value:
        indent = "2" if value[0] in " \n" else ""
        chomp = "+" if value.endswith("\n\n") else "" if value.endswith("\n") else "-"
        lines = value.removesuffix("\n").split("\n")
        return "\n".join([f"|{indent}{chomp}", *(f"{margin}  {line}" if line else "" for line in lines)])
    if not is_text(value) or FORMER.fullmatch(value):
        return quoted(value)
    if value.startswith(INDICATORS) or NOT_PLAIN.search(value):
        return "'" + value.replace("'", "''") + "'"
    return value


def is_text(value: str) -> bool:
    try:
        return isinstance(resolve(value), str)
    except ValueError:
        return False
