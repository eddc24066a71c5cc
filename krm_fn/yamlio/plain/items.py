"""The parts of a list in plain form: an item, or a top-level key with its value. libyaml reads the parts that are not plain."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.yamlio.plain.characters import NotPlain
from krm_fn.yamlio.plain.lines import Layout, read, read_laid_out
from krm_fn.yamlio.plain.split import check_characters

ODD = (-1, -1)  # instead of the layout of an item that libyaml had to read
LARGEST_ODD = 1 << 20  # characters of such an item; in a list with a larger one, libyaml also notes the places
MARKS = (" &", " *", "\n%", "\n...", "\n---")  # marks that may have an effect outside the item


def read_item(text: str) -> tuple[Any, Layout | None]:
    """The value of an item's text, and its layout: ODD if libyaml had to read it.

    Raises: NotPlain and InputError if the text cannot be read alone.
    """
    layout: Layout | None = ODD
    given, text = text, _usual(text)
    try:
        entries, layout = read_laid_out(text)
        layout = layout if text is given else ODD
    except NotPlain:
        if len(text) > LARGEST_ODD or any(mark in text for mark in MARKS):
            raise
        check_characters(text)
        entries = by_libyaml(text)
    if not isinstance(entries, list) or len(entries) != 1:
        raise NotPlain
    return entries[0], layout


def _usual(text: str) -> str:
    """The text with usual line breaks, and with a comment behind its dash on a line of its own."""
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
    if text.startswith("- #"):
        comment, line, rest = text.partition("\n  ")
        if line and rest[:1] not in (" ", "#", "\n", "-"):
            return f"  {comment[2:]}\n- {rest}"
    return text


def read_region(text: str) -> dict[str, Any]:
    """The value of a top-level key, from its lines."""
    try:
        value: dict[str, Any] = read(text)
    except NotPlain:
        if len(text) > LARGEST_ODD or any(mark in text for mark in MARKS):
            raise
        check_characters(text)
        value = by_libyaml(text)
    if not isinstance(value, dict) or len(value) != 1:
        raise NotPlain
    return value


def by_libyaml(text: str) -> Any:
    """The value of a text that is not plain. Raises: NotPlain if it is not one document."""
    from krm_fn.yamlio.documents import read_single

    return read_single(text)
