"""The functions of CEL that Kubernetes offers, and what they do.

RUN has the function of each name; it gets receiver and arguments, and checks their types itself, because values of dynamic type
come from objects.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise

from krm_fn.policies import kubernetes, lists, named_formats, texts, times
from krm_fn.policies.arithmetic import LEAST, MOST, divided, integer, minus, modulus, negated, plus, same_kind, unsigned
from krm_fn.policies.arithmetic import times as product
from krm_fn.policies.errors import EvaluationError, Unsupported, no_overload
from krm_fn.policies.formatting import formatted
from krm_fn.policies.values import NONE, Opaque, Optional, Type, UInt, contains, has_key, is_number, known, same, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def order(one: Any, other: Any) -> int:
    """-1, 0 or 1; None is no order, as of NaN. Raises: EvaluationError for values that have none."""
    if is_number(one) and is_number(other):
        if math.isnan(one) or math.isnan(other):
            raise Unsupported("a comparison of NaN")
    else:
        kind = same_kind(one, other)
        if kind in ("timestamp", "duration"):
            one, other = one.key, other.key
        elif kind == "string":
            one, other = one.encode(), other.encode()
        elif kind != "bool":
            raise no_overload()
    return int(one > other) - int(one < other)


def _in(value: Any, held: Any) -> bool:
    if isinstance(held, list):
        return contains(held, value)
    if isinstance(held, dict):
        return has_key(held, value)
    raise no_overload()


def _size(value: Any) -> int:
    if not isinstance(value, str | list | dict):
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
            if not re.fullmatch(r"[-+]?[0-9]+", value):
                raise EvaluationError("conversion")
            return integer(int(value))
        case "timestamp":
            return int(value.key // 10**9)
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
            if not re.fullmatch(r"[0-9]+", value):
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
        if re.fullmatch(r"[-+]?(inf|infinity|nan|0[xX].*|.*_.*)", value, re.IGNORECASE):
            raise Unsupported("a number in a rare form")
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
            return kubernetes.text(value)
    raise no_overload()


def _type(value: Any) -> Type:
    return Type(name=type_name(value))


def _zero(value: Any) -> bool:
    if isinstance(value, Opaque | Optional | Type):
        raise Unsupported("optional.ofNonZeroValue() of this type")
    return value is None or value is False or (not isinstance(value, bool) and not value)


def _listed(*values: Any) -> None:
    if not all(isinstance(value, list) for value in values):
        raise no_overload()


def _subset(one: Any, other: Any) -> bool:
    _listed(one, other)
    return all(contains(one, value) for value in other)


def _equivalent(one: Any, other: Any) -> bool:
    return _subset(one, other) and _subset(other, one)


def _intersects(one: Any, other: Any) -> bool:
    _listed(one, other)
    return any(contains(one, value) for value in other)


def _has_value(value: Any) -> bool:
    return bool(_optional(value).held)


def _optional(value: Any) -> Optional:
    if not isinstance(value, Optional):
        raise no_overload()
    return value


def _value(value: Any) -> Any:
    if not _optional(value).held:
        raise EvaluationError("optional.none() dereference")
    return known(value.held[0])


def _index_of(held: Any, *rest: Any) -> int:
    if isinstance(held, list):
        if len(rest) > 1:
            raise no_overload()
        return next((number for number, each in enumerate(held) if same(each, rest[0])), -1)
    return texts.index_of(held, *rest)


def _last_index_of(held: Any, *rest: Any) -> int:
    if isinstance(held, list):
        if len(rest) > 1:
            raise no_overload()
        return next((number for number in reversed(range(len(held))) if same(held[number], rest[0])), -1)
    return texts.last_index_of(held, *rest)


def _sorted(held: Any) -> bool:
    _listed(held)
    return all(order(one, other) <= 0 for one, other in pairwise(held))


def _sum(held: Any) -> Any:
    _listed(held)
    if not held:
        raise Unsupported("the sum of an empty list")
    total = held[0]
    for each in held[1:]:
        total = plus(total, each)
    if type_name(total) not in ("int", "uint", "double", "duration"):
        raise no_overload()
    return total


def _extreme(sign: int) -> Callable[[Any], Any]:
    def of(held: Any) -> Any:
        _listed(held)
        if not held:
            raise EvaluationError("the list is empty")
        found = held[0]
        order(found, found)
        for each in held[1:]:
            found = each if order(each, found) * sign > 0 else found
        return found

    return of


def _compared(name: str) -> Callable[[Any, Any], Any]:
    def of(one: Any, other: Any) -> Any:
        if type_name(one) not in ("quantity", "semver") or type_name(one) != type_name(other):
            raise no_overload()
        sign = (one.key > other.key) - (one.key < other.key)
        return sign if name == "compareTo" else sign < 0 if name == "isLessThan" else sign > 0

    return of


RUN: dict[str, Callable[..., Any]] = {
    "+": plus,
    "-": minus,
    "*": product,
    "/": divided,
    "%": modulus,
    "-_": negated,
    "==": same,
    "!=": lambda one, other: not same(one, other),
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
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "isSorted": _sorted,
    "sum": _sum,
    "min": _extreme(-1),
    "max": _extreme(1),
    "sets.contains": _subset,
    "sets.equivalent": _equivalent,
    "sets.intersects": _intersects,
    "optional.of": lambda value: Optional(held=(value,)),
    "optional.ofNonZeroValue": lambda value: NONE if _zero(value) else Optional(held=(value,)),
    "optional.none": lambda: NONE,
    "hasValue": _has_value,
    "value": _value,
    "compareTo": _compared("compareTo"),
    "isLessThan": _compared("isLessThan"),
    "isGreaterThan": _compared("isGreaterThan"),
    "format": formatted,
    "sort": lambda value: lists.ordered(value, value if isinstance(value, list) else [], order),
    **texts.RUN,
    **lists.RUN,
    **named_formats.RUN,
    **times.RUN,
    **kubernetes.RUN,
}
