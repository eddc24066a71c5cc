"""The function `format` of CEL: `'%s has %d'.format([name, count])`."""

from __future__ import annotations

import re

from krm_fn.policies import texts, times
from krm_fn.policies.errors import EvaluationError, Unsupported, no_overload
from krm_fn.policies.values import Opaque, Type, UInt, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

CLAUSE = re.compile(r"%(?:(%)|(\.\d+)?([a-zA-Z])|(.?))", re.DOTALL)


def formatted(text: Any, values: Any) -> str:
    """The text with the values in place of its clauses. Raises: EvaluationError, Unsupported."""
    if not isinstance(text, str) or not isinstance(values, list):
        raise no_overload()
    waiting = iter(values)
    found = CLAUSE.sub(lambda clause: "%" if clause[1] else _clause(clause, waiting), text)
    if next(waiting, waiting) is not waiting:
        raise Unsupported("format() with more values than clauses")
    return found


def _clause(clause: re.Match[str], waiting: Iterator[Any]) -> str:
    _, precision, verb, wrong = clause.groups()
    if wrong is not None or verb not in "sdfexXob":
        raise EvaluationError("a clause of format() that is not known")
    try:
        value = next(waiting)
    except StopIteration:
        raise EvaluationError("format() with too few values") from None
    if verb == "s":
        return written(value, inside=False)
    if verb in "fe":
        return _fixed(value, int(precision[1:]) if precision else 6, verb)
    return _whole(value, verb)


def _fixed(value: Any, digits: int, verb: str) -> str:
    if type_name(value) != "double":
        raise EvaluationError("a value of another type in format()")
    if verb == "e" or digits > 20 or not abs(value) < 1000:
        raise Unsupported(f"%{verb} in format() with such a value")
    return format(value, f".{digits}f")


def _whole(value: Any, verb: str) -> str:
    kind = type_name(value)
    if verb == "b" and kind == "bool":
        return "1" if value else "0"
    if kind not in ("int", "uint"):
        if verb in "xX" and kind == "string":
            found = value.encode().hex()
            return str(found.upper() if verb == "X" else found)
        if kind == "double" and verb == "d":
            raise Unsupported(f"%{verb} in format() with such a value")
        raise EvaluationError("a value of another type in format()")
    number = int(value)
    return format(number, {"d": "d", "x": "x", "X": "X", "o": "o", "b": "b"}[verb])


def written(value: Any, *, inside: bool) -> str:  # noqa: C901, PLR0911  one answer for each type
    """A value as %s writes it. Texts inside of lists and maps are quoted."""
    if isinstance(value, str):
        if inside and (not value.isprintable() or '"' in value or "\\" in value):
            raise Unsupported("%s in format() with such a text")
        return f'"{value}"' if inside else value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | UInt):
        return str(int(value))
    if isinstance(value, float):
        return texts.of_double(value)
    if isinstance(value, list):
        return f"[{', '.join(written(each, inside=True) for each in value)}]"
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise Unsupported("%s in format() with such a map")
        return "{" + ", ".join(f"{written(key, inside=True)}:{written(value[key], inside=True)}" for key in sorted(value)) + "}"
    if isinstance(value, Type):
        return value.name
    if isinstance(value, Opaque) and value.kind in ("timestamp", "duration") and not inside:
        return times.timestamp_text(value) if value.kind == "timestamp" else times.duration_text(value)
    raise Unsupported("%s in format() with such a value")
