"""Writes a ResourceList as new text. Few lists need it: those whose own text cannot be changed in place.

In such a list, a merge or an alias holds the items, a question mark is before a key, or a change meets an anchor. The items
keep their own texts, with comments, if the new text can contain these. An item with an alias to an anchor that changes or is
removed is written without it, to keep its value.
"""

from __future__ import annotations

from contextlib import suppress

from krm_fn.base.annotations import Any, Mapping, Sequence
from krm_fn.base.errors import InputError
from krm_fn.yamlio.compare import same
from krm_fn.yamlio.emit import Style, dump, entry, flow
from krm_fn.yamlio.layout import Unspliceable
from krm_fn.yamlio.order import in_order
from krm_fn.yamlio.reader import read_piece
from krm_fn.yamlio.texts import ENTRY, ListText

TYPE_CHECKING = False

if TYPE_CHECKING:
    from krm_fn.yamlio.texts import ListText


HEAD = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList"}
LAST = ("functionConfig", "results")


def rewritten(
    text: ListText,
    items: Sequence[Any],
    results: Sequence[Any],
    changed: Mapping[int, bytes] | None,
    places: Sequence[int] = (),
) -> bytes:
    """The list with these items and results, its keys in the input's order.

    `places` has, for each added item, the number of the item that must follow it. `changed` has the new texts of items
    by number, None where an item has none; then all items get new text.
    """
    head = {key: value for key, value in (text.head if text.top else HEAD).items() if not (results and key == "results")}
    before = {key: value for key, value in head.items() if key not in LAST}
    after = {key: head[key] for key in LAST if key in head} | ({"results": list(results)} if results else {})
    wanted = [item for item in in_order(items, places, len(text.items)) if item is not None]
    if text.json:
        return (flow({**before, "items": wanted, **after}, Style(), "", json=True) + "\n").encode()
    if changed is not None and wanted and text.has_own_texts():
        with suppress(Unspliceable):
            middle = b"items:" + text.newline.encode() + _own_texts(text, items, changed, places)
            out = _dumped(text, before) + middle + _dumped(text, after)
            if _reads_as(out, wanted, {**before, **after}):
                return out
    return _dumped(text, {**before, "items": wanted, **after})


def _own_texts(text: ListText, items: Sequence[Any], changed: Mapping[int, bytes], places: Sequence[int]) -> bytes:
    """The lines of the items, with added ones in the same column; without aliases to anchors around the items.

    Raises: Unspliceable.
    """
    count = len(text.items)
    linked = {user for home, user, *_ in text.crossing if home < 0}
    texts = [
        b""
        if items[number] is None
        else text.respelled(number, items[number], expand=True).encode()
        if number in linked
        else changed.get(number) or text.text_of(number).encode()
        for number in range(min(count, len(items)))
    ]
    first = text.text_of(0)
    column = len(first) - len(first.lstrip(" "))
    added = [
        b"" if item is None else text.lines(entry(" " * column + "-", item, column, Style())).encode() for item in items[count:]
    ]
    return b"".join(in_order([*texts, *added], places, len(texts)))


def _dumped(text: ListText, value: dict[str, Any]) -> bytes:
    return dump(value).replace("\n", text.newline).encode() if value else b""


def _reads_as(out: bytes, items: list[Any], head: dict[str, Any]) -> bool:
    """True if the items' texts have the same values in the list as before."""
    from krm_fn.yamlio.documents import read_list

    try:
        back = read_list(out)
    except InputError:
        return False
    return same(back.items, items) and same(back.head, head)


class Aliases:
    """The aliases of a list's items to anchors in others. `changed` has the new texts of items. Items in `gone` are removed."""

    def __init__(self, text: ListText, items: Sequence[Any], gone: set[int], changed: dict[int, bytes]) -> None:
        self.text, self.items, self.gone, self.changed = text, items, gone, changed
        self.read: dict[int, tuple[bytes, dict[str, Any]]] = {}  # by item: its text, and the values of the anchors in it

    def write_out(self) -> bool:
        """Write out the aliases to anchors that are removed or change, and add their items to `changed`.

        True if a part of the list outside the items has such an alias.
        """
        expanded, before = set(self.gone), -1
        while len(expanded) > before:
            before = len(expanded)
            for home, user, name, value in self.text.crossing:
                if user not in expanded and not self.keeps(home, name, value):
                    if user >= 0:
                        self.changed[user] = self.text.respelled(user, self.items[user], expand=True).encode()
                    expanded.add(user)
        return any(user < 0 for user in expanded)

    def keeps(self, home: int, name: str, value: Any) -> bool:
        """True if the anchor in this item still has this value."""
        if home in self.gone or home not in self.changed:
            return home not in self.gone
        anchors = self.anchors_in(home)
        return name in anchors and same(anchors[name], value)

    def anchors_in(self, home: int) -> dict[str, Any]:
        """The values of the anchors in the new text of an item."""
        text = self.changed[home]
        if home not in self.read or self.read[home][0] is not text:
            first_entry, outer = self.text.pieces[home].form == ENTRY, self.text.outer.get(home)
            self.read[home] = text, read_piece(text.decode(), first_entry=first_entry, anchors=outer, memo=self.text.memo)[1]
        return self.read[home][1]
