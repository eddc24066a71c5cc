"""Texts that were read, cut into one piece an item, and how they are written back: untouched pieces as they came."""

from __future__ import annotations

from krm_fn.base.value import Value
from krm_fn.yamlio.compare import same
from krm_fn.yamlio.emit import Style, block
from krm_fn.yamlio.layout import Unspliceable, breaks, column_of, line_start, newline_of
from krm_fn.yamlio.order import in_order, parted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from krm_fn.base.paths import Path
    from krm_fn.yamlio.nodes import Node
    from krm_fn.yamlio.reader import Memo, Spans

    Edit = tuple[int, int, bytes]

# How a piece holds its value: as the first entry of a list, as the whole text, or exactly, from bracket to bracket.
ENTRY, WHOLE, EXACT = range(3)
STRIDE = 1 << 13  # characters in which line breaks are counted once
# An item of more bytes, with fewer than one value in so many of them, is no List of objects, and no object.
LARGEST, SPARSE = 16 << 20, 1 << 10


class Piece(Value):
    """An item's part of the input, bytes `start` to `end`; it begins in `line` (from 1) and `column` (from 0)."""

    start: int
    end: int
    line: int
    column: int = 0
    form: int = WHOLE


class Pieces:
    """The pieces of a list in block style, each made when it is asked for: they touch, and the last one ends at `end`."""

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
    """An item in which places are looked for: its piece, its text and its tree, None where it is bloated."""

    __slots__ = ("counts", "piece", "root", "text")

    def __init__(self, piece: Piece, text: str, root: Node | None) -> None:
        self.piece, self.text, self.root = piece, text, root
        self.counts = [0]  # the line breaks before each stride

    def breaks_before(self, start: int) -> int:
        """The number of line breaks before a line of the item. Findings are many where somebody means ill."""
        text, counts, strides = self.text, self.counts, start // STRIDE
        while len(counts) <= strides:
            end = len(counts) * STRIDE
            counts.append(counts[-1] + breaks(text, end, end - STRIDE) - text.startswith("\r\n", end - 1))
        return counts[strides] + breaks(text, start, strides * STRIDE)


