"""Scalars that few lines have: texts in quotes with escapes or on several lines, folded blocks, and flow style on one line.

All is read as libyaml reads it, or not at all (`NotPlain`).
"""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.yamlio.plain.characters import DIGITS, IN_KEY, LETTERS, QUOTES, NotPlain, is_plain_key, note_key
from krm_fn.yamlio.scalars import resolve

ESCAPES = {
    **dict(zip("0abtnvfre", "\0\a\b\t\n\v\f\r\x1b", strict=True)),
    **dict(zip(' "/\\N_LP', ' "/\\\x85\xa0\u2028\u2029', strict=True)),
}
CODES = {"x": 2, "u": 4, "U": 8}  # digits of an escape
HEX = frozenset("0123456789abcdefABCDEF")
SURROGATES, LAST = range(0xD800, 0xE000), 0x10FFFF
CLOSING = frozenset("}])'\"")  # what may start a line of a quoted text in the column of its key
IN_FLOW = IN_KEY | frozenset("+$()@=~ ")
DEEPEST_FLOW = 20


def closing(text: str, quote: str, start: int = 0) -> int:
    """The index of the quote that closes a text, which is searched from `start` on; -1 if the line has none."""
    at = text.find(quote, start)
    while at >= 0:
        if quote == "'":
            if text[at + 1 : at + 2] != "'":
                return at
            at += 1
        elif (at - len(text[start:at].rstrip("\\")) - start) % 2 == 0:
            return at
        at = text.find(quote, at + 1)
    return -1


def unquoted(text: str, quote: str) -> str:
    """The value of what is between quotes on one line. Raises: NotPlain."""
    if quote == "'":
        return text.replace("''", "'")
    if "\\" not in text:
        return text
    out, at = [], 0
    while (mark := text.find("\\", at)) >= 0:
        out.append(text[at:mark])
        letter, at = text[mark + 1 : mark + 2], mark + 2
        if letter in ESCAPES:
            out.append(ESCAPES[letter])
            continue
        digits = text[at : at + CODES.get(letter, 0)]
        code = int(digits, 16) if digits and len(digits) == CODES[letter] and HEX.issuperset(digits) else -1
        if code < 0 or code in SURROGATES or code > LAST:
            raise NotPlain
        out.append(chr(code))
        at += len(digits)
    return "".join([*out, text[at:]])


def quoted_lines(lines: list[str], at: int, column: int, start: int) -> tuple[str, int]:
    """The text in quotes that begins at index `start` of the line before `at`, and the number of the line after it.

    `column` is that of its key or dash. Raises: NotPlain.
    """
    first = lines[at - 1]
    quote, part = first[start], first[start + 1 :]
    out: list[str] = []
    joined = _part(out, part, quote)
    breaks = 0
    while True:
        if at == len(lines) - 1 or not lines[at].isprintable():
            raise NotPlain
        part = lines[at].lstrip(" ")
        indent = len(lines[at]) - len(part)
        at += 1
        if not part:
            breaks += 1
            continue
        if (indent <= column and part[0] not in CLOSING) or part.startswith(("---", "...")):
            raise NotPlain
        out.append("\n" * breaks or ("" if joined else " "))
        breaks = 0
        end = closing(part, quote)
        if end < 0:
            joined = _part(out, part, quote)
            continue
        out.append(unquoted(part[:end], quote))
        tail = part[end + 1 :]
        if tail.strip(" ") and not tail.lstrip(" ").startswith("#"):
            raise NotPlain
        if tail.startswith("#"):
            raise NotPlain
        return "".join(out), at


def _part(out: list[str], part: str, quote: str) -> bool:
    """Add the value of a line that does not close the quotes. True if the next line continues it without a space."""
    bare = part.rstrip(" ")
    if quote == '"' and (len(bare) - len(bare.rstrip("\\"))) % 2:
        if bare != part:
            raise NotPlain  # a blank is escaped
        out.append(unquoted(bare[:-1], quote))
        return True
    out.append(unquoted(bare, quote))
    return False


def folded(lines: list[str]) -> str:
    """The text of a folded block from its lines, without the last line break."""
    text, gap, was_blank = lines[0], 0, lines[0][:1] in (" ", "\t")
    for line in lines[1:]:
        if not line:
            gap += 1
            continue
        is_blank = line[0] in " \t"
        if was_blank or is_blank:
            text += "\n"
        elif not gap:
            text += " "
        text += "\n" * gap + line
        gap, was_blank = 0, is_blank
    return text


def flow(text: str) -> Any:
    """The value of a map or list in brackets that is complete on its line. Raises: NotPlain."""
    value, at = _flow_value(text, 0, 0)
    if at != len(text):
        raise NotPlain
    return value


def _flow_value(text: str, at: int, depth: int) -> tuple[Any, int]:
    first = text[at : at + 1]
    if first in ("{", "["):
        if depth == DEEPEST_FLOW:
            raise NotPlain
        return _flow_map(text, at + 1, depth) if first == "{" else _flow_list(text, at + 1, depth)
    if first in QUOTES:
        return _flow_quoted(text, at)
    end = at
    while end < len(text) and (text[end] in IN_FLOW or (text[end] == ":" and text[end + 1 : end + 2] in IN_KEY)):
        end += 1
    plain = text[at:end].rstrip(" ")
    if not plain or plain[0] not in LETTERS | DIGITS | frozenset("/"):
        raise NotPlain
    try:
        return resolve(plain), _skip(text, end)
    except ValueError:
        raise NotPlain from None


def _flow_quoted(text: str, at: int) -> tuple[str, int]:
    end = closing(text, text[at], at + 1)
    if end < 0:
        raise NotPlain
    return unquoted(text[at + 1 : end], text[at]), _skip(text, end + 1)


def _skip(text: str, at: int) -> int:
    """The index of the next character that is no blank."""
    while text[at : at + 1] == " ":
        at += 1
    return at


def _flow_list(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    at = _skip(text, at)
    if text[at : at + 1] == "]":
        return found, _skip(text, at + 1)
    while True:
        value, at = _flow_value(text, at, depth + 1)
        found.append(value)
        mark, at = text[at : at + 1], _skip(text, at + 1)
        if mark == "]":
            return found, at
        if mark != ",":
            raise NotPlain


def _flow_map(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    at = _skip(text, at)
    if text[at : at + 1] == "}":
        return found, _skip(text, at + 1)
    while True:
        if text[at : at + 1] in QUOTES:
            key, end = _flow_quoted(text, at)
        else:
            end = at
            while text[end : end + 1] in IN_KEY:
                end += 1
            key = text[at:end]
            if not is_plain_key(key):
                raise NotPlain
        note_key(key)
        if text[end : end + 2] != ": " or key in found:
            raise NotPlain
        found[key], at = _flow_value(text, _skip(text, end + 2), depth + 1)
        mark, at = text[at : at + 1], _skip(text, at + 1)
        if mark == "}":
            return found, at
        if mark != ",":
            raise NotPlain
