"""Lines and columns of a text, for all line breaks, and edits of its bytes."""

from __future__ import annotations

from codecs import utf_8_decode

from krm_fn.base.annotations import Iterable, Iterator
from krm_fn.base.errors import InputError

Edit = tuple[int, int, bytes]  # start, end, and the new bytes for this span


# Line breaks of YAML 1.1 that libyaml and Go's readers know, but editors do not count. `line_start` and `line_end`, and the
# functions that use them, know them. `breaks` counts lines as editors do.
RARE_BREAKS = ("\x85", "\u2028", "\u2029")
RARE_BREAK_BYTES = tuple(rare.encode() for rare in RARE_BREAKS)
BLANKS_AND_BREAKS = "".join((" \t\r\n", *RARE_BREAKS))
BLOCK = 1 << 16  # bytes that are read at once
STRIDE = 64  # characters


class Unspliceable(Exception):  # noqa: N818
    """This change cannot be made in place; a coarser edit is needed."""


def bad_byte(data: bytes) -> int:
    """The start of the first bytes that are not UTF-8; -1 if there are none. A `str` of everything may take too much memory."""
    at = 0
    try:
        while at < len(data):
            at += utf_8_decode(data[at : at + BLOCK], "strict", at + BLOCK >= len(data))[1]
    except UnicodeDecodeError as error:
        return at + error.start
    return -1


def newline_of(data: bytes) -> str:
    """The line break of the input's first line."""
    at = data.find(b"\n")
    if at < 0:
        return "\r" if b"\r" in data else "\n"
    return "\r\n" if data[at - 1 : at] == b"\r" else "\n"


def breaks(text: str, end: int, start: int = 0) -> int:
    """The number of line breaks before index `end`, from index `start` on."""
    return text.count("\n", start, end) + text.count("\r", start, end) - text.count("\r\n", start, end)


def breaks_in_bytes(data: bytes, end: int) -> int:
    """The number of line breaks in UTF-8 before index `end`."""
    return data.count(b"\n", 0, end) + data.count(b"\r", 0, end) - data.count(b"\r\n", 0, end)


def has_rare_breaks(data: bytes) -> bool:
    return not data.isascii() and any(rare in data for rare in RARE_BREAK_BYTES)


def line_numbers(data: bytes, starts: Iterable[int]) -> Iterator[int]:
    """The line numbers, from 1, of rising places."""
    line, before = 1, 0
    for start in starts:
        line += breaks_in_bytes(data[before:start], start - before)
        before = start
        yield line


def line_starts(data: bytes, mark: bytes) -> list[int]:
    """The starts of the lines that begin with these bytes, except the first line."""
    found = []
    for end in (b"\n", b"\r", *RARE_BREAK_BYTES):
        at = data.find(end + mark)
        while at >= 0:
            found.append(at + len(end))
            at = data.find(end + mark, at + 1)
    return sorted(found)


def relocated(error: InputError, data: bytes) -> InputError:
    """The error of a text with rare line breaks, with the place that editors show. libyaml counts these breaks as lines."""
    if not error.line:
        return error
    before = "".join(data.decode("utf-8", "replace").splitlines(keepends=True)[: error.line - 1])
    at = len(before) + error.column - 1
    start = max(before.rfind("\n"), before.rfind("\r")) + 1
    return InputError(error.message, file=error.file, line=breaks(before, len(before)) + 1, column=at - start + 1)


def line_start(text: str, at: int) -> int:
    """The start of the line that contains index `at`."""
    start = text.rfind("\n", 0, at) + 1
    carriage = text.rfind("\r", start, at)
    start = start if carriage < 0 else carriage + 1
    if text.isascii():
        return start
    return max(start, *(text.rfind(rare, start, at) + 1 for rare in RARE_BREAKS))


def line_end(text: str, at: int) -> int:
    """The end of the line that contains index `at`, before its line break."""
    end = text.find("\n", at)
    if end < 0:
        end = len(text)
    carriage = text.find("\r", at, end)
    end = end if carriage < 0 else carriage
    if text.isascii():
        return end
    return min(end, *(found for rare in RARE_BREAKS if (found := text.find(rare, at, end)) >= 0), end)


def line_start_in_bytes(data: bytes, at: int) -> int:
    """The start of the line of UTF-8 that contains index `at`."""
    start = data.rfind(b"\n", 0, at) + 1
    start = max(start, data.rfind(b"\r", start, at) + 1)
    for rare in () if data[start:at].isascii() else RARE_BREAK_BYTES:
        found = data.rfind(rare, start, at)
        start = found + len(rare) if found >= 0 else start
    return start


def next_line(text: str, at: int) -> int:
    """The start of the line after the one that ends at `at`."""
    if text.startswith("\r\n", at):
        return at + 2
    return min(at + 1, len(text))


def break_before(text: str, start: int) -> int:
    """The index of the line break before the start of a line."""
    if start >= 2 and text.startswith("\r\n", start - 2):
        return start - 2
    return max(start - 1, 0)


def column_of(text: str, at: int) -> int:
    """The column of index `at`, from 0."""
    return at - line_start(text, at)


def skip_blanks(text: str, at: int, blanks: str = " \t") -> int:
    """The first index from `at` on that has no space and no tab, or none of other `blanks`."""
    stride = STRIDE
    while at < len(text):
        part = text[at : at + stride]
        rest = len(part.lstrip(blanks))
        at += len(part) - rest
        if rest:
            break
        stride *= 2  # for long runs of blanks
    return at


def before(text: str, at: int) -> str:
    """The last character before index `at` that is no space, tab or line break; empty if there is none."""
    stride = STRIDE
    while at:
        part = text[max(at - stride, 0) : at].rstrip(BLANKS_AND_BREAKS)
        if part:
            return part[-1]
        at = max(at - stride, 0)
        stride *= 2
    return ""


def past_comments(text: str, end: int, column: int) -> int:
    """The end of the comment lines at `column` or deeper after the line that ends at `end`; `end` if there are none."""
    while True:
        at = skip_blanks(text, end, BLANKS_AND_BREAKS)
        if at == len(text) or text[at] != "#" or column_of(text, at) < column:
            return end
        end = line_end(text, at)


def dash_before(text: str, at: int) -> int:
    """The index of the dash of the list entry whose value starts at `at`; -1 if there is none."""
    start = line_start(text, at)
    before = text[start:at].rstrip(" \t")
    while True:
        if before.endswith("-"):
            return start + len(before) - 1
        if before.strip(" \t") or start == 0:
            return -1
        end = break_before(text, start)
        start = line_start(text, end)
        before = text[start:end].replace("\t#", " #").partition(" #")[0].rstrip(" \t")
        if before.startswith("#"):
            before = ""


def spliced(data: bytes, edits: list[Edit]) -> bytes:
    """The bytes with the edits applied; edits may touch but not overlap."""
    out: list[bytes | memoryview] = []
    at = 0
    view = memoryview(data)
    for start, end, new in sorted(edits, key=_by_start):
        out += [view[at:start], new]
        at = max(at, end)
    return b"".join([*out, view[at:]])


def _by_start(edit: Edit) -> tuple[int, int]:
    return edit[0], edit[1]
