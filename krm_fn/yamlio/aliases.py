"""Aliases to anchors that change or are removed. An item with such an alias is written without it, to keep its value."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Sequence
from krm_fn.yamlio.compare import same
from krm_fn.yamlio.reader import read_piece
from krm_fn.yamlio.texts import ENTRY, ListText


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
