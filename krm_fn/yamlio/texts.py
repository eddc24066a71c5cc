"""Texts that were read, cut into one piece per item: their values, the places of these, and an item's text with a new value."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterable, Iterator, Mapping, Sequence
from krm_fn.base.paths import Path, get
from krm_fn.base.value import Value
from krm_fn.yamlio.layout import breaks, column_of, line_start, newline_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.yamlio.following import Anchors
    from krm_fn.yamlio.nodes import Node
    from krm_fn.yamlio.reader import Memo
    from krm_fn.yamlio.spans import Spans


# How a piece holds its value: as the first entry of a list, as the complete text, or exactly, from bracket to bracket.
ENTRY, DOCUMENT, EXACT = range(3)
STRIDE = 1 << 13  # characters; each line break is counted once per stride
# An item of more than LARGEST bytes with fewer than one value per SPARSE bytes is neither an object nor a List of objects.
LARGEST, SPARSE = 16 << 20, 1 << 10
MARKS = "&*!"  # one of them is in each anchor, alias and tag


class Piece(Value):
    """An item's part of the input, bytes `start` to `end`; it begins in `line` (from 1) and `column` (from 0)."""

    start: int
    end: int
    line: int
    column: int = 0
    form: int = DOCUMENT


class Pieces:
    """The pieces of a list in block style, each made when it is read. They touch, and the last one ends at `end`."""

    __slots__ = ("end", "lines", "starts")

    def __init__(self, starts: Sequence[int], lines: Sequence[int], end: int) -> None:
        self.starts, self.lines, self.end = starts, lines, end

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, number: int) -> Piece:
        end = self.starts[number + 1] if number + 1 < len(self.starts) else self.end
        return Piece(start=self.starts[number], end=end, line=self.lines[number], form=ENTRY)

    def __iter__(self) -> Iterator[Piece]:
        return (self[number] for number in range(len(self.starts)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pieces) and list(other) == list(self)

    __hash__ = None  # type: ignore[assignment]


class LookedAt:
    """An item in which places are searched: its piece, its text, and its tree, or None if it is bloated."""

    __slots__ = ("anchors", "counts", "piece", "root", "text")

    def __init__(self, piece: Piece, text: str, root: Node | None) -> None:
        self.piece, self.text, self.root = piece, text, root
        self.counts = [0]  # the line breaks before each stride
        self.anchors: Anchors | None = None  # once somebody follows aliases

    def breaks_before(self, start: int) -> int:
        """The number of line breaks before a line of the item. Counts are kept: hostile input may have many findings."""
        text, counts, strides = self.text, self.counts, start // STRIDE
        while len(counts) <= strides:
            end = len(counts) * STRIDE
            counts.append(counts[-1] + breaks(text, end, end - STRIDE) - text.startswith("\r\n", end - 1))
        return counts[strides] + breaks(text, start, strides * STRIDE)


class Text:
    """The common part of both texts: the bytes, the values, and the pieces of the values.

    `outer` has, by item, the values of anchors that the item aliases but does not define. A caller that writes may set
    `successors`: keys that replace others. If both occur in one map, the line stays and only its key changes. And `quotes`: a
    text that replaces another one keeps its quotes.
    """

    def __init__(self, data: bytes, file: str, items: list[Any], pieces: Pieces | list[Piece]) -> None:
        self.data, self.file, self.items, self.pieces = data, file, items, pieces
        self.newline = newline_of(data)
        self.outer: dict[int, dict[str, Any]] = {}
        self.successors: Mapping[str, str] = {}
        self.quotes = False
        self.json = False
        self.memo: Memo | None = None
        self.noted: Spans | None = None  # the notes of the reader of libyaml's events
        self._kept: list[tuple[int, LookedAt]] = []

    def value(self, item: int) -> Any:
        """The value of an item, as it was read."""
        return self.items[item]

    def text_of(self, item: int) -> str:
        piece = self.pieces[item]
        return self.data[piece.start : piece.end].decode()

    def place(self, item: int, path: Path = (), *, key: bool = False, follow: bool = False) -> tuple[int, int]:
        """The line and column, from 1, of the value at `path`, or of its nearest ancestor; (0, 0) if neither is known.

        With `key`, the place is that of the last key, not of its value. With `follow`, the place of a value that an alias or a
        merge brings is that of its text.
        """
        if not 0 <= item < len(self.pieces):
            return 0, 0
        looked_at = self._looked_at(item)
        piece, text, node = looked_at.piece, looked_at.text, looked_at.root
        if node is None:
            return piece.line, piece.column + 1
        at = node.start
        if follow:
            from krm_fn.yamlio.following import Anchors, followed  # few ask for it

            looked_at.anchors = looked_at.anchors or Anchors(node, text)
            at, path = followed(looked_at.anchors, path), ()
        for step in path:
            if step in node.entries:
                key_start, _, node = node.entries[step]
                at = key_start if key else node.start
            elif isinstance(step, int) and (below := node.nth(step)):
                node = below
                at = node.start
            else:
                at = node.start
                break
        start = line_start(text, at)
        before = looked_at.breaks_before(start)
        return piece.line + before, at - start + 1 + (0 if before else piece.column)

    def stands_alone(self, item: int, path: Path) -> bool:
        """True where the value at a path is written there for itself: no anchor, alias, merge or tag is on the way to it."""
        from krm_fn.yamlio.nodes import ALIAS

        if not 0 <= item < len(self.pieces):
            return False
        if not (self.is_bloated(item) or any(mark in self.text_of(item) for mark in MARKS)):
            return get(self.items[item], path, self) is not self
        looked_at = self._looked_at(item)
        node = looked_at.root
        for step in (*path, None):
            if node is None or node.kind == ALIAS or looked_at.text[node.start : node.start + 1] in ("&", "!"):
                return False
            if step is not None:
                below = node.entries.get(step)
                node = below[2] if below else node.nth(step) if isinstance(step, int) else None
        return True

    def _looked_at(self, item: int) -> LookedAt:
        """The item prepared for searching. The last two are kept, because a finding and its related place often alternate."""
        found = next((known for number, known in self._kept if number == item), None)
        if found is None:
            bloated = self.is_bloated(item)
            text = "" if bloated else self.text_of(item)
            found = LookedAt(self.pieces[item], text, None if bloated else self.tree_of(item, text))
        self._kept = [(item, found), *(each for each in self._kept if each[0] != item)][:2]
        return found

    def lines_of(self, item: int, spans: Callable[[Node, str], Iterable[tuple[int, int]]]) -> frozenset[int] | None:
        """The lines, from 1, of the parts of an item that `spans` finds in its tree and text; None if it is bloated."""
        looked_at = self._looked_at(item)
        if looked_at.root is None:
            return None
        found: set[int] = set()
        for start, end in spans(looked_at.root, looked_at.text):
            first, last = (looked_at.breaks_before(line_start(looked_at.text, at)) for at in (start, max(start, end - 1)))
            found.update(range(looked_at.piece.line + first, looked_at.piece.line + last + 1))
        return frozenset(found)

    def respelled(self, item: int, new: Any, *, expand: bool = False) -> str:
        """The piece of an item, changed so that it reads as `new`; with `expand`, without aliases.

        Raises: InputError for an item that no cluster accepts; Unspliceable.
        """
        from krm_fn.yamlio.splice import respell  # the plain reader makes most changes itself

        self.refuse_bloated(item)
        piece = self.pieces[item]
        anchors = None if expand else self.outer.get(item)

        def read(text: str) -> Any:
            from krm_fn.yamlio.reader import read_piece  # few changes need it

            return read_piece(text, first_entry=piece.form == ENTRY, anchors=anchors, memo=self.memo)[0]

        return respell(
            self.text_of(item),
            self.value(item),
            new,
            parse=lambda text: self.tree_of(item, text),
            read=read,
            newline=self.newline,
            json=self.json,
            inside=piece.form == EXACT,
            expand=expand,
            successors=self.successors,
            quotes=self.quotes,
        )

    def is_bloated(self, item: int) -> bool:
        """True for a large item with few values. Its value, and several forms of its text, would be in memory together."""
        piece = self.pieces[item]
        size = piece.end - piece.start
        return size > LARGEST and not holds(self.items[item], size // SPARSE)

    def refuse_bloated(self, item: int) -> None:
        """Raises: InputError for an item that must be written again, but that no cluster accepts."""
        if self.is_bloated(item):
            from krm_fn.base.errors import InputError

            piece = self.pieces[item]
            found = f"this object has {piece.end - piece.start:,} bytes and must be rewritten"
            fix = "no cluster accepts more than 3 MiB; remove the object"
            raise InputError(f"{found}; {fix}", file=self.file, line=piece.line, column=piece.column + 1)

    def tree_of(self, item: int, text: str) -> Node:
        """The tree of an item's own text."""
        if self.noted is None:
            return self.parse(text, self.pieces[item])
        from krm_fn.yamlio.positions import tree

        return tree(text, self.noted, item)

    def parse(self, text: str, piece: Piece) -> Node:
        from krm_fn.yamlio.positions import read_positions

        return read_positions(text, first_entry=piece.form == ENTRY, memo=self.memo)

    def lines(self, lines: Sequence[str]) -> str:
        return "".join(line + self.newline for line in lines)


def holds(value: Any, count: int) -> bool:
    """True if a value contains at least `count` values."""
    found = [value]
    for one in found:
        if len(found) >= count:
            return True
        if isinstance(one, dict | list):
            found += one.values() if isinstance(one, dict) else one
    return len(found) >= count


class StreamText(Text):
    """A stream of documents: one item each, None for an empty one."""


class Top(Value):
    """The top-level map of a list: its keys as (key, start and end of the key, start and end of the value), and its end.

    `form` says where the items are: "block", "flow", "empty" (null or `[]`), "absent", or "loose": in a form that can only be
    changed by writing everything again (an alias, a merge). Places are byte offsets; the end of a block value is not exact.
    """

    flow: bool
    column: int
    keys: tuple[tuple[str, int, int, int, int], ...]
    end: int
    form: str


class ListText(Text):
    """A ResourceList: `head` is its top-level map without the items."""

    def __init__(
        self, data: bytes, file: str, items: list[Any], pieces: Pieces | list[Piece], *, head: dict[str, Any], top: Top | None
    ) -> None:
        super().__init__(data, file, items, pieces)
        self.head, self.top = head, top
        self.crossing: list[tuple[int, int, str, Any]] = []
        self.written: Mapping[int, Any] = {}  # late items, which only a list in plain form has
        self.json = bool(top and top.flow and data[top.keys[0][1] : top.keys[0][1] + 1] == b'"')

    def read_late(self) -> None:
        """Read the late items now, if there are any. Raises: NotPlain."""

    def rewritten(self, number: int) -> str:
        """The new text of a late item that was written."""
        raise NotImplementedError

    def place_in_head(self, path: Path) -> tuple[int, int]:
        """The line and column, from 1, of the last key of a path in `head`, or of the nearest key around it.

        (0, 0) if the text does not show it.
        """
        from krm_fn.yamlio.events import YAMLError

        for name, start, _, _, end in self.top.keys if self.top else ():
            if name == path[0]:
                before = self.data[:start].decode()
                piece = Piece(start=start, end=end, line=breaks(before, len(before)) + 1, column=column_of(before, len(before)))
                try:
                    return StreamText(self.data, self.file, [self.head.get(name)], [piece]).place(0, path, key=True)
                except YAMLError:  # some text in brackets cannot be read without the brackets around it
                    break
        return 0, 0

    def has_own_texts(self) -> bool:
        """True if there are items, and each item's piece is the text of an entry of a block list."""
        return 0 < len(self.pieces) == len(self.items) and all(
            piece.form == ENTRY and self.data[piece.start : piece.end].lstrip(b" ").startswith(b"-") for piece in self.pieces
        )
