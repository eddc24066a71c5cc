"""The function `format` of CEL: `'%s has %d'.format([name, count])`.

upstream: github.com/google/cel-go/ext/formatting.go
"""

from __future__ import annotations

import math
from decimal import Decimal

from krm_fn.base.annotations import Any, Callable, Iterator
from krm_fn.base.work import WORK
from krm_fn.policies import texts, times
from krm_fn.policies.errors import EvaluationError, Unknown, Unsupported, no_overload
from krm_fn.policies.values import LONG_NAMES, NO_ORDER, Unordered, type_name

DIGITS = 6  # behind the point, unless a clause says how many
MOST_DIGITS = 200
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", '"': '\\"', "\\": "\\\\"}


def formatted(text: Any, values: Any) -> str:
    """The text with the values in place of its clauses. Raises: EvaluationError, Unsupported."""
    if not isinstance(text, str) or not isinstance(values, list):
        raise no_overload()
    parts, at = [], 0
    waiting = iter(values)
    for start, end, verb, digits in _found(text, len(values)):
        parts.append(text[at:start].replace("%%", "%"))
        parts.append(_written(verb, digits, next(waiting)))
        at = end
    return "".join((*parts, text[at:].replace("%%", "%")))


def clauses(text: str, count: int) -> Iterator[tuple[str, int | None]]:
    """The verb and the precision of each clause of a text that has so many values. Raises: EvaluationError."""
    return ((verb, digits) for _, _, verb, digits in _found(text, count))


def _found(text: str, count: int) -> Iterator[tuple[int, int, str, int | None]]:
    """Start, end, verb and precision of each clause."""
    at, number = text.find("%"), 0
    while at >= 0:
        if text[at + 1 : at + 2] == "%":
            at = text.find("%", at + 2)
            continue
        if number >= count:
            raise EvaluationError(f"index {number} out of range")
        end = at + 1
        digits = None
        if text[end : end + 1] == ".":
            end += 1
            while text[end : end + 1].isascii() and text[end : end + 1].isdigit():
                end += 1
            digits = _precision(text[at + 2 : end], text[end : end + 1])
        verb = text[end : end + 1]
        if not verb or verb not in VERBS:
            raise EvaluationError("could not parse formatting clause")
        yield at, end + 1, verb, digits
        at, number = text.find("%", end + 1), number + 1


def _precision(digits: str, verb: str) -> int:
    if not verb or not digits:
        raise EvaluationError("could not parse formatting clause")
    if len(digits) > DIGITS:
        raise Unsupported("a clause of format() with a very large precision")
    return int(digits)


def _written(verb: str, digits: int | None, value: Any) -> str:
    if isinstance(value, Unknown):
        raise value
    return VERBS[verb](value, digits)


def _double(value: Any) -> float:
    """A double, or a text that stands for one that is no number."""
    if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    if not isinstance(value, float):
        raise EvaluationError("a value of another type in format()")
    return value


def _fixed(value: Any, digits: int | None) -> str:
    """%f, with commas between groups of three digits, as the English locale of the server has them."""
    number = _double(value)
    if not math.isfinite(number):
        return _not_finite(number)
    return format(number or 0.0, f",.{_checked(digits)}f")


def _scientific(value: Any, digits: int | None) -> str:
    """%e: the exponent is a power of ten in small digits."""
    number = _double(value)
    if not math.isfinite(number):
        return _not_finite(number)
    form = f".{_checked(digits)}e"
    mantissa, _, exponent = format(number or 0.0, form).partition("e")
    if number and mantissa != format(Decimal(repr(number)), form).partition("e")[0]:
        raise Unsupported("%e in format() of a number that lies between two roundings")
    sign, rest = ("-", exponent[1:]) if exponent.startswith("-") else ("", exponent[1:])
    return f"{mantissa}\u202f\u00d7\u202f10{(sign + rest).translate(SUPERSCRIPTS)}"


def _checked(digits: int | None) -> int:
    digits = DIGITS if digits is None else digits
    if digits > MOST_DIGITS:
        raise Unsupported("a clause of format() with a very large precision")
    return digits


def _not_finite(number: float) -> str:
    return "NaN" if math.isnan(number) else "∞" if number > 0 else "-∞"


def _whole(value: Any, form: str, *more: str) -> str:
    """An integer in a base; values of other types as they are allowed."""
    kind = type_name(value)
    if kind not in ("int", "uint", *more):
        raise EvaluationError("a value of another type in format()")
    if kind in ("string", "bytes"):
        found = (value.encode() if kind == "string" else value).hex()
        return str(found.upper() if form == "X" else found)
    return format(int(value), form)


def text_of(value: Any) -> str:  # noqa: C901, PLR0911  one answer for each type
    """A value as %s writes it."""
    match type_name(value):
        case "string":
            return str(value)
        case "null_type":
            return "null"
        case "bool":
            return "true" if value else "false"
        case "int" | "uint":
            return str(int(value))
        case "double":
            return texts.of_double(value)
        case "list":
            if isinstance(value, Unordered):
                raise Unsupported(NO_ORDER)
            return f"[{', '.join(map(_within, value))}]"
        case "map":
            return _map(value)
        case "bytes":
            return _decoded(value)
        case "timestamp":
            return times.timestamp_text(value)
        case "duration":
            return times.duration_text(value)
        case "type":
            return str(LONG_NAMES.get(value.name, value.name))
    raise EvaluationError("a value of another type in format()")


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes") from None


def _map(value: dict[Any, Any]) -> str:
    pairs = sorted((_key(key), _within(each)) for key, each in value.items())
    return "{" + ", ".join(f"{key}:{each}" for key, each in pairs) + "}"


def _key(key: Any) -> str:
    key = key[1] if isinstance(key, tuple) else key
    return quoted(key) if isinstance(key, str) else text_of(key)


def _within(value: Any) -> str:  # noqa: PLR0911  one answer for each type
    """A value inside of a list or a map: texts in quotes, doubles with six digits."""
    WORK.spend(4)
    match type_name(value):
        case "string":
            return quoted(value)
        case "bytes":
            return f"b{quoted(_decoded(value))}"
        case "double":
            if not math.isfinite(value):
                return '"NaN"' if math.isnan(value) else '"+Inf"' if value > 0 else '"-Inf"'
            return format(value, f".{DIGITS}f")
        case "timestamp":
            return f'timestamp("{times.timestamp_text(value)}")'
        case "duration":
            return f'duration("{times.duration_text(value)}")'
    return text_of(value)


def quoted(text: str) -> str:
    """A text in quotes, as Go's %q writes it."""
    WORK.spend(len(text))
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(letter: str) -> str:
    if letter in ESCAPES:
        return ESCAPES[letter]
    if letter.isprintable():
        return letter
    number = ord(letter)
    if number < 0x80:
        return f"\\x{number:02x}"
    if letter == "\ufffd" or not letter.isspace():
        raise Unsupported("a text with characters that may not be printable")
    return f"\\u{number:04x}"


VERBS: dict[str, Callable[[Any, int | None], str]] = {
    "s": lambda value, _: text_of(value),
    "d": lambda value, _: _whole(value, "d"),
    "f": _fixed,
    "e": _scientific,
    "b": lambda value, _: _whole(value, "b", "bool"),
    "x": lambda value, _: _whole(value, "x", "string", "bytes"),
    "X": lambda value, _: _whole(value, "X", "string", "bytes"),
    "o": lambda value, _: _whole(value, "o"),
}
