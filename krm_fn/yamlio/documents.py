"""From bytes to texts: this module checks the input, reads it once, and cuts it into the pieces of its items."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable
from krm_fn.base.errors import InputError
from krm_fn.yamlio.events import CParser, ScalarEvent, StreamEndEvent, YAMLError, translate
from krm_fn.yamlio.layout import (
    RARE_BREAK_BYTES,
    bad_byte,
    breaks_in_bytes,
    has_rare_breaks,
    line_numbers,
    line_start_in_bytes,
    line_starts,
    newline_of,
    relocated,
)
from krm_fn.yamlio.listreader import ListReader, Offsets
from krm_fn.yamlio.reader import EventSource, Memo, open_node, read_node
from krm_fn.yamlio.spans import Spans
from krm_fn.yamlio.texts import ListText, Piece, StreamText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    AnyText = TypeVar("AnyText", ListText, StreamText)


BOM = b"\xef\xbb\xbf"


def read_list(data: bytes, *, file: str = "") -> ListText:
    return _read(lambda data, file: ListReader(data, file).run(), data, file)


def read_documents(data: bytes, *, file: str = "") -> StreamText:
    return _read(_read_documents, data, file)


def read_repeating(text: str) -> list[Any]:
    """The values of all documents of a text, in which keys may be set again: None for an empty one.

    Raises: YAMLError for a text that is no YAML; InputError for YAML that has no plain value.
    """
    parser = CParser(text)
    while parser.get_event().__class__ is not StreamEndEvent:
        pass
    source, found = EventSource(text, repeats=True), []
    while (event := open_node(source, first_entry=False)) is not None:
        found.append(read_node(source, event)[0])
    return found


def _read(reader: Callable[[bytes, str], AnyText], data: bytes, file: str) -> AnyText:
    """The text that a reader returns for the input, with lines counted as editors count them.

    Raises: InputError.
    """
    data = prepared(data, file)
    rare = has_rare_breaks(data)
    try:
        text = reader(data, file)
    except (YAMLError, InputError) as error:
        raise _as_input_error(error, data, file, rare=rare) from None  # an error in a variable here would keep the parser alive
    if rare:
        numbers = line_numbers(data, [piece.start for piece in text.pieces])
        text.pieces = [piece.but(line=line) for piece, line in zip(text.pieces, numbers, strict=True)]
    return text


def _as_input_error(error: YAMLError | InputError, data: bytes, file: str, *, rare: bool) -> InputError:
    found = translate(error, data, file) if isinstance(error, YAMLError) else error
    return relocated(found, data) if rare else found


def prepared(data: bytes, file: str) -> bytes:
    """The input without byte order marks, and with a line break at its end.

    Raises: InputError for bytes that are not UTF-8, and for a byte order mark at the start of a line.
    """
    while data.startswith(BOM):  # libyaml removes a second mark too, and counts its places from there
        data = data.removeprefix(BOM)
    if not data.isascii():
        check_utf8(data, file)
        data = without_marks(data, file)
    if data.endswith((b"\n", b"\r", *RARE_BREAK_BYTES)) or not data.strip():
        return data
    return closed(data) + newline_of(data).encode()


def check_utf8(data: bytes, file: str) -> None:
    at = bad_byte(data)
    if at >= 0:
        line, start = data.count(b"\n", 0, at) + 1, data.rfind(b"\n", 0, at) + 1
        wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        found = "the text is encoded in UTF-16; expected UTF-8" if wide else f"the byte 0x{data[at]:02X} is not valid UTF-8"
        raise InputError(found, file=file, line=line, column=len(data[start:at].decode()) + 1)


def without_marks(data: bytes, file: str) -> bytes:
    """The input without the byte order marks that start a document, as in files that were joined.

    Go's readers cut a stream at its `---` and remove the mark of each part. At the start of any other line they read the mark
    as a part of a key, but libyaml skips it.
    Raises: InputError for a mark at the start of another line.
    """
    starts = [0]
    for at in line_starts(data, BOM):
        before = line_start_in_bytes(data, at - len(b"\r\n") if data.endswith(b"\r\n", 0, at) else at - 1)
        if not before or not data.startswith(b"---", before):
            found = "this line starts with a byte order mark (U+FEFF); remove it"
            raise InputError(found, file=file, line=breaks_in_bytes(data, at) + 1, column=1)
        starts += [at, at + len(BOM)]
    return b"".join(data[start:end] for start, end in zip(starts[::2], [*starts[1::2], len(data)], strict=True))


def closed(data: bytes) -> bytes:
    """The input, without a final line break, prepared for one: a block of text at the very end must not gain a line break."""
    if b"|" not in data and b">" not in data:
        return data
    source = EventSource(data)
    last: Any = None
    try:
        while (event := source.get()).__class__ is not StreamEndEvent:
            last = event if event.__class__ is ScalarEvent else last
    except YAMLError:
        return data
    text = data.decode()
    if last is None or last.style not in ("|", ">") or last.end_mark.index < len(text):
        return data
    at = text.index(last.style, last.start_mark.index) + 1
    end = at
    while text[end : end + 1] in ("+", "-", *"123456789"):
        end += 1
    return f"{text[:at]}-{text[at:end].strip('+-')}{text[end:]}".encode()


def ended_as(data: bytes, out: bytes) -> bytes:
    """`out` without its final line break if the input `data` has none. Changes that `closed` made are undone.

    A block of text that is new at the end keeps its line break.
    """
    if data.endswith((b"\n", b"\r", *RARE_BREAK_BYTES)) or not data.strip():
        return out
    bare, made = out.removesuffix(newline_of(data).encode()), closed(data)
    if made != data:
        start = next(at for at, byte in enumerate(data) if made[at] != byte)
        return bare.removesuffix(made[start:]) + data[start:] if bare.endswith(data[start - 1 : start] + made[start:]) else out
    return bare if closed(bare) == bare else out


def read_single(text: str) -> Any:
    """The value of a text's only document; None if there is none.

    Raises: InputError, also for a second document.
    """
    texts = read_documents(text.encode("utf-8", "surrogatepass"))
    if len(texts.items) > 1:
        raise InputError("there is a second document; expected only one", line=texts.pieces[1].line, column=1)
    return texts.items[0] if texts.items else None


class NotAlone(Exception):  # noqa: N818  it is no error of the text
    """A document has to be read with those around it: it is not one document, or has aliases, which are counted in a stream."""


def read_alone(text: str, memo: Memo) -> tuple[Any, Spans]:
    """The value of one document of a stream, and the places of its nodes in the text. Raises: InputError, NotAlone."""
    source = EventSource(text, memo=memo)
    try:
        source.get()
        source.get()
        source.spans.begin(0)
        value = read_node(source, source.get())[0]
        source.get()
        if source.aliased or source.get().__class__ is not StreamEndEvent:
            raise NotAlone
    except YAMLError as error:
        raise translate(error, text.encode(), "") from None
    return value, source.spans


def _read_documents(data: bytes, file: str) -> StreamText:
    source, offset = EventSource(data, file=file), Offsets(data)
    items: list[Any] = []
    starts: list[tuple[int, int]] = []
    source.get()
    while (begin := source.get()).__class__ is not StreamEndEvent:
        mark = begin.start_mark
        source.anchors.clear()
        source.spans.begin(mark.index if starts else 0)
        event = source.get()
        starts.append((offset(mark.index), mark.line + 1))
        items.append(read_node(source, event)[0])
        source.get()
    starts[:1] = [(0, 1)] * bool(starts)
    ends = [*(start for start, _ in starts), len(data)][1:]
    pieces = [Piece(start=start, end=end, line=line) for (start, line), end in zip(starts, ends, strict=True)]
    text = StreamText(data, file, items, pieces)
    text.memo, text.noted = source.memo, source.spans
    return text
