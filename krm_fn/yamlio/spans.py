"""Where the nodes of a text stand, as it is noted while the text is read."""

from __future__ import annotations

from array import array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What `Spans` notes: a kind of `nodes`, which is what SHAPE leaves of it. FLOW marks a collection in brackets, of which the END
# is noted as well, and BLANKS a block scalar whose text ends in blanks.
END = 5
SHAPE, FLOW, BLANKS = 7, 8, 8


class Spans:
    """Where all nodes stand, keys as well: a kind, a start and an end each, in the order of their events.

    Of a collection, `ends` has the number of the node behind it. `anchored` are the numbers of the nodes that have an anchor.
    `items` has two numbers an item: of its node, and of the character at which its text starts.
    """

    __slots__ = ("anchored", "ends", "items", "kinds", "names", "starts")

    def __init__(self) -> None:
        self.kinds, self.starts, self.ends = bytearray(), array("I"), array("I")
        self.anchored: list[int] = []
        self.items = array("I")
        self.names: dict[str, Any] = {}  # what keys read as, by how they are written; see `positions`

    def begin(self, start: int) -> None:
        """Note that the next node is an item's, whose text starts there."""
        self.items.extend((len(self.kinds), start))

    def note(self, kind: int, event: Any) -> None:
        """Note the node, or the end of one in brackets, that the event tells of."""
        self.kinds.append(kind)
        self.starts.append(event.start_mark.index)
        self.ends.append(event.end_mark.index)
