"""A ResourceList in plain form: reading and writing it.

Its parts are items, and top-level keys with their values. libyaml reads the parts that are not plain.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.bundle import LateEntry, value_of
from krm_fn.base.errors import InputError
from krm_fn.yamlio.emit import Style
from krm_fn.yamlio.plain.changes import Changes, applied, respelled
from krm_fn.yamlio.plain.characters import NotPlain, may_have_read
from krm_fn.yamlio.plain.lines import Layout, read, read_laid_out
from krm_fn.yamlio.plain.split import check, check_characters, cut, regions
from krm_fn.yamlio.texts import ListText, Piece, Pieces, Top

TYPE_CHECKING = False

if TYPE_CHECKING:
    from krm_fn.yamlio.nodes import Node


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
        entries = _by_libyaml(text)
    if not isinstance(entries, list) or len(entries) != 1:
        raise NotPlain
    return entries[0], layout


def _by_libyaml(text: str) -> Any:
    """The value of a text that is read alone. Raises: NotPlain and InputError where that can't be."""
    if len(text) > LARGEST_ODD or any(mark in text for mark in MARKS):
        raise NotPlain
    check_characters(text)
    return by_libyaml(text)


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
        value = _by_libyaml(text)
    if not isinstance(value, dict) or len(value) != 1:
        raise NotPlain
    return value


def by_libyaml(text: str) -> Any:
    """The value of a text that is not plain. Raises: NotPlain if it is not one document."""
    from krm_fn.yamlio.documents import read_single

    return read_single(text)


RECENT = 100  # values of late items that are kept
NONE = ("", "\n")  # no item has such a kind


def read_plain_list(data: bytes, file: str, late: tuple[str, str] = NONE) -> PlainList | None:
    """The text of a ResourceList in plain form; None if it is not in plain form, or may not be.

    Items that have this API group and kind in their first two lines are late.
    """
    try:
        return _read(data, file, late)
    except (NotPlain, InputError):  # libyaml words the error and knows the line
        return None


def _read(data: bytes, file: str, late: tuple[str, str]) -> PlainList:
    found = regions(data)
    check(data)
    head: dict[str, Any] = {}
    keys = []
    form, items = "absent", Items([], [], [])
    for key, start, end in found:
        place, stop = start + len(key) + 1, end
        if key != "items":
            head |= read_region(data[start:end].decode())
        elif data[start:end].rstrip(b"\n") == b"items: []":
            form, place, stop = "empty", place + 1, start + len(b"items: []")
        else:
            form, items = "block", _items(data, start, end, late)
            place = items.pieces[0].start
        keys.append((key, start, start + len(key), place, stop))
    if head.get("kind") != "ResourceList" or form == "absent":
        raise NotPlain
    top = Top(flow=False, column=0, keys=tuple(keys), end=len(data), form=form)
    return PlainList(data, file, items.values, items.pieces, head=head, top=top, layouts=items.layouts)


class Items:
    """The items of a list: their values, or types of late ones, their layouts, and their pieces."""

    __slots__ = ("layouts", "pieces", "values")

    def __init__(self, values: list[Any], layouts: list[Layout | None], pieces: Pieces | list[Piece]) -> None:
        self.values, self.layouts, self.pieces = values, layouts, pieces


def _items(data: bytes, start: int, end: int, late: tuple[str, str]) -> Items:
    """The items in the region of `items`. Raises: NotPlain, InputError."""
    starts = cut(data, start, end)
    line = data.count(b"\n", 0, starts[0]) + 1
    lines: list[int] = []
    found = Items([], [], Pieces(starts, lines, end))
    for begin, stop in zip(starts, [*starts[1:], end], strict=True):
        text = data[begin:stop].decode()
        type_of_item = _type_of(text, late) if late[1] in text else None
        value, layout = (type_of_item, None) if type_of_item else read_item(text)
        found.values.append(value)
        found.layouts.append(layout)
        lines.append(line)
        line += text.count("\n")
    return found


def _type_of(text: str, late: tuple[str, str]) -> tuple[str, str] | None:
    """The apiVersion and kind in the first two lines of an item, if these are the late ones. Its value may differ."""
    first, second, *_ = text.split("\n", 2)
    api_version, kind = (second, first) if first.startswith("- k") else (first, second)
    group, _, version = api_version[2:].removeprefix("apiVersion: ").partition("/")
    return (f"{group}/{version}", late[1]) if (group, kind[2:]) == (late[0], f"kind: {late[1]}") and version.isalnum() else None


class PlainList(ListText):
    """The text of a list in plain form, with the layout of each item.

    A late item is read when it is used, and `items` has an entry of the bundle in place of its value. `written` has what
    `write` made of late items: changes of lines, or new text.
    """

    def __init__(self, *args: Any, layouts: list[Layout | None], **named: Any) -> None:
        super().__init__(*args, **named)
        self.layouts = layouts
        self.written: dict[int, tuple[Any, ...] | str] = {}
        self._recent: dict[int, tuple[Any, str]] = {}
        for number, item in enumerate(self.items):
            if isinstance(item, tuple):  # the type of a late item
                self.items[number] = LateEntry(number, item, self.late_value, self.may_have)

    def late_value(self, number: int) -> Any:
        """The value of a late item; the last ones are kept. Raises: NotPlain."""
        known = self._recent.get(number)
        if known is None:
            text = self.text_of(number)
            try:
                value, self.layouts[number] = read_item(text)
            except InputError:
                raise NotPlain from None  # libyaml words the error and knows the line
            if not isinstance(value, dict) or (value.get("apiVersion"), value.get("kind")) != self.items[number].type:
                raise NotPlain
            if len(self._recent) >= RECENT:
                self._recent.clear()
            known = self._recent[number] = value, text
        return known[0]

    def may_have(self, number: int, keys: frozenset[str]) -> bool:
        """False if a late item surely has none of these keys. Raises: NotPlain."""
        self.late_value(number)
        return self.layouts[number] == ODD or may_have_read(keys)

    def read_late(self) -> None:
        """Read all late items now. Raises: NotPlain."""
        self.items = [value_of(item) for item in self.items]

    def value(self, item: int) -> Any:
        return value_of(self.items[item])

    def write(self, number: int, new: Any) -> None:
        """Note the new value of a late item."""
        old, layout = self.late_value(number), self.layouts[number]
        if layout and layout != ODD:
            try:
                changed = Changes(self._recent[number][1], Style(step=layout[0], dash=layout[1])).flat(old, new)
            except NotPlain:
                pass
            else:
                self.written[number] = changed
                return
        self.written[number] = super().respelled(number, new)

    def rewritten(self, number: int) -> str:
        """The new text of an item that was written."""
        found = self.written[number]
        return found if isinstance(found, str) else applied(self.text_of(number), found)

    def parse(self, text: str, piece: Piece) -> Node:
        from krm_fn.yamlio.plain.tree import tree  # most changes need no tree

        try:
            return tree(text)
        except NotPlain:
            return super().parse(text, piece)

    def tree_of(self, item: int, text: str) -> Node:
        return super().parse(text, self.pieces[item]) if self.layouts[item] == ODD else self.parse(text, self.pieces[item])

    def respelled(self, item: int, new: Any, *, expand: bool = False) -> str:
        old, layout = self.value(item), self.layouts[item]
        if layout and layout != ODD and not (expand or self.successors or self.quotes):
            try:
                return respelled(self.text_of(item), old, new, Style(step=layout[0], dash=layout[1]))
            except NotPlain:
                pass
        return super().respelled(item, new, expand=expand)
