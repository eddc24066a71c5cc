"""A ResourceList in plain form: reading and writing it."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.errors import InputError
from krm_fn.yamlio.emit import Style
from krm_fn.yamlio.plain.changes import respelled
from krm_fn.yamlio.plain.items import ODD, read_item, read_region
from krm_fn.yamlio.plain.lines import Layout, NotPlain, read
from krm_fn.yamlio.plain.split import check, cut, regions
from krm_fn.yamlio.texts import ListText, Piece, Pieces, Top

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.yamlio.nodes import Node


def read_plain_list(data: bytes, file: str) -> ListText | None:
    """The text of a ResourceList in plain form; None if it is not in plain form, or may not be."""
    try:
        return _read(data, file)
    except (NotPlain, InputError):  # libyaml words the error and knows the line
        return None


def _read(data: bytes, file: str) -> ListText:
    found = regions(data)
    check(data)
    head: dict[str, Any] = {}
    items: list[Any] = []
    keys = []
    layouts: list[Layout | None] = []
    pieces = Pieces([], [], 0)
    for key, start, end in found:
        place = start + len(key) + 1
        if key == "items":
            starts = cut(data, start, end)
            line = data.count(b"\n", 0, starts[0]) + 1
            lines = []
            for begin, stop in zip(starts, [*starts[1:], end], strict=True):
                text = data[begin:stop].decode()
                value, layout = read_item(text)
                items.append(value)
                layouts.append(layout)
                lines.append(line)
                line += text.count("\n")
            pieces = Pieces(starts, lines, end)
            place = starts[0]
        else:
            head |= read_region(data[start:end].decode())
        keys.append((key, start, start + len(key), place, end))
    if head.get("kind") != "ResourceList" or not items:
        raise NotPlain
    top = Top(flow=False, column=0, keys=tuple(keys), end=len(data), form="block")
    return PlainList(data, file, items, pieces, head=head, top=top, layouts=layouts)


class PlainList(ListText):
    """The text of a list in plain form, with the layout of each item."""

    def __init__(self, *args: Any, layouts: list[Layout | None], **named: Any) -> None:
        super().__init__(*args, **named)
        self.layouts = layouts

    def parse(self, text: str, piece: Piece) -> Node:
        try:
            read(text)
        except NotPlain:
            return super().parse(text, piece)
        from krm_fn.yamlio.plain.tree import tree  # most changes need no tree

        return tree(text)

    def tree_of(self, item: int, text: str) -> Node:
        from krm_fn.yamlio.plain.tree import tree

        return super().parse(text, self.pieces[item]) if self.layouts[item] == ODD else tree(text)

    def respelled(self, item: int, new: Any, *, expand: bool = False) -> str:
        layout = self.layouts[item]
        if layout and layout != ODD and not (expand or self.successors or self.quotes):
            try:
                return respelled(self.text_of(item), self.items[item], new, Style(step=layout[0], dash=layout[1]))
            except NotPlain:
                pass
        return super().respelled(item, new, expand=expand)