class Text:
    """What both texts share: the bytes, the values, and the pieces they were read from.

    `outer` holds, by item, the values of anchors that the item aliases but doesn't define. `successors`, which who writes may
    set, names keys that take the place of others: where both are in one map, the line stays and only its key changes.
    """

    def __init__(self, data: bytes, file: str, items: list[Any], pieces: Pieces | list[Piece]) -> None:
        self.data, self.file, self.items, self.pieces = data, file, items, pieces
        self.newline = newline_of(data)
        self.outer: dict[int, dict[str, Any]] = {}
        self.successors: Mapping[str, str] = {}
        self.json = False
        self.memo: Memo | None = None
        self.noted: Spans | None = None  # what the reader of libyaml's events noted
        self._kept: list[tuple[int, LookedAt]] = []

    def text_of(self, item: int) -> str:
        piece = self.pieces[item]
        return self.data[piece.start : piece.end].decode()

    def place(self, item: int, path: Path = (), *, key: bool = False) -> tuple[int, int]:
        """The line and column, from 1, of the value at `path`, or of its nearest ancestor; (0, 0) where neither is known.

        With `key`, those of the last key in place of its value.
        """
        if not 0 <= item < len(self.pieces):
            return 0, 0
        looked_at = self._looked_at(item)
        piece, text, node = looked_at.piece, looked_at.text, looked_at.root
        if node is None:
            return piece.line, piece.column + 1
        at = node.start
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

    def _looked_at(self, item: int) -> LookedAt:
        """The item as places are looked for in it. A finding and the place it points to beside mostly take turns."""
        found = next((known for number, known in self._kept if number == item), None)
        if found is None:
            bloated = self.is_bloated(item)
            text = "" if bloated else self.text_of(item)
            found = LookedAt(self.pieces[item], text, None if bloated else self.tree_of(item, text))
        self._kept = [(item, found), *(each for each in self._kept if each[0] != item)][:2]
        return found

    def lines_of(self, item: int, spans: Callable[[Node, str], Iterable[tuple[int, int]]]) -> frozenset[int] | None:
        """The lines, from 1, of the parts of an item that `spans` finds in its tree and text; None where it is bloated."""
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

        Raises: InputError for one that no cluster would take; Unspliceable.
        """
        from krm_fn.yamlio.splice import respell  # the plain reader makes most changes itself

        self.refuse_bloated(item)
        piece = self.pieces[item]
        anchors = None if expand else self.outer.get(item)

        def read(text: str) -> Any:
            from krm_fn.yamlio.documents import read_piece  # few changes need it

            return read_piece(text, first_entry=piece.form == ENTRY, anchors=anchors, memo=self.memo)[0]

        return respell(
            self.text_of(item),
            self.items[item],
            new,
            parse=lambda text: self.tree_of(item, text),
            read=read,
            newline=self.newline,
            json=self.json,
            inside=piece.form == EXACT,
            expand=expand,
            successors=self.successors,
        )

    def is_bloated(self, item: int) -> bool:
        """True for an item that is large with few values. Beside its value, its text would be in memory in several forms."""
        piece = self.pieces[item]
        size = piece.end - piece.start
        return size > LARGEST and not holds(self.items[item], size // SPARSE)

    def refuse_bloated(self, item: int) -> None:
        """Raises: InputError for an item that is to be written anew, but no cluster would take."""
        if self.is_bloated(item):
            from krm_fn.base.errors import InputError

            piece = self.pieces[item]
            found = f"this object has {piece.end - piece.start:,} bytes, and would have to be written anew"
            fix = "no cluster takes more than 3 MiB; take it out"
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
    """True where at least so many values are in a value."""
    found = [value]
    for one in found:
        if len(found) >= count:
            return True
        if isinstance(one, dict | list):
            found += one.values() if isinstance(one, dict) else one
    return len(found) >= count


def spliced(data: bytes, edits: list[Edit]) -> bytes:
    """The bytes with the edits made; edits may touch but not overlap."""
    out: list[bytes | memoryview] = []
    at = 0
    view = memoryview(data)
    for start, end, new in sorted(edits, key=_by_start):
        out += [view[at:start], new]
        at = max(at, end)
    return b"".join([*out, view[at:]])


def _by_start(edit: Edit) -> tuple[int, int]:
    return edit[0], edit[1]


class StreamText(Text):
    """A stream of documents: one item each, None for an empty one."""

    def write(self, items: Sequence[Any], before: Sequence[int] = ()) -> bytes:
        """The stream with these items. Empty documents stay; another None leaves its document out.

        More items come last, or where `before` says; see `order`.
        """
        edits: list[Edit] = []
        inserted, last = parted(items[len(self.items) :], before, len(self.items))
        for i, (piece, old, new) in enumerate(zip(self.pieces, self.items, items, strict=False)):
            more = inserted.get(i, [])
            if not more and (new is old or not _differs(old, new)):
                continue
            text = b"" if new is None else self.document(i, new)
            with_more = self._with_documents(more, text, first=i == 0) if more else text
            last = last if with_more is not None else [*more, *last]
            edits.append((piece.start, piece.end, text if with_more is None else with_more))
        out = spliced(self.data, edits)
        for item in last:
            mark = ["---"] if out.strip() else []
            out += self.lines([*mark, *block(item, 0, Style())]).encode()
        return out

    def _with_documents(self, more: Sequence[Any], text: bytes, *, first: bool) -> bytes | None:
        """The text of a document with others before it; None where a directive or a mark of another form is in the way."""
        mark = "---" + self.newline
        at = head_end(text)
        if text[at:].startswith(b"---"):
            tail = ""
        elif first and not text[at:].startswith((b"%", b"...")):
            at, tail = 0, mark
        else:
            return None
        new = "".join(mark + self.lines(block(item, 0, Style())) for item in more)
        return text[:at] + (new.removeprefix(mark) if first and at == 0 else new).encode() + tail.encode() + text[at:]

    def document(self, item: int, new: Any) -> bytes:
        """The text of one document with this item, which is not None, and with all that stands around it."""
        piece = self.pieces[item]
        return self._document(item, new) if _differs(self.items[item], new) else self.data[piece.start : piece.end]

    def _document(self, item: int, new: Any) -> bytes:
        try:
            return self.respelled(item, new).encode()
        except Unspliceable:
            return self.lines(["---", *block(new, 0, Style())]).encode()


class Top(Value):
    """The top-level map of a list: its keys as (key, start and end of the key, start and end of the value), and where it ends.

    `form` says how the items stand: "block", "flow", "empty" (null or `[]`), "absent", or "loose": in a way that only
    writing everything anew can change (an alias, a merge). Places are byte offsets; a block value's end is loose.
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
        self.json = bool(top and top.flow and data[top.keys[0][1] : top.keys[0][1] + 1] == b'"')

    def place_in_head(self, path: Path) -> tuple[int, int]:
        """The line and column, from 1, of the last key of a path in `head`, or of what is nearest around it.

        (0, 0) where the text doesn't tell.
        """
        from krm_fn.yamlio.events import YAMLError

        for name, start, _, _, end in self.top.keys if self.top else ():
            if name == path[0]:
                before = self.data[:start].decode()
                piece = Piece(start=start, end=end, line=breaks(before, len(before)) + 1, column=column_of(before, len(before)))
                try:
                    return StreamText(self.data, self.file, [self.head.get(name)], [piece]).place(0, path, key=True)
                except YAMLError:  # brackets may stand where only brackets around them allow it
                    break
        return 0, 0

    def write(self, items: Sequence[Any], results: Sequence[Any] = (), before: Sequence[int] = ()) -> bytes:
        """The list with these items: those that are the ones read leave as they came, changed ones with their changes spliced
        in, further ones come last, or where `before` says (see `order`); None leaves its item out. `results`, where there are
        any, replace those of the input.
        """
        from krm_fn.yamlio.listedit import ListEdit
        from krm_fn.yamlio.rewrite import has_own_texts, rewritten

        kept = list(items)
        if self.top is None:
            comments = self.data if self.data.strip() else b""  # blanks would indent the first line
            return comments + rewritten(self, kept, results, None, before)
        touched = {i for i, old in enumerate(self.items) if _differs(old, kept[i] if i < len(kept) else None)}
        inserted, added = parted(kept[len(self.items) :], before, len(self.items))
        loose = self.top.form == "loose"
        if loose and not (touched or added or inserted or results):
            return self.data
        gone = {i for i in touched if i >= len(kept) or kept[i] is None}
        changed = None
        try:
            if not loose or has_own_texts(self):
                changed, entangled = self._changed(kept, touched - gone, gone)
                loose = loose or entangled
            if not loose and changed is not None:
                ordered = in_order(kept, before, len(self.items))
                return ListEdit(self, ordered, gone, changed, added, inserted=inserted).run(list(results))
        except Unspliceable:
            pass
        return rewritten(self, kept, results, changed, before)

    def _changed(self, items: list[Any], numbers: set[int], gone: set[int]) -> tuple[dict[int, bytes], bool]:
        """The new texts of the items with these numbers, and of those that alias what changes; whether what is no item does.

        Raises: Unspliceable.
        """
        changed = {number: self.respelled(number, items[number]).encode() for number in sorted(numbers)}
        return changed, bool(self.crossing) and self._disentangle(items, gone, changed)

    def _disentangle(self, items: list[Any], gone: set[int], changed: dict[int, bytes]) -> bool:
        """Write out the aliases of items to anchors in other items that go or change, and add the items to `changed`.

        True where what is no item aliases such an anchor.
        """
        expanded: set[int] = set(gone)
        read: dict[int, tuple[bytes, dict[str, Any]]] = {}  # by item: its text, and what anchors stand for in it

        def anchors_in(home: int) -> dict[str, Any]:
            text = changed[home]
            if home not in read or read[home][0] is not text:
                read[home] = text, self._anchors_in(home, text.decode())
            return read[home][1]

        def keeps(home: int, name: str, value: Any) -> bool:
            """True where the anchor in this item still has this value."""
            if home in gone or home not in changed:
                return home not in gone
            return name in anchors_in(home) and same(anchors_in(home)[name], value)

        found = True
        while found:
            found = False
            for home, user, name, value in self.crossing:
                if user not in expanded and not keeps(home, name, value):
                    if user >= 0:
                        changed[user] = self.respelled(user, items[user], expand=True).encode()
                    expanded.add(user)
                    found = True
        return any(user < 0 for user in expanded)

    def _anchors_in(self, item: int, text: str) -> dict[str, Any]:
        """The values of the anchors in a text of an item."""
        from krm_fn.yamlio.documents import read_piece

        return read_piece(text, first_entry=self.pieces[item].form == ENTRY, anchors=self.outer.get(item), memo=self.memo)[1]


def head_end(text: bytes) -> int:
    """Where the comments and empty lines at the start of a text end."""
    at = 0
    for line in text.splitlines(keepends=True):
        if line.lstrip()[:1] not in (b"", b"#"):
            break
        at += len(line)
    return at


def _differs(old: Any, new: Any) -> bool:
    return new is None or (new is not old and not same(old, new))
