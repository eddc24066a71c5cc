"""Text in Markdown. What users wrote stays text, whatever is in it."""

from __future__ import annotations

import re

SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|&~-])")


def plain(text: str) -> str:
    """Text that Markdown shows as it is, in one line."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """Text in the type of code, in one line."""
    line = " ".join(text.split())
    marks = "`" * (max((len(each) for each in re.findall("`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{marks}{pad}{line}{pad}{marks}"
