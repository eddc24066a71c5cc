"""How names and sentences are written in a format, so that nothing in them is more than text."""

from __future__ import annotations

from collections.abc import Callable

from krm_fn.base import markdown
from krm_fn.base.console import one_line, printable
from krm_fn.base.value import Value


class Pen(Value):
    """`name` writes a name or a path, `prose` a sentence or a value that may have anything in it."""

    name: Callable[[str], str]
    prose: Callable[[str], str]


def _plain(text: str) -> str:
    return printable(one_line(text))


TEXT = Pen(name=_plain, prose=_plain)
MARKDOWN = Pen(name=markdown.code, prose=markdown.prose)
