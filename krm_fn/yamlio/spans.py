"""The places of the nodes of a text. The reader notes them while it reads the text."""

from __future__ import annotations

from array import array

from krm_fn.base.annotations import Any

# The kinds that `Spans` notes. `kind & SHAPE` is a kind of `nodes`. FLOW marks a collection in brackets, whose END is noted as
# well. BLANKS marks a block scalar whose text ends in blanks.
END = 5
SHAPE, FLOW, BLANKS = 7, 8, 8


class Spans:
    """The places of all nodes, including keys: a kind, a start and an end of each, in the order of their events.

    For a collection, `ends` has the number of the node after it. `anchored` are the numbers of the nodes that have an anchor.
    `items` has two numbers per item: of its node, and of the character at which its text starts.
    """

    __slots__ = ("anchored", "ends", "items", "kinds", "names", "starts")

    def __init__(self) -> None:
        self.kinds, self.starts, self.ends = bytearray(), array("I"), array("I")
        self.anchored: list[int] = []
        self.items = array("I")
        self.names: dict[str, Any] = {}  # the values of keys, by their written form; see `positions`

    def begin(self, start: int) -> None:
        """Note that the next node is an item, whose text starts at `start`."""
        self.items.extend((len(self.kinds), start))

    def note(self, kind: int, event: Any) -> None:
        """Note the node of the event, or the end of a node in brackets."""
        self.kinds.append(kind)
        self.starts.append(event.start_mark.index)
        self.ends.append(event.end_mark.index)
