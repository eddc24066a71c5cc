"""A ResourceList in plain form: what it holds, and how it is written back."""

from __future__ import annotations

from krm_fn.errors import InputError
from krm_fn.yamlio.plain.lines import NotPlain, read
from krm_fn.yamlio.plain.split import check, cut, regions
from krm_fn.yamlio.plain.tree import tree
from krm_fn.yamlio.texts import ENTRY, ListText, Piece, Top

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.yamlio.nodes import Node


def read_plain_list(data: bytes, file: str) -> ListText | None:
    """The text of a ResourceList in plain form, None where it isn't one, or may be not."""
    try:
        return _read(data, file)
    except (NotPlain, InputError):  # libyaml words the error, and knows the line
        return None


def _read(data: bytes, file: str) -> ListText:
    found = regions(data)
    check(data)
    head: dict[str, Any] = {}
    items: list[Any] = []
    pieces: list[Piece] = []
    keys = []
    odd: set[int] = set()
    for key, start, end in found:
        value = start + len(key) + 1
        if key == "items":
            starts = cut(data, start, end)
            line = data.count(b"\n", 0, starts[0]) + 1
            for begin, stop in zip(starts, [*starts[1:], end], strict=True):
                text = data[begin:stop].decode()
                items.append(_item(text, len(items), odd))
                pieces.append(Piece(start=begin, end=stop, line=line, form=ENTRY))
                line += text.count("\n")
            value = starts[0]
        else:
            head |= _region(data[start:end].decode())
        keys.append((key, start, start + len(key), value, end))
    if head.get("kind") != "ResourceList" or not items:
        raise NotPlain
    top = Top(flow=False, column=0, keys=tuple(keys), end=len(data), form="block")
    return PlainList(data, file, items, pieces, head=head, top=top, odd=frozenset(odd))


def _item(text: str, number: int, odd: set[int]) -> Any:
    """The value of an item's text; `number` is added to `odd` where libyaml had to read it.

    Raises: NotPlain, and InputError, where it can't stand alone.
    """
    try:
        entries = read(text)
    except NotPlain:
        if " &" in text or " *" in text or "\n%" in text or "\n..." in text or "\n---" in text:
            raise
        odd.add(number)
        entries = by_libyaml(text)
    if not isinstance(entries, list) or len(entries) != 1:
        raise NotPlain
    return entries[0]


def _region(text: str) -> dict[str, Any]:
    """The value of a top-level key with its lines."""
    try:
        value: dict[str, Any] = read(text)
    except NotPlain:
        if " &" in text or " *" in text:
            raise
        value = by_libyaml(text)
    if not isinstance(value, dict) or len(value) != 1:
        raise NotPlain
    return value


def by_libyaml(text: str) -> Any:
    """The value of a text that is not plain. Raises: NotPlain where it is no single document."""
    from krm_fn.yamlio.documents import read_single

    return read_single(text)


class PlainList(ListText):
    """The text of a list in plain form; `odd` are the items that are not, which libyaml has read."""

    def __init__(self, *args: Any, odd: frozenset[int], **named: Any) -> None:
        super().__init__(*args, **named)
        self.odd = odd

    def parse(self, text: str, piece: Piece) -> Node:
        try:
            read(text)
        except NotPlain:
            return super().parse(text, piece)
        return tree(text)

    def tree_of(self, item: int, text: str) -> Node:
        """The tree of an item's own text."""
        return super().parse(text, self.pieces[item]) if item in self.odd else tree(text)
