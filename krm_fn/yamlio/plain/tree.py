"""The tree of spans of a text in plain form. Parts are made when they are read, because a change reads few of the lines."""

from __future__ import annotations

from itertools import accumulate

from krm_fn.yamlio.nodes import BLOCK_SCALAR, LEAF, MAP, SEQ, Entry, Node
from krm_fn.yamlio.plain.characters import NotPlain
from krm_fn.yamlio.plain.lines import EMPTY_LIST, EMPTY_MAP, OPEN, SCALAR, SKIPPED, block_end, is_rich, places, token


def tree(text: str) -> Node:
    """The tree of the root, or of the one entry if the root is a list. Raises: NotPlain if only libyaml knows all places."""
    if is_rich(text):
        raise NotPlain
    lines = Lines(text)
    at = lines.next_content(0, len(lines.texts) - 1)
    indent, dash, *_ = token(lines.texts[at])
    root: Node = Block(lines, MAP, at, len(lines.texts) - 1, indent + 2 if dash else indent)
    if dash and token(lines.texts[at])[2] is None:
        root = Block(lines, SEQ, at, len(lines.texts) - 1, indent).nodes[0]
    root.simple = True
    return root


class Lines:
    """The lines of a text, with their starts and their indentation."""

    __slots__ = ("indents", "starts", "texts")

    def __init__(self, text: str) -> None:
        self.texts = texts = text.split("\n")
        self.starts = list(accumulate([len(line) + 1 for line in texts], initial=0))
        self.indents = [len(line) - len(line.lstrip(" ")) for line in texts]

    def next_content(self, at: int, end: int) -> int:
        """The first line from `at` on that is no comment and not empty; `end` if there is none."""
        while at < end and token(self.texts[at])[4] == SKIPPED:
            at += 1
        return at

    def entry_lines(self, first: int, end: int, column: int, *, dash: bool) -> list[int]:
        """The numbers of the lines before `end` on which an entry of the collection in `column` starts; `first` is one."""
        indents, texts = self.indents, self.texts
        there = [at for at in range(first + 1, end) if indents[at] == column]
        if dash:
            return [first, *(at for at in there if texts[at].startswith("-", column))]
        return [first, *(at for at in there if texts[at][column : column + 1] not in "-#")]  # nor empty lines

    def value(self, at: int, end: int) -> tuple[int, int, Node]:
        """Start and end of the key on a line, and the node there. The node has lines from `at` to `end`, or some of them."""
        line, start = self.texts[at], self.starts[at]
        key, key_end, value, kind, value_end = places(line)
        if kind == OPEN:
            return start + key, start + key_end, self.below(at, end, start + value)
        if kind in NODES:
            node = Node(NODES[kind], start + value, start + value_end)
            node.flow = kind != SCALAR
        else:
            node = Node(BLOCK_SCALAR, start + value, self.end_of_block(at + 1))
        return start + key, start + key_end, node

    def below(self, at: int, end: int, colon: int) -> Node:
        """The value of an open key: the lines after it, or null."""
        first = self.next_content(at + 1, end)
        if first == end:
            return Node(LEAF, colon, colon)
        dash = token(self.texts[first])[1]
        return Block(self, SEQ if dash else MAP, first, end, self.indents[first])

    def end_of_block(self, first: int) -> int:
        end = block_end(self.texts, first, self.indents[first])
        while not self.texts[end - 1].strip(" "):
            end -= 1
        return self.starts[end - 1] + len(self.texts[end - 1])


NODES = {SCALAR: LEAF, EMPTY_MAP: MAP, EMPTY_LIST: SEQ}


class Block(Node):
    """A map or list in block style. `first` is its first line, `last` the line after it."""

    __slots__ = ("_entries", "_nodes", "column", "first", "last", "lines")

    def __init__(self, lines: Lines, kind: int, first: int, last: int, column: int) -> None:
        self.lines, self.kind, self.first, self.last, self.column = lines, kind, first, last, column
        self.start = lines.starts[first] + column
        self.flow = self.simple = False
        self._entries: dict[str, Entry] | None = {} if kind == SEQ else None
        self._nodes: list[Node] | None = [] if kind == MAP else None

    @property
    def entries(self) -> dict[str, Entry]:  # type: ignore[override]
        if self._entries is None:
            self._entries = found = {}
            starts = self.lines.entry_lines(self.first, self.last, self.column, dash=False)
            for at, end in zip(starts, [*starts[1:], self.last], strict=True):
                key = token(self.lines.texts[at])[2]
                found[key] = self.lines.value(at, end)
        return self._entries

    @property
    def nodes(self) -> list[Node]:  # type: ignore[override]
        if self._nodes is None:
            lines, column = self.lines, self.column
            starts = lines.entry_lines(self.first, self.last, column, dash=True)
            ends = [*starts[1:], self.last]
            self._nodes = [self.entry(at, end) for at, end in zip(starts, ends, strict=True)]
        return self._nodes

    def entry(self, at: int, end: int) -> Node:
        if token(self.lines.texts[at])[2] is None:
            return self.lines.value(at, end)[2]
        return Block(self.lines, MAP, at, end, self.column + 2)

    @property
    def end(self) -> int:  # type: ignore[override]
        if self.kind == SEQ:
            return self.nodes[-1].end
        return next(reversed(self.entries.values()))[2].end
