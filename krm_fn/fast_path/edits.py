"""The changes of the items of a listing. For most items only the changed lines are kept, until the list is written."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator, Sequence
from krm_fn.base.objects import Object
from krm_fn.fast_path.listing import Listing, Unreadable
from krm_fn.fast_path.shapes import Changes
from krm_fn.yamlio.emit import Style
from krm_fn.yamlio.plain import changes as of_lines
from krm_fn.yamlio.plain.items import ODD
from krm_fn.yamlio.plain.lines import Layout, NotPlain

PLACEHOLDER = b"- items: of the list\n"
WRITTEN_AT_ONCE = 1 << 16  # bytes


class ListEdits:
    """The changes so far, by the number of the item: of its lines, or its complete text."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        self._changed: dict[int, Changes | str] = {}
        self._same: dict[Changes, Changes] = {}

    def of(self, number: int) -> Changes | None:
        """The changes of an item's lines; empty if it does not change, None if they are not known line by line."""
        found = self._changed.get(number, ())
        return None if isinstance(found, str) else found

    def add(self, number: int, changes: Changes) -> None:
        """Add changes of an item's lines."""
        if changes:
            self._changed[number] = self._same.setdefault(changes, changes)

    def turn(self, number: int, old: Object, new: Object, layout: Layout | None) -> None:
        """Change an item from `old` to `new`. Raises: Unreadable if only libyaml can do it."""
        if not self.turn_as(number, old, new, layout):
            self._changed[number] = _written(self._listing.text(number), old, new, layout)

    def turn_as(self, number: int, old: Object, new: Any, layout: Layout | None) -> bool:
        """Change an item in the same way as `old`, which has its layout, becomes `new`. False if its lines cannot show how."""
        if layout is None or layout == ODD:
            return False
        try:
            self.add(number, of_lines.Changes(self._listing.text(number), Style(step=layout[0], dash=layout[1])).flat(old, new))
        except NotPlain:
            return False
        return True

    def written(self, results: Sequence[Any] = ()) -> Iterator[bytes]:
        """The list with these changes, in pieces. `results` replace those of the input, if there are any."""
        listing = self._listing
        before, behind = listing.data[: listing.starts[0]], listing.data[listing.end :]
        if results:
            before, _, behind = self._frame(results).partition(PLACEHOLDER)
        yield before
        yield from self._items()
        yield behind

    def _items(self) -> Iterator[bytes]:
        listing, view = self._listing, memoryview(self._listing.data)
        out: list[str] = []
        size, begin = 0, listing.starts[0]
        for number in sorted(self._changed):
            if begin < listing.starts[number] or size >= WRITTEN_AT_ONCE:
                yield "".join(out).encode()
                out, size = [], 0
                yield view[begin : listing.starts[number]]  # type: ignore[misc]
            changed = self._changed[number]
            out.append(changed if isinstance(changed, str) else of_lines.applied(listing.text(number), changed))
            size += len(out[-1])
            begin = listing.starts[number + 1]
        yield "".join(out).encode()
        yield view[begin : listing.starts[-1]]  # type: ignore[misc]

    def _frame(self, results: Sequence[Any]) -> bytes:
        """The text around the items of the list, written with a placeholder as the only item."""
        from krm_fn.yamlio import read_resource_list, write_resource_list

        data = self._listing.data
        frame = read_resource_list(data[: self._listing.start] + b"items:\n" + PLACEHOLDER + data[self._listing.end :])
        return write_resource_list(frame, frame.items, results)


def _written(text: str, old: Object, new: Object, layout: Layout | None) -> str:
    """The text of an item, changed by the general writer. Raises: Unreadable if it can't be changed in place."""
    from krm_fn.yamlio.layout import Unspliceable
    from krm_fn.yamlio.plain.text import PlainList
    from krm_fn.yamlio.texts import ENTRY, Piece, Top

    data = text.encode()
    piece = Piece(start=0, end=len(data), line=1, form=ENTRY)
    top = Top(flow=False, column=0, keys=(("items", 0, 0, 0, 0),), end=len(data), form="block")
    try:
        return PlainList(data, "", [old], [piece], head={}, top=top, layouts=[layout]).respelled(0, new)
    except Unspliceable:
        raise Unreadable from None
