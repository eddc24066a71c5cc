"""JSON of what others wrote, in printable characters alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from krm_fn.base.console import decoded

if TYPE_CHECKING:
    from typing import Any


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
