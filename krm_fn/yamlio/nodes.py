"""The tree of spans of a plain value. It is made only for items that change.

Spans are indexes into the text. A node's `end` is the end of its last character: a block scalar's trailing empty lines,
comments and line breaks are outside, so that new lines can follow the line on which a node ends.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Sequence

LEAF, BLOCK_SCALAR, ALIAS, MAP, SEQ = range(5)

MERGE: Any = object()  # the key `<<`

NO_ENTRIES: dict[Any, Entry] = {}
NO_NODES: tuple[Node, ...] = ()


class Node:
    """One node. `start` includes its anchor and tag; `entries` are by key, those of a merge under MERGE.

    On a root, `simple` says that no node in the tree keeps empty lines (`|+`). `guarded` are the spans of nodes that aliases in
    the tree may refer to.
    """

    __slots__ = ("end", "entries", "flow", "kind", "nodes", "simple", "start")
    guarded: Sequence[tuple[int, int]] = ()

    def __init__(self, kind: int, start: int, end: int) -> None:
        self.kind, self.start, self.end = kind, start, end
        self.flow = self.simple = False
        self.entries: dict[Any, Entry] = NO_ENTRIES
        self.nodes: Sequence[Node] = NO_NODES

    def nth(self, index: int) -> Node | None:
        """The node of a list at this index; None if the list is shorter."""
        return self.nodes[index] if 0 <= index < len(self.nodes) else None


Entry = tuple[int, int, Node]  # start and end of the key, and the value
