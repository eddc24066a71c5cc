"""Lines and columns of a text, whatever its line breaks."""

from __future__ import annotations

from codecs import utf_8_decode

BLOCK = 1 << 16  # bytes that are looked at in one go


class Unspliceable(Exception):  # noqa: N818
    """This change can't be made in place; splice coarser."""


def bad_byte(data: bytes) -> int:
    """Where what is no UTF-8 starts; -1 where all of it is. A `str` of all would take fourfold for one wide character."""
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


def line_start(text: str, at: int) -> int:
    """Where the line that holds index `at` starts."""
    start = text.rfind("\n", 0, at) + 1
    carriage = text.rfind("\r", start, at)
    return start if carriage < 0 else carriage + 1


def line_end(text: str, at: int) -> int:
    """Where the line that holds index `at` ends, before its line break."""
    end = text.find("\n", at)
    if end < 0:
        end = len(text)
    carriage = text.find("\r", at, end)
    return end if carriage < 0 else carriage


def next_line(text: str, at: int) -> int:
    """Where the line after the one that ends at `at` starts."""
    if text.startswith("\r\n", at):
        return at + 2
    return min(at + 1, len(text))


def break_before(text: str, start: int) -> int:
    """Where the line break before a line start stands."""
    if start >= 2 and text.startswith("\r\n", start - 2):
        return start - 2
    return max(start - 1, 0)


def column_of(text: str, at: int) -> int:
    """The column of index `at`, from 0."""
    return at - line_start(text, at)


def skip_blanks(text: str, at: int) -> int:
    """The first index from `at` on that holds no space and no tab."""
    while text[at : at + 1] in (" ", "\t") and at < len(text):
        at += 1
    return at


def before(text: str, at: int) -> str:
    """The last character before index `at` that is no space, tab or line break; empty without one."""
    while at and text[at - 1] in " \t\r\n":
        at -= 1
    return text[at - 1 : at] if at else ""


def past_comments(text: str, end: int, column: int) -> int:
    """The end of the comment lines that follow the line ending at `end` and stand at `column` or deeper; `end` without any."""
    at = end
    while at < len(text):
        start = next_line(text, at)
        at = line_end(text, start)
        content = skip_blanks(text, start)
        if start >= len(text) or (content < at and (text[content] != "#" or content - start < column)):
            break
        if content < at:
            end = at
    return end


def dash_before(text: str, at: int) -> int:
    """Where the dash of the list entry stands whose value starts at `at`; -1 without one."""
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
