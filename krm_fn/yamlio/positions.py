"""The places of the nodes of a text: a tree of spans from the reader's notes. Parts are made when they are read."""

from __future__ import annotations

from bisect import bisect_left

from krm_fn.base.annotations import Any
from krm_fn.base.errors import InputError
from krm_fn.yamlio.events import AliasEvent, YAMLError
from krm_fn.yamlio.layout import line_end
from krm_fn.yamlio.nodes import ALIAS, BLOCK_SCALAR, MAP, NO_ENTRIES, NO_NODES, SEQ, Entry, Node
from krm_fn.yamlio.reader import EventSource, Memo, open_node, read_node
from krm_fn.yamlio.scalars import key_text, resolve_typed
from krm_fn.yamlio.spans import END, FLOW, SHAPE, Spans

UNMARKED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-")  # the characters of nearly all keys


def read_positions(text: str, *, first_entry: bool = False, memo: Memo | None = None) -> Node:
    """The tree of the first document's root node; with `first_entry`, of the first entry of the list that the root is.

    Reads only to the end of that node. The text must have been read before. Raises: YAMLError if it was not.
    """
    source = StreamPart(text, memo=memo)
    source.spans.begin(0)
    read_node(source, open_node(source, first_entry=first_entry))
    return tree(text, source.spans, 0)


def tree(text: str, spans: Spans, item: int) -> Node:
    """The tree of an item's text."""
    first, base = spans.items[2 * item : 2 * item + 2]
    return Tree(text, spans, first, base).node(first)[0]


class StreamPart(EventSource):
    """An event stream of a part of a text. Aliases to anchors outside it are empty maps as values, and no text as keys."""

    def key(self, event: Any) -> Any:
        return (event.anchor,) if event.__class__ is AliasEvent else super().key(event)

    def alias(self, *_: Any) -> Any:
        return {}


class Tree:
    """The common data of the nodes of one tree: the text, and the spans, whose places are `base` larger than the text's.

    The root was noted at number `first`.
    """

    __slots__ = ("base", "first", "spans", "text")

    def __init__(self, text: str, spans: Spans, first: int, base: int) -> None:
        self.text, self.spans, self.first, self.base = text, spans, first, base

    def node(self, at: int) -> tuple[Node, int]:
        """The node with number `at`, and the number after it."""
        kind = self.spans.kinds[at]
        shape = kind & SHAPE
        if shape < MAP:
            return self.leaf(at), at + 1
        end = self.spans.ends[at]
        return (Map if shape == MAP else Seq)(self, self.spans.starts[at] - self.base, at, end, flow=kind != shape), end

    def leaf(self, at: int) -> Leaf:
        text, spans, base = self.text, self.spans, self.base
        kind, start, end = spans.kinds[at], spans.starts[at] - base, spans.ends[at] - base
        if kind & SHAPE == BLOCK_SCALAR:
            return Leaf(BLOCK_SCALAR, start, _block_end(text, start, end, blanks=kind != BLOCK_SCALAR))
        if start == end and at > self.first and text[start - 1] not in ":-":
            # A `? key` without a value: libyaml places it after the comments that follow.
            start = end = len(text[: spans.ends[at - 1] - base].rstrip())
        return Leaf(kind, start, end)

    def key(self, start: int, end: int) -> Any:
        """The value of the key that is written there; no text for an alias, and if only the complete input shows the value."""
        written, known = self.text[start:end], self.spans.names
        if written not in known:
            known[written] = _read_key(written)
        return known[written]

    def reach(self, at: int) -> tuple[int, int]:
        """The span that edits of the node with number `at` change: the node, and after a block the text up to the next one."""
        spans = self.spans
        start, end = spans.starts[at] - self.base, spans.ends[at]
        if spans.kinds[at] & SHAPE < MAP:
            return start, end - self.base
        if spans.kinds[at] & FLOW:
            return start, spans.ends[end - 1] - self.base
        return start - 1, spans.starts[end] - self.base if end < len(spans.starts) else len(self.text)


