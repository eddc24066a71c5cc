"""A stream of documents in plain form: reading and writing it.

A document can have the same form as an item that `plain` reads. In a stream that can be cut at its marks, libyaml reads only
the documents of another form. Values, places and written bytes are the same as if libyaml had read the complete stream.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.errors import InputError
from krm_fn.base.keeping import keeper
from krm_fn.yamlio.emit import Style
from krm_fn.yamlio.plain.changes import Changes, applied
from krm_fn.yamlio.plain.characters import NotPlain
from krm_fn.yamlio.plain.lines import Layout, read_laid_out
from krm_fn.yamlio.plain.split import LARGEST_ITEM, check, check_characters
from krm_fn.yamlio.texts import Piece, StreamText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.yamlio.nodes import Node
    from krm_fn.yamlio.spans import Spans

    # A document's value, layout, start and end of its content, and the places of its nodes if libyaml read it.
    Known = tuple[Any, Layout | None, tuple[int, int], Spans | None]


BOM = b"\xef\xbb\xbf"
MARK = b"---"
OTHER_MARKS = (b"%", b"...")  # at the start of a line: of a directive, and of the end of a document
ODD = (-1, -1)  # instead of the layout of a document that libyaml had to read


def read_plain_stream(data: bytes, file: str) -> PlainStream | None:
    """The text of a stream; None if it cannot be cut at its marks, or if a document cannot be read by itself.

    Raises: InputError for a document that is wrong, as if libyaml had read the complete stream.
    """
    try:
        return _read(_prepared(data), file)
    except NotPlain:
        return None


def _prepared(data: bytes) -> bytes:
    """The input without byte order mark, with a line break at its end. Raises: NotPlain if libyaml must check its end."""
    data = data.removeprefix(BOM)
    if not data.endswith(b"\n"):
        if b"|" in data or b">" in data:
            raise NotPlain  # a block of text at the end must not gain a line break
        data += b"\n"
    check(data)
    return data


def _read(data: bytes, file: str) -> PlainStream:
    text = PlainStream(data, file, [], [])
    line = 1
    found = list(_cut(data))
    if any(end - start > LARGEST_ITEM for start, _, end in found):
        raise NotPlain
    for start, head, end in found:
        piece = Piece(start=start, end=end, line=line)
        try:
            text.add(piece, head)
        except InputError as error:
            raise _error_of(data, piece, file, error) from None
        line += data.count(b"\n", start, end)
    return text


def _error_of(data: bytes, piece: Piece, file: str, found: InputError) -> InputError:
    """Why a document can't be read, at its place in the stream; the documents before it can be. `found` is why it alone can't.

    The mark of the next document is read too, because an unclosed value ends there. Raises: NotPlain if only libyaml can tell
    where the document begins and ends, or which error comes first: it looks ahead for characters that YAML does not allow.
    """
    from krm_fn.yamlio.documents import NotAlone, read_alone
    from krm_fn.yamlio.reader import Memo

    if any(data.startswith(other) or b"\n" + other in data for other in OTHER_MARKS):
        raise NotPlain
    check_characters(data.decode())
    document = data[piece.start : piece.end] + (MARK + b"\n" if piece.end < len(data) else b"")
    try:
        if piece.end == len(data) and found.line:
            raise found
        read_alone(document.decode(), Memo())
    except InputError as error:
        line = error.line + piece.line - 1 if error.line else 0
        return InputError(error.message, file=file, line=line, column=error.column)
    except NotAlone:
        pass
    raise NotPlain


def _cut(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Start, end of the mark, and end of each document. Comments before the first mark belong to its document."""
    marks = list(_marks(data))
    if not is_blank(data[: marks[0][0]] if marks else data):
        marks = [(0, 0), *marks]
    if not marks:
        raise NotPlain
    ends = [start for start, _ in marks[1:]] + [len(data)]
    for number, ((start, head), end) in enumerate(zip(marks, ends, strict=True)):
        yield start if number else 0, head, end


def _marks(data: bytes) -> Iterator[tuple[int, int]]:
    """Start and end of the lines that are marks. Raises: NotPlain if more than a comment follows one."""
    starts = [0] if data.startswith(MARK) else []
    at = data.find(b"\n" + MARK)
    while at >= 0:
        starts.append(at + 1)
        at = data.find(b"\n" + MARK, at + 1)
    for start in starts:
        end = data.index(b"\n", start) + 1
        behind = data[start + len(MARK) : end - 1]
        if behind[:1] not in (b"", b" "):
            continue  # a scalar that starts with three dashes; libyaml reads a document with a tab here
        if behind.strip(b" ")[:1] not in (b"", b"#"):
            raise NotPlain
        yield start, end


