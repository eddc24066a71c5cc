"""Objects as text, as sigs.k8s.io/yaml writes them: for programs that change this text and read it again.

Keys are sorted, comments and the author's quotes are gone, and long lines are folded at spaces.
upstream: go.yaml.in/yaml/v2 encode.go, emitterc.go, sorter.go
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cmp_to_key
from typing import Any

from krm_fn.base.expressions import expression
from krm_fn.yamlio.emit import number_text
from krm_fn.yamlio.scalars import as_json, resolve_typed

# Text that is quoted, though it is read as text: numbers with colons, and timestamps.
BASE_60 = expression(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
DATE = expression(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?:(?:[Tt]%s(?:Z|[+-][0-9]{2}:[0-9]{2}))| %s)?")
TIMESTAMP = expression(DATE.pattern.replace("%s", r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?"))
DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
# What a plain scalar can't start with, or have inside.
FIRST = frozenset("#,[]{}&*!|>'\"%@`")
INDICATORS = expression(r"---|\.\.\.|[-?:](?: |\t|$)|.*:(?:[ \t\n\x85\u2028\u2029]|$)|.*[ \t\n\x85\u2028\u2029]#", re.DOTALL)
BREAKS = "\n\r\x85\u2028\u2029"
# Characters that are escaped in double quotes.
SPECIAL = expression("[^\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]")
ESCAPED = expression(f'{SPECIAL.pattern}|[{BREAKS}"\\\\]')
ESCAPES = {
    "\0": "0",
    "\a": "a",
    "\b": "b",
    "\t": "t",
    "\n": "n",
    "\v": "v",
    "\f": "f",
    "\r": "r",
    "\x1b": "e",
    '"': '"',
    "\\": "\\",
    "\x85": "N",
    "\xa0": "_",
    "\u2028": "L",
    "\u2029": "P",
}
BOM, ANYTHING = "\ufeff", expression(".", re.DOTALL)
BROKEN = expression(f"(?<=[{BREAKS}])(?=[^{BREAKS}])")  # where a line goes on behind a break that is no newline
JOINED = "\0"  # ends a line that Go takes for ended, though no newline is there
LONGEST_KEY = 128  # bytes
LARGE = 6  # digits in front of the point; from there on, and below 0.0001, numbers have exponents
WIDTH = 80  # the next space behind so many characters of a line becomes a line break


def go_text(value: Any) -> str:
    """A value as block YAML. Raises: ValueError for infinities and NaN."""
    if not (value and isinstance(value, (dict, list))):
        return _scalar(value, 0, 0) + "\n"
    return ("\n".join(_entries(value, 0)) + "\n").replace(f"{JOINED}\n", "")


def _entries(value: dict[str, Any] | list[Any], column: int) -> Iterator[str]:
    """The lines of a map or a list that starts at a column."""
    margin = " " * column
    if isinstance(value, list):
        for item in value:
            yield from _entry(f"{margin}-", item, column, dashed=True)
        return
    for key in sorted(value, key=cmp_to_key(_order)):
        name = _text(key)
        if len(key.encode(errors="surrogatepass")) > LONGEST_KEY or _has_break(key):
            yield from _entry(f"{margin}?", key, column, dashed=True)
            yield from _entry(f"{margin}:", value[key], column, dashed=True)
        else:
            yield from _entry(f"{margin}{name}:", value[key], column)


def _entry(head: str, value: Any, column: int, *, dashed: bool = False) -> Iterator[str]:
    if not (value and isinstance(value, (dict, list))):
        yield f"{head} {_scalar(value, column + 2, len(head) + 1)}"
    elif dashed:
        first, *rest = _entries(value, column + 2)
        yield f"{head} {first.lstrip(' ')}"
        yield from rest
    else:
        yield head
        yield from _entries(value, column if isinstance(value, list) else column + 2)


def _scalar(value: Any, column: int, start: int) -> str:
    """A scalar that starts at a column, or an empty map or list; `column` is that of its other lines."""
    if isinstance(value, str):
        return _text(value, column, start)
    if isinstance(value, (dict, list)):
        return "[]" if isinstance(value, list) else "{}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return _number_text(value)


def _number_text(value: float) -> str:
    """Go's `FormatFloat(value, 'g', -1, 64)`."""
    if isinstance(value, int) or value.is_integer():
        whole = as_json(value)
        if isinstance(whole, int):
            return str(whole)
    found = Decimal(repr(value)).normalize()
    exponent = found.adjusted()
    if -4 <= exponent < LARGE:
        return number_text(value)
    first, *digits = map(str, found.as_tuple().digits)
    mantissa = first + (f".{''.join(digits)}" if digits else "")
    return f"{'-' * (value < 0)}{mantissa}e{exponent:+03d}"


