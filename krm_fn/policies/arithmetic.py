"""Arithmetic of CEL: both sides have one type, and integers have 64 bits."""

from __future__ import annotations

import math

from krm_fn.base.annotations import Any
from krm_fn.policies import times as moments
from krm_fn.policies.errors import EvaluationError, no_overload
from krm_fn.policies.values import Opaque, UInt, is_number, type_name

LEAST, MOST = -(2**63), 2**63 - 1


def integer(value: int) -> int:
    """An integer in the range of 64 bits. Raises: EvaluationError."""
    if not LEAST <= value <= MOST:
        raise EvaluationError("integer overflow")
    return int(value)


def unsigned(value: int) -> UInt:
    if not 0 <= value < 2**64:
        raise EvaluationError("unsigned integer overflow")
    return UInt(value)


def same_kind(one: Any, other: Any) -> str:
    kind = type_name(one)
    if kind != type_name(other):
        raise no_overload()
    return kind


def order(one: Any, other: Any) -> int:
    """-1, 0 or 1. Raises: EvaluationError for values that have no order."""
    if type(one) is int and type(other) is int:
        return (one > other) - (one < other)
    if is_number(one) and is_number(other):
        if math.isnan(one) or math.isnan(other):
            raise EvaluationError("NaN values cannot be ordered")
        if isinstance(one, float) or isinstance(other, float):
            one, other = float(one), float(other)
    else:
        kind = same_kind(one, other)
        if kind in ("timestamp", "duration"):
            one, other = one.key, other.key
        elif kind not in ("bool", "bytes", "string"):
            raise no_overload()
    return int(one > other) - int(one < other)


def plus(one: Any, other: Any) -> Any:
    if type(one) is int and type(other) is int:
        return integer(one + other)
    kinds = type_name(one), type_name(other)
    if "timestamp" in kinds or "duration" in kinds:
        return moments.plus(one, other)
    match same_kind(one, other):
        case "int":
            return integer(one + other)
        case "uint":
            return unsigned(int(one) + int(other))
        case "double" | "string" | "list" | "bytes":
            return one + other
    raise no_overload()


def minus(one: Any, other: Any) -> Any:
    if isinstance(one, Opaque):
        return moments.minus(one, other)
    match same_kind(one, other):
        case "int":
            return integer(one - other)
        case "uint":
            return unsigned(int(one) - int(other))
        case "double":
            return one - other
    raise no_overload()


def times(one: Any, other: Any) -> Any:
    match same_kind(one, other):
        case "int":
            return integer(one * other)
        case "uint":
            return unsigned(int(one) * int(other))
        case "double":
            return one * other
    raise no_overload()


def divided(one: Any, other: Any) -> Any:
    kind = same_kind(one, other)
    if kind == "double":
        if other == 0:
            return math.nan if one == 0 or math.isnan(one) else math.copysign(math.inf, one) * math.copysign(1, other)
        return one / other
    if kind not in ("int", "uint"):
        raise no_overload()
    if other == 0:
        raise EvaluationError("division by zero")
    quotient = abs(int(one)) // abs(int(other))
    return UInt(quotient) if kind == "uint" else integer(quotient if (one < 0) == (other < 0) else -quotient)


def modulus(one: Any, other: Any) -> Any:
    kind = same_kind(one, other)
    if kind not in ("int", "uint"):
        raise no_overload()
    if other == 0:
        raise EvaluationError("modulus by zero")
    if kind == "int" and (one, other) == (LEAST, -1):
        raise EvaluationError("integer overflow")
    rest = abs(int(one)) % abs(int(other))
    return UInt(rest) if kind == "uint" else integer(-rest if one < 0 else rest)


def negated(value: Any) -> Any:
    if isinstance(value, float):
        return -value
    if type_name(value) != "int":
        raise no_overload()
    return integer(-value)
