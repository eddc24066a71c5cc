"""The functions of CEL that Kubernetes offers, and what they do.

RUN has the function of each name; it gets receiver and arguments, and checks their types itself, because values of dynamic type
come from objects.
"""

from __future__ import annotations

import math
import re

from krm_fn.base.annotations import Any, Callable
from krm_fn.policies import addresses, amounts, lists, named_formats, texts, times, urls
from krm_fn.policies.arithmetic import LEAST, MOST, divided, integer, minus, modulus, negated, order, plus, unsigned
from krm_fn.policies.arithmetic import times as product
from krm_fn.policies.errors import EvaluationError, Unsupported, no_overload
from krm_fn.policies.formatting import formatted
from krm_fn.policies.values import NONE, Opaque, Optional, Type, UInt, contains, has_key, is_number, same, type_name

LARGEST_NUMBER = 4_000  # digits that Python reads


def _not(value: Any) -> bool:
    if not isinstance(value, bool):
        raise no_overload()
    return not value


def _in(value: Any, held: Any) -> bool:
    if isinstance(held, list):
        return contains(held, value)
    if isinstance(held, dict):
        if isinstance(value, bytes):
            raise Unsupported("bytes as the key of a map")
        return has_key(held, value)
    raise no_overload()


def _size(value: Any) -> int:
    if not isinstance(value, str | bytes | list | dict):
        raise no_overload()
    return len(value)


def _int(value: Any) -> int:
    match type_name(value):
        case "int":
            return int(value)
        case "uint":
            return integer(int(value))
        case "double":
            if math.isnan(value) or math.isinf(value) or not LEAST < value < MOST:
                raise EvaluationError("integer overflow")
            return int(value)
        case "string":
            if len(value) > LARGEST_NUMBER or not re.fullmatch(r"[-+]?[0-9]+", value):
                raise EvaluationError("conversion")
            return integer(int(value))
        case "timestamp":
            return int(value.key // 10**9)
        case "duration":
            return int(value.key)
    raise no_overload()


def _uint(value: Any) -> UInt:
    match type_name(value):
        case "uint":
            return UInt(value)
        case "int":
            return unsigned(value)
        case "double":
            if math.isnan(value) or value < 0 or value >= 2.0**64:
                raise EvaluationError("unsigned integer overflow")
            return UInt(int(value))
        case "string":
            if len(value) > LARGEST_NUMBER or not re.fullmatch(r"[0-9]+", value):
                raise EvaluationError("conversion")
            return unsigned(int(value))
    raise no_overload()


def _double(value: Any) -> float:
    if is_number(value):
        return float(value)
    if isinstance(value, str):
        if re.fullmatch(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?", value):
            found = float(value)
            if math.isinf(found):
                raise EvaluationError("conversion")
            return found
        if re.fullmatch(r"[-+]?inf(?:inity)?|nan", value, re.IGNORECASE):
            return float(value)
        if re.fullmatch(r"[-+]?(?:0[xX].*|[0-9._eE+-]*_[0-9._eE+-]*)", value):
            raise Unsupported("a number with underscores or of base 16")
        raise EvaluationError("conversion")
    raise no_overload()


def _bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        if value in ("1", "t", "T", "TRUE", "true", "True"):
            return True
        if value in ("0", "f", "F", "FALSE", "false", "False"):
            return False
        raise EvaluationError("conversion")
    raise no_overload()


def _string(value: Any) -> str:  # noqa: PLR0911  one answer for each type
    match type_name(value):
        case "string":
            return str(value)
        case "bool":
            return "true" if value else "false"
        case "int" | "uint":
            return str(int(value))
        case "double":
            return texts.of_double(value)
        case "timestamp":
            return times.timestamp_text(value)
        case "duration":
            return times.duration_text(value)
        case "ip" | "cidr":
            return addresses.text(value)
        case "bytes":
            return _decoded(value)
    raise no_overload()


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def _bytes(value: Any) -> bytes:
    if not isinstance(value, str | bytes):
        raise no_overload()
    return value.encode() if isinstance(value, str) else value


def _type(value: Any) -> Type:
    return Type(name=type_name(value))


def _is_zero(value: Any) -> bool:
    """True for the value of a type that counts as none."""
    if isinstance(value, Opaque):
        return (value.kind, value.key) in {("duration", 0), ("timestamp", times.ZERO)}
    return not isinstance(value, Optional | Type) and not value


def _has_value(value: Any) -> bool:
    return bool(_optional(value).held)


def _optional(value: Any) -> Optional:
    if not isinstance(value, Optional):
        raise no_overload()
    return value


def _value(value: Any) -> Any:
    if not _optional(value).held:
        raise EvaluationError("optional.none() dereference")
    return value.held[0]


def _index_of(held: Any, *rest: Any) -> int:
    if isinstance(held, list):
        if len(rest) > 1:
            raise no_overload()
        return next((number for number, each in enumerate(held) if contains((each,), rest[0])), -1)
    return texts.index_of(held, *rest)


def _last_index_of(held: Any, *rest: Any) -> int:
    if isinstance(held, list):
        if len(rest) > 1:
            raise no_overload()
        return next((number for number in reversed(range(len(held))) if contains((held[number],), rest[0])), -1)
    return texts.last_index_of(held, *rest)


def _compared(name: str) -> Callable[[Any, Any], Any]:
    def of(one: Any, other: Any) -> Any:
        if type_name(one) not in ("quantity", "semver") or type_name(one) != type_name(other):
            raise no_overload()
        apart = amounts.compared(one, other) if one.kind == "quantity" else (one.key > other.key) - (one.key < other.key)
        sign = int(apart > 0) - int(apart < 0)
        return sign if name == "compareTo" else sign < 0 if name == "isLessThan" else sign > 0

    return of


def _never(*_: Any) -> Any:
    """A function of the authorizer, whose values are known to the cluster only."""
    raise no_overload()


AUTHORIZER: tuple[str, ...] = ("path", "group", "serviceAccount", "resource", "subresource", "namespace", "name", "check")
AUTHORIZER += ("fieldSelector", "labelSelector", "allowed", "reason", "error", "errored")
RUN: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(AUTHORIZER, _never),
    "+": plus,
    "-": minus,
    "*": product,
    "/": divided,
    "%": modulus,
    "-_": negated,
    "==": same,
    "!=": lambda one, other: not contains((other,), one),
    "<": lambda one, other: order(one, other) < 0,
    "<=": lambda one, other: order(one, other) <= 0,
    ">": lambda one, other: order(one, other) > 0,
    ">=": lambda one, other: order(one, other) >= 0,
    "in": _in,
    "size": _size,
    "type": _type,
    "int": _int,
    "uint": _uint,
    "double": _double,
    "bool": _bool,
    "string": _string,
    "dyn": lambda value: value,
    "timestamp": times.timestamp,
    "duration": times.duration,
    "bytes": _bytes,
    "!_": _not,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "optional.of": lambda value: Optional(held=(value,)),
    "optional.ofNonZeroValue": lambda value: NONE if _is_zero(value) else Optional(held=(value,)),
    "optional.none": lambda: NONE,
    "hasValue": _has_value,
    "value": _value,
    "compareTo": _compared("compareTo"),
    "isLessThan": _compared("isLessThan"),
    "isGreaterThan": _compared("isGreaterThan"),
    "format": formatted,
    **texts.RUN,
    **lists.RUN,
    **named_formats.RUN,
    **times.RUN,
    **amounts.RUN,
    **addresses.RUN,
    **urls.RUN,
}
