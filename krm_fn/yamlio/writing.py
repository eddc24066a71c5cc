"""Writes texts with other items: unchanged items keep their bytes, in the others only the changed lines differ."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable, Iterator, Sequence
from krm_fn.yamlio.emit import Style, block
from krm_fn.yamlio.layout import Edit, Unspliceable, spliced
from krm_fn.yamlio.order import in_order, parted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.yamlio.texts import ListText, StreamText, Top

AT_ONCE = 1 << 16  # bytes that are written at once


def write_stream(text: StreamText, items: Sequence[Any], before: Sequence[int] = ()) -> bytes:
    """The stream with these items. None leaves its document out. Additional items come last, or where `before` says."""
    edits: list[Edit] = []
    inserted, last = parted(items[len(text.items) :], before, len(text.items))
    for number, (old, new) in enumerate(zip(text.items, items, strict=False)):
        more = inserted.get(number, [])
        if not more and (new is old or not differs(old, new)):
            continue
        piece = text.pieces[number]
        written = b"" if new is None else write_document(text, number, new)
        with_more = _with_documents(text, more, written, first=number == 0) if more else written
        last = last if with_more is not None else [*more, *last]
        edits.append((piece.start, piece.end, written if with_more is None else with_more))
    out = spliced(text.data, edits)
    for item in last:
        out += text.lines([*(["---"] if out.strip() else []), *block(item, 0, Style())]).encode()
    return out


def write_document(text: StreamText, number: int, new: Any) -> bytes:
    """The text of one document with this item, which is not None, and with everything around it."""
    piece = text.pieces[number]
    if not differs(text.items[number], new):
        return text.data[piece.start : piece.end]
    try:
        return text.respelled(number, new).encode()
    except Unspliceable:
        return text.lines(["---", *block(new, 0, Style())]).encode()


def _with_documents(text: StreamText, more: Sequence[Any], written: bytes, *, first: bool) -> bytes | None:
    """The text of a document with others before it; None if a directive or a mark of another form prevents that."""
    mark = "---" + text.newline
    at = _head_end(written)
    if written[at:].startswith(b"---"):
        tail = ""
    elif first and not written[at:].startswith((b"%", b"...")):
        at, tail = 0, mark
    else:
        return None
    new = "".join(mark + text.lines(block(item, 0, Style())) for item in more)
    return written[:at] + (new.removeprefix(mark) if first and at == 0 else new).encode() + tail.encode() + written[at:]


def _head_end(text: bytes) -> int:
    """The end of the comments and empty lines at the start of a text."""
    at = 0
    for line in text.splitlines(keepends=True):
        if line.lstrip()[:1] not in (b"", b"#"):
            break
        at += len(line)
    return at


def write_list(
    text: ListText, items: Sequence[Any], results: Sequence[Any] = (), before: Sequence[int] = ()
) -> Iterable[bytes]:
    """The list with these items, in pieces. None leaves its item out. Additional items come last, or where `before` says.

    `results` replace those of the input, if there are any. Late items that were written have their new values.
    """
    if text.top is None:
        from krm_fn.yamlio.rewrite import rewritten

        comments = text.data if text.data.strip() else b""  # blanks would indent the first line
        return (comments, rewritten(text, items, results, None, before))
    return Writing(text, list(items), before).run(text.top, list(results))


class Writing:
    """One writing of a list that has a top-level map."""

    def __init__(self, text: ListText, items: list[Any], before: Sequence[int]) -> None:
        self.text, self.items, self.before = text, items, before
        count = len(text.items)
        self.touched = {i for i, old in enumerate(text.items) if differs(old, items[i] if i < len(items) else None)}
        self.touched.update(text.written)
        self.gone = {i for i in self.touched if i >= len(items) or items[i] is None}
        self.inserted, self.added = parted(items[count:], before, count)
        self.changed: dict[int, bytes] | None = None  # the new texts of items, when all are known

    def run(self, top: Top, results: list[Any]) -> Iterable[bytes]:
        moves = bool(self.gone or self.added or self.inserted or results)
        if not (self.touched or moves) and (top.form == "loose" or self.has_brackets(top)):
            return (self.text.data,)
        if top.form == "block" and not (moves or self.text.crossing):
            try:
                return self.spliced()
            except Unspliceable:
                return (self.rewritten(results),)
        try:
            written = self.in_place(top, results, moves=moves)
        except Unspliceable:
            written = None
        return (self.rewritten(results) if written is None else written,)

    def has_brackets(self, top: Top) -> bool:
        """True if the list is empty, and written as one."""
        return top.form == "empty" and any(
            name == "items" and self.text.data[at:end] == b"[]" for name, *_, at, end in top.keys
        )

    def spliced(self) -> Iterable[bytes]:
        """The list's own text with the new texts of items. Those that were written are made when they leave.

        Raises: Unspliceable.
        """
        pieces, text = self.text.pieces, self.text
        numbers = sorted(self.touched)
        new = {number: text.respelled(number, self.items[number]) for number in numbers if number not in text.written}

        def parts() -> Iterator[bytes]:
            at, size, out = 0, 0, []
            for number in numbers:
                piece = pieces[number]
                if at < piece.start:
                    out.append(text.data[at : piece.start])
                out.append((new.get(number) or text.rewritten(number)).encode())
                at, size = piece.end, size + len(out[-1])
                if size > AT_ONCE:
                    yield b"".join(out)
                    out, size = [], 0
            yield b"".join(out)
            yield memoryview(text.data)[at:]  # type: ignore[misc]

        return parts()

    def in_place(self, top: Top, results: list[Any], *, moves: bool) -> bytes | None:
        """The list's own text with the changes applied; None if the text around the items prevents that.

        Raises: Unspliceable.
        """
        loose = top.form == "loose"
        if loose and not self.text.has_own_texts():
            return None
        changed = self.respelled()
        entangled = bool(self.text.crossing) and self.write_aliases_out(changed)
        self.changed = changed
        if loose or entangled:
            return None
        if not moves and top.form in ("block", "flow"):
            pieces = self.text.pieces
            return spliced(self.text.data, [(pieces[n].start, pieces[n].end, new) for n, new in changed.items()])
        from krm_fn.yamlio.listedit import ListEdit

        ordered = in_order(self.items, self.before, len(self.text.items))
        return ListEdit(self.text, ordered, self.gone, changed, self.added, inserted=self.inserted).run(results)

    def respelled(self) -> dict[int, bytes]:
        """The new texts of the items that change. Raises: Unspliceable."""
        return {number: self.new_text(number).encode() for number in sorted(self.touched - self.gone)}

    def new_text(self, number: int) -> str:
        text = self.text
        return text.rewritten(number) if number in text.written else text.respelled(number, self.items[number])

    def write_aliases_out(self, changed: dict[int, bytes]) -> bool:
        """Write out the aliases to anchors that are removed or change, in changed items and in others.

        True if a part of the list outside the items has such an alias.
        """
        from krm_fn.yamlio.rewrite import Aliases

        return Aliases(self.text, self.items, self.gone, changed).write_out()

    def rewritten(self, results: list[Any]) -> bytes:
        from krm_fn.yamlio.rewrite import rewritten

        return rewritten(self.text, self.items, results, self.changed, self.before)


def differs(old: Any, new: Any) -> bool:
    if new is None or new is old:
        return new is None
    from krm_fn.yamlio.compare import same  # most items do not change, or are late

    return not same(old, new)
