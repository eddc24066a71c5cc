"""The functions of CEL for lists."""

from __future__ import annotations

from functools import cmp_to_key

from krm_fn.policies.errors import EvaluationError, Unsupported, no_overload
from krm_fn.policies.values import NONE, Optional, contains, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MOST = 10_000  # elements of a range


def _held(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise no_overload()
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise no_overload()
    return int(value)


def _range(count: Any) -> list[int]:
    count = _whole(count)
    if count > MOST:
        raise Unsupported("a long range")
    return list(range(max(count, 0)))


def _distinct(value: Any) -> list[Any]:
    found: list[Any] = []
    for each in _held(value):
        if not contains(found, each):
            found.append(each)
    return found


def _flatten(value: Any, depth: Any = 1) -> list[Any]:
    depth = _whole(depth)
    if depth < 0:
        raise EvaluationError("a negative level")
    found: list[Any] = []
    for each in _held(value):
        if isinstance(each, list) and depth:
            found += _flatten(each, depth - 1)
        else:
            found.append(each)
    return found


def _slice(value: Any, start: Any, end: Any) -> list[Any]:
    held, start, end = _held(value), _whole(start), _whole(end)
    if start < 0 or end < 0 or start > end or end > len(held):
        raise EvaluationError("a slice that is out of range")
    return held[start:end]


def ordered(value: Any, keys: list[Any], order: Callable[[Any, Any], int]) -> list[Any]:
    """The elements of a list in the order of their keys, which have one type. Raises: EvaluationError."""
    held = _held(value)
    if any(type_name(key) != type_name(keys[0]) for key in keys):
        raise EvaluationError("keys of different types")
    if keys:
        order(keys[0], keys[0])
    by = cmp_to_key(order)
    return [each for _, each in sorted(zip(keys, held, strict=True), key=lambda pair: by(pair[0]))]


def _end(place: int) -> Callable[[Any], Optional]:
    def of(value: Any) -> Optional:
        held = _held(value)
        return Optional(held=(held[place],)) if held else NONE

    return of


RUN: dict[str, Callable[..., Any]] = {
    "lists.range": _range,
    "distinct": _distinct,
    "flatten": _flatten,
    "slice": _slice,
    "reverse": lambda value: _held(value)[::-1],
    "first": _end(0),
    "last": _end(-1),
}
