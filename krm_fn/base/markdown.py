"""Text of users in Markdown: it stays text, whatever is in it. All that writes Markdown uses this module."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from krm_fn.base.console import one_line, printable
from krm_fn.base.expressions import expression

# What GitHub and GitLab make more than text of: markup, mentions, references, addresses, commits, emoji.
SPECIAL = expression(r"""[^\w→\xd7.,;:()'"/=+?-]|_|//|www\.|(GH|CVE|CWE)-\d|[0-9a-f]{7}|:\w+:|\bmailto:""", re.IGNORECASE)
# A first word that makes a list, a heading or a line of what follows.
START = expression(r"[-+=]+|\d+[.)]")


def prose(text: str) -> str:
    """The text as prose, in which words that could be more than text are code: there is no markup, mention or link in it."""
    words = one_line(printable(text)).split(" ")
    special = [bool(SPECIAL.search(word) or (not number and START.fullmatch(word))) for number, word in enumerate(words)]
    runs = groupby(zip(special, words, strict=True), lambda pair: pair[0])
    return " ".join((code if is_special else str)(" ".join(word for _, word in run)) for is_special, run in runs)


def code(text: str) -> str:
    """The text as a code span, "" where there is none. Nothing in it ends the span or the cell of the table."""
    text = printable(text).replace("`", "\\x60").replace("|", "\\x7c")
    return f"`{one_line(text)}`" if text.strip() else ""


def fitting(entries: Sequence[str], limit: int, rest: str) -> list[str]:
    """As many lines as fit into so many letters, and, in the format `rest`, how many are left out."""
    kept: list[str] = []
    for entry in entries:
        limit -= len(entry) + 1
        if limit < 0:
            return [*kept, rest.format(len(entries) - len(kept))]
        kept.append(entry)
    return kept