def is_blank(data: bytes) -> bool:
    """True if there are only comments and empty lines."""
    at = 0
    while at < len(data):
        end = data.find(b"\n", at) + 1 or len(data)
        if data[at:end].lstrip(b" ")[:1] not in (b"", b"#", b"\n"):
            return False
        at = end
    return True


class PlainStream(StreamText):
    """The text of a stream: for each document the layout, and the text without the comments, mark and empty lines around it."""

    def __init__(self, data: bytes, file: str, items: list[Any], pieces: list[Piece]) -> None:
        super().__init__(data, file, items, pieces)
        self.pieces: list[Piece] = pieces
        self.layouts: list[Layout | None] = []
        self.spans: list[tuple[int, int]] = []
        self.odd: dict[int, Spans] = {}  # by the numbers of the documents that libyaml had to read: the places of the nodes
        self.names: dict[str, Any] = {}

    def add(self, piece: Piece, head: int) -> None:
        """Read the document of a piece, whose mark ends at `head`. Raises: NotPlain, InputError without its place."""
        kept = keeper()
        key = self.data[piece.start : piece.end], head - piece.start
        known: Known | None = kept.documents.get(key) if kept else None
        if known is None:
            known = self._known(piece, head)
            if kept:
                kept.documents.put(key, known)
        value, layout, span, spans = known
        if spans:
            spans.names = self.names
            self.odd[len(self.items)] = spans
        self.items.append(value)
        self.layouts.append(layout)
        self.spans.append(span)
        self.pieces.append(piece)

    def _known(self, piece: Piece, head: int) -> Known:
        """What the text of a document tells, wherever it stands in a stream."""
        text = self.data[piece.start : piece.end].decode()
        check_characters(text)
        start, end = _span(text, len(self.data[piece.start : head].decode()))
        value, layout, spans = self.read(text[start:end], text)
        return value, layout, (start, end), spans

    def read(self, content: str, document: str) -> tuple[Any, Layout | None, Spans | None]:
        """The value of a document, its layout, and the places of its nodes if libyaml had to read it.

        `document` also has its mark and the text around it.
        """
        if not content:
            return None, ODD, None
        try:
            value, layout = read_laid_out(content)
        except NotPlain:
            from krm_fn.yamlio.documents import NotAlone, read_alone
            from krm_fn.yamlio.reader import Memo

            self.memo = self.memo or Memo()
            try:
                value, spans = read_alone(document, self.memo)
            except NotAlone:
                raise NotPlain from None
            return value, ODD, spans
        if not isinstance(value, dict):
            return value, ODD, None
        return value, None if content.startswith(" ") else layout, None

    def tree_of(self, item: int, text: str) -> Node:
        if item in self.odd:
            from krm_fn.yamlio.positions import tree as tree_of_spans

            return tree_of_spans(text, self.odd[item], 0)
        if self.layouts[item] == ODD:
            return super().tree_of(item, text)
        from krm_fn.yamlio.plain.tree import tree

        start, _ = self.spans[item]
        try:
            return tree(text[:start].replace("---", "#--") + text[start:])  # the line reader does not know marks
        except NotPlain:
            return super().tree_of(item, text)

    def respelled(self, item: int, new: Any, *, expand: bool = False) -> str:
        layout = self.layouts[item]
        as_written = expand or self.successors or (self.quotes and replaces_text(self.items[item], new))
        if layout and layout != ODD and not as_written:
            text, (start, end) = self.text_of(item), self.spans[item]
            content = text[start:end]
            try:
                changed = Changes(content, Style(step=layout[0], dash=layout[1]), column=0).flat(self.items[item], new)
                return text[:start] + applied(content, changed) + text[end:]
            except NotPlain:
                pass
        return super().respelled(item, new, expand=expand)


def replaces_text(old: Any, new: Any) -> bool:
    """True where a text becomes another one."""
    if isinstance(old, dict) and isinstance(new, dict):
        return any(key in new and new[key] is not value and replaces_text(value, new[key]) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return any(one is not other and replaces_text(one, other) for one, other in zip(old, new, strict=False))
    return isinstance(old, str) and isinstance(new, str) and old != new


def _span(text: str, start: int) -> tuple[int, int]:
    """The start of the first line with content from `start` on, and the end of the last one: no empty line follows it."""
    while start < len(text):
        behind = text.index("\n", start) + 1
        if text[start:behind].lstrip(" ")[:1] not in ("\n", "#"):
            return start, len(text.rstrip("\n")) + 1
        start = behind
    return start, start
