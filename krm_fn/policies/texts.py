"""The functions of CEL for texts. Characters are code points."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import islice

from krm_fn.base.annotations import Any, Callable
from krm_fn.base.regex import matches, searching
from krm_fn.base.regex_syntax import WrongPatternError
from krm_fn.base.work import WORK
from krm_fn.policies.errors import EvaluationError, Unsupported, no_overload

QUOTED = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}
LONGEST = 1_000_000  # characters of a text, elements of a list
EXPONENT = 6  # powers of ten from which on Go writes an exponent
BLANKS = (
    " \t\n\v\f\r\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)


def _text(*values: Any) -> None:
    if not all(isinstance(value, str) for value in values):
        raise no_overload()


def _make(length: int) -> None:
    """A text of a length is to be made. Raises: Unsupported for a very long one."""
    if length > LONGEST:
        raise Unsupported("it makes a very long text or list")
    WORK.spend(length // 8)


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise no_overload()
    return int(value)


def _first(text: Any, of: Any) -> tuple[int, int] | None:
    _text(text, of)
    try:
        return searching(of, text, WORK.spend)(text, 0)
    except WrongPatternError as error:
        raise EvaluationError(str(error)) from None


def _find_all(text: Any, of: Any, most: Any = -1) -> list[str]:
    _text(text, of)
    most = _number(most)
    _first(text, of)  # a wrong expression is an error, even if nothing is asked for
    found = matches(of, text, WORK.spend)
    return [text[start:end] for start, end in (found if most < 0 else islice(found, most))]


def _find(text: Any, of: Any) -> str:
    found = _first(text, of)
    return str(text[found[0] : found[1]]) if found else ""


def _on_texts(call: Callable[..., Any]) -> Callable[..., Any]:
    def run(*values: Any) -> Any:
        _text(*values)
        return call(*values)

    return run


def _char_at(text: Any, at: Any) -> str:
    _text(text)
    at = _number(at)
    if not 0 <= at <= len(text):
        raise EvaluationError("index out of range")
    return str(text[at : at + 1])


def _nowhere(text: str, start: int) -> int:
    """The place of an empty text. Raises: Unsupported where releases differ."""
    if not 0 <= start <= len(text):
        raise Unsupported("the place of an empty text outside of another text")
    return start


def index_of(text: Any, part: Any, start: Any = 0) -> int:
    """The place of a part in a text from a place on; -1 without one."""
    _text(text, part)
    start = _number(start)
    if part == "":
        return _nowhere(text, start)
    if start < 0:
        raise EvaluationError("index out of range")
    found: int = text.find(part, start) if start < len(text) else -1
    return found


def last_index_of(text: Any, part: Any, *last: Any) -> int:
    """The last place of a part in a text, up to a place; -1 without one."""
    _text(text, part)
    if not last:
        return len(text) if part == "" else int(text.rfind(part))
    start = _number(last[0])
    if part == "":
        return _nowhere(text, start)
    if start < 0:
        raise EvaluationError("index out of range")
    found: int = -1 if start >= len(text) else text.rfind(part, 0, start + len(part))
    return found


def _replace(text: Any, old: Any, new: Any, most: Any = -1) -> str:
    _text(text, old, new)
    most = _number(most)
    count = text.count(old) if most < 0 else min(text.count(old), most)
    _make(len(text) + count * len(new))
    return str(text.replace(old, new, count))


def _split(text: Any, by: Any, most: Any = -1) -> list[str]:
    _text(text, by)
    most = _number(most)
    if most == 0:
        return []
    if by == "":
        letters = list(text)
        return letters if most < 0 or len(letters) <= most else [*letters[: most - 1], "".join(letters[most - 1 :])]
    if most == 1:
        return [text]
    return list(text.split(by) if most < 0 else text.split(by, most - 1))


def _substring(text: Any, start: Any, *end: Any) -> str:
    _text(text)
    start = _number(start)
    last = _number(end[0]) if end else len(text)
    if start < 0 or start > len(text) or last < 0 or last > len(text) or start > last:
        raise EvaluationError("index out of range")
    return str(text[start:last])


def _join(held: Any, by: Any = "") -> str:
    if not isinstance(held, list):
        raise no_overload()
    _text(by, *held)
    _make(sum(map(len, held)) + len(held) * len(by))
    return str(by.join(held))


def _ascii(text: str, *, upper: bool) -> str:
    return "".join((letter.upper() if upper else letter.lower()) if letter.isascii() else letter for letter in text)


def of_double(value: float) -> str:
    """A double with the least digits, as strconv.FormatFloat(value, 'g', -1, 64) of Go writes it."""
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    letters = "".join(map(str, digits)).rstrip("0") or "0"
    power = len(digits) + int(exponent) - 1 if value else 0
    minus = "-" if sign else ""
    if power < -4 or power >= EXPONENT:
        fraction = f".{letters[1:]}" if len(letters) > 1 else ""
        return f"{minus}{letters[0]}{fraction}e{'-' if power < 0 else '+'}{abs(power):02}"
    return minus + format(Decimal(repr(abs(value))), "f").removesuffix(".0")


def _quote(text: str) -> str:
    return '"' + "".join(QUOTED.get(letter, letter) for letter in text) + '"'


RUN: dict[str, Callable[..., Any]] = {
    "matches": lambda text, of: _first(text, of) is not None,
    "find": _find,
    "findAll": _find_all,
    "startsWith": _on_texts(lambda text, part: text.startswith(part)),
    "endsWith": _on_texts(lambda text, part: text.endswith(part)),
    "contains": _on_texts(lambda text, part: part in text),
    "charAt": _char_at,
    "lowerAscii": _on_texts(lambda text: _ascii(text, upper=False)),
    "upperAscii": _on_texts(lambda text: _ascii(text, upper=True)),
    "trim": _on_texts(lambda text: text.strip(BLANKS)),
    "replace": _replace,
    "split": _split,
    "substring": _substring,
    "join": _join,
    "strings.quote": _on_texts(_quote),
}