class Leaf(Node):
    """A node without children."""

    __slots__ = ()
    flow = simple = False
    entries = NO_ENTRIES
    nodes = NO_NODES

    def __init__(self, kind: int, start: int, end: int) -> None:
        self.kind, self.start, self.end = kind, start, end


class Collection(Node):
    """A map or list with number `at`. `last` is the number after its content, `held` the part of it that was read."""

    __slots__ = ("at", "held", "last", "tree")

    def __init__(self, tree: Tree, start: int, at: int, end: int, *, flow: bool) -> None:
        self.tree, self.start, self.at, self.last, self.flow = tree, start, at, end - flow, flow
        self.held: Any = None

    @property
    def end(self) -> int:  # type: ignore[override]
        at = self.last if self.flow else self.last - 1
        if self.tree.spans.kinds[at] == END:
            return self.tree.spans.ends[at] - self.tree.base
        return self.tree.leaf(at).end  # the node that was noted last is inside all nodes that end with it

    @property
    def simple(self) -> bool:  # type: ignore[override]
        return not ("+" in self.tree.text and self.keeps_lines())

    def keeps_lines(self) -> bool:
        """True if it has a block scalar with `+` in its header."""
        spans, text, base = self.tree.spans, self.tree.text, self.tree.base
        inside = range(self.at, self.last)
        starts = [spans.starts[at] - base for at in inside if spans.kinds[at] & SHAPE == BLOCK_SCALAR]
        return any("+" in text[start : line_end(text, start)] for start in starts)

    @property
    def guarded(self) -> list[tuple[int, int]]:  # type: ignore[override]
        spans = self.tree.spans
        if spans.kinds.find(ALIAS, self.at, self.last) < 0:
            return []
        first, last = (bisect_left(spans.anchored, at) for at in (self.at, self.last))
        return [self.tree.reach(at) for at in spans.anchored[first:last]]


class Map(Collection):
    """A map."""

    __slots__ = ()
    kind = MAP
    nodes = NO_NODES

    @property
    def entries(self) -> dict[Any, Entry]:  # type: ignore[override]
        if self.held is None:
            self.held = found = {}
            tree, spans, base, at = self.tree, self.tree.spans, self.tree.base, self.at + 1
            while at < self.last:
                start, end = spans.starts[at] - base, spans.ends[at] - base
                node, at = tree.node(at + 1)
                found[tree.key(start, end)] = start, end, node
        return self.held  # type: ignore[no-any-return]


class Seq(Collection):
    """A list."""

    __slots__ = ("ahead",)
    kind = SEQ
    entries = NO_ENTRIES

    @property
    def nodes(self) -> list[Node]:  # type: ignore[override]
        return self.first(self.last)

    def nth(self, index: int) -> Node | None:
        known = self.first(index + 1)
        return known[index] if 0 <= index < len(known) else None

    def first(self, count: int) -> list[Node]:
        """The first nodes: at least `count`, if there are so many. Often only a few nodes of a long list are read."""
        if self.held is None:
            self.held, self.ahead = [], self.at + 1
        while len(self.held) < count and self.ahead < self.last:
            node, self.ahead = self.tree.node(self.ahead)
            self.held.append(node)
        return self.held  # type: ignore[no-any-return]


def _read_key(written: str) -> Any:
    if written.removeprefix("-")[:1].isalnum() and UNMARKED.issuperset(written):
        return key_text(resolve_typed(written))
    source = StreamPart(f" {written}: 0")
    try:
        return source.key(open_node(source, first_entry=True))
    except (YAMLError, InputError):
        return (written,)


def _block_end(text: str, start: int, end: int, *, blanks: bool) -> int:
    """The end of a block scalar without its last line break and the empty lines that do not belong to it."""
    header = text[start : line_end(text, start)].split("#", 1)[0]
    if "+" in header or blanks:
        if text[end - 1 : end] == "\n":
            end -= 1
        return end - 1 if text[end - 1 : end] == "\r" else end
    return start + len(text[start:end].rstrip())
