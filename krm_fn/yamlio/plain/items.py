"""The parts of a list in plain form: an item, or a top-level key with its value; what isn't plain in them libyaml reads."""

from __future__ import annotations

from krm_fn.yamlio.plain.lines import NotPlain, read, read_laid_out
from krm_fn.yamlio.plain.split import check_characters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.yamlio.plain.lines import Layout

ODD = (-1, -1)  # in place of the layout of an item that libyaml had to read
LARGEST_ODD = 1 << 20  # characters of such an item; of the list with a larger one libyaml notes the places as it reads
MARKS = (" &", " *", "\n%", "\n...", "\n---")  # of what may reach beyond the item


def read_item(text: str) -> tuple[Any, Layout | None]:
    """The value of an item's text, and how that is laid out: ODD where libyaml had to read it.

    Raises: NotPlain, and InputError, where it can't stand alone.
    """
    layout: Layout | None = ODD
    try:
        entries, layout = read_laid_out(text)
    except NotPlain:
        if len(text) > LARGEST_ODD or any(mark in text for mark in MARKS):
            raise
        check_characters(text)
        entries = by_libyaml(text)
    if not isinstance(entries, list) or len(entries) != 1:
        raise NotPlain
    return entries[0], layout


def read_region(text: str) -> dict[str, Any]:
    """The value of a top-level key with its lines."""
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
    """The value of a text that is not plain. Raises: NotPlain where it is no single document."""
    from krm_fn.yamlio.documents import read_single

    return read_single(text)