def _text(text: str, column: int = 0, start: int | None = None) -> str:
    """The text in the first style that can hold it of those that Go's encoder asks for; without a start it is a key."""
    is_special = SPECIAL.search(text) is not None or re.search(f" [{BREAKS}]", text) is not None
    if "\n" in text and start is not None and not (is_special or text[-1] == " "):
        return _literal(text, column)
    if is_special or not _stays_text(text) or "\n" in text or re.search(f"[{BREAKS}] ", text):
        pattern = ANYTHING if text[:1] == BOM else ESCAPED  # Go takes all that follows a byte order mark for one
        return _laid(['"', *pattern.sub(_escape, text), '"'], '"', column, start)
    if _has_break(text) or text[0] == " " or text[-1] == " " or text[0] in FIRST or INDICATORS.match(text):
        return _laid(["'", *text.replace("'", "''"), "'"], "'", column, start)
    return _laid(text, "", column, start)


def _laid(chars: Sequence[str], quote: str, column: int, start: int | None) -> str:
    """A scalar with its quotes, in lines: long ones end at a single space, or in double quotes at the first of several."""
    if start is None or not (_has_break(chars) or (start + len(chars) > WIDTH and " " in chars)):
        return "".join(chars)
    laid: list[str] = []
    at, before, inside = start, "", range(2, len(chars) - 2) if quote else range(len(chars))
    for number, char in enumerate(chars):
        if before and before in BREAKS and char not in BREAKS and number < len(chars) - 1:
            laid.append(" " * column)
            at = column
        breaks = char == " " != before and at > WIDTH and number in inside
        follows = breaks and chars[number + 1] == " "
        if breaks and (quote == '"' or not follows):
            laid.append("\n" + " " * column + ("\\" if follows else ""))
            at = column + follows
        else:
            laid.append(char)
            at += 1
        before = char
    return "".join(laid)


def _has_break(text: Sequence[str]) -> bool:
    return any(char in text for char in BREAKS)


def _stays_text(text: str) -> bool:
    """True for a text that is read as one without quotes."""
    is_text = text != "" and isinstance(resolve_typed(text), str)
    return is_text and not BASE_60.fullmatch(text) and not _is_time(text)


def _is_time(text: str) -> bool:
    """True for the timestamps that Go's reader knows."""
    found = TIMESTAMP.fullmatch(text)
    if not found:
        return False
    year, month, day, *clock = (int(part or 0) for part in found.groups())
    hour, minute, second = (a or b for a, b in zip(clock[:3], clock[3:], strict=True))
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = DAYS[month - 1] - (month == 2 and not leap) if 1 <= month <= 12 else 0
    return 1 <= day <= days and hour < 24 and minute < 60 and second < 60


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    code = ord(char)
    number = f"x{code:02X}" if code <= 0xFF else f"u{code:04X}" if code <= 0xFFFF else f"U{code:08X}"
    return "\\" + ESCAPES.get(char, number)


def _literal(text: str, column: int) -> str:
    hint = "2" if text[0] in " " + BREAKS else ""
    chomp = "-" if text[-1] not in BREAKS else "+" if len(text) == 1 or text[-2] in BREAKS else ""
    margin = " " * column
    lines = [BROKEN.sub(margin, line) for line in text.removesuffix("\n").split("\n")]
    laid = (margin + line if line and line[0] not in BREAKS else line for line in lines)
    return "\n".join([f"|{hint}{chomp}", *laid]) + (JOINED if text[-1] in BREAKS[1:] else "")


def _order(a: str, b: str) -> int:
    """Below 0 if a key comes before another one. Numbers inside are compared as such, letters come last."""
    for at, (one, other) in enumerate(zip(a, b, strict=False)):
        if one == other:
            continue
        if one.isalpha() and other.isalpha():
            return -1 if one < other else 1
        if one.isalpha() or other.isalpha():
            return -1 if other.isalpha() else 1
        first, second = _number(a, b, at), _number(b, a, at)
        if first != second:
            return -1 if first < second else 1
        return -1 if one < other else 1
    return len(a) - len(b)


def _number(text: str, other: str, at: int) -> tuple[int, int]:
    """The number that starts at a place, and its length; behind another digit a 0 counts as one."""
    number = 0
    if "0" in (text[at], other[at]):
        before = at
        while before and text[before - 1].isdecimal():
            before -= 1
            if text[before] != "0":
                number = 1
                break
    end = at
    while end < len(text) and text[end].isdecimal():
        number = (number * 10 + ord(text[end]) - ord("0")) & 0xFFFFFFFFFFFFFFFF
        end += 1
    return number, end - at
