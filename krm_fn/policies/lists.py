"""The functions of CEL for lists."""

from __future__ import annotations

from functools import cmp_to_key
from itertools import pairwise

from krm_fn.base.annotations import Any, Callable
from krm_fn.base.work import WORK
from krm_fn.policies.arithmetic import order, plus
from krm_fn.policies.errors import EvaluationError, Unsupported, no_overload
from krm_fn.policies.times import of_duration
from krm_fn.policies.values import NO_ORDER, NONE, Optional, UInt, Unordered, contains, type_name

MOST = 1_000_000  # elements of a range
STABLE = 12  # elements of a list that Go's sort leaves in their order if their keys are equal
COMPARABLE = frozenset(("bool", "int", "uint", "double", "string", "bytes", "duration", "timestamp"))
ZEROS: dict[str, Any] = {"int": 0, "uint": UInt(0), "double": 0.0, "duration": of_duration(0)}


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
    held = _held(value)
    if all(isinstance(each, str) for each in held):
        return list(dict.fromkeys(held))
    found: list[Any] = []
    for each in held:
        if not contains(found, each):
            found.append(each)
    return found


def _subset(one: Any, other: Any) -> bool:
    held, others = _held(one), _held(other)
    return all(contains(held, value) for value in others)


def _intersects(one: Any, other: Any) -> bool:
    held, others = _held(one), _held(other)
    return any(contains(others, value) for value in held)


def _unwrapped(value: Any) -> list[Any]:
    found: list[Any] = []
    for each in _held(value):
        if not isinstance(each, Optional):
            raise EvaluationError("a value that is not optional")
        found += each.held
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
    WORK.spend(len(found))
    return found


def _slice(value: Any, start: Any, end: Any) -> list[Any]:
    held, start, end = _held(value), _whole(start), _whole(end)
    if start < 0 or end < 0 or start > end or end > len(held):
        raise EvaluationError("a slice that is out of range")
    return held[start:end]


def sorted_by_keys(value: Any, keys: Any) -> list[Any]:
    """The elements of a list in the order of their keys, which have one type. Raises: EvaluationError."""
    held = _held(value)
    if not keys:
        return held
    kind = type_name(keys[0])
    if kind not in COMPARABLE:
        raise EvaluationError("list elements must be comparable")
    if any(type_name(key) != kind for key in keys):
        raise EvaluationError("list elements must have the same type")
    WORK.spend(4 * len(keys) * len(keys).bit_length())
    by = cmp_to_key(order)
    found = sorted(zip(keys, held, strict=True), key=lambda pair: by(pair[0]))
    may_differ = isinstance(held, Unordered) or len(held) > STABLE
    if may_differ and held is not keys and any(order(one, other) == 0 for (one, _), (other, _) in pairwise(found)):
        raise Unsupported("a list in the order of keys of which some are equal")
    return [each for _, each in found]


def _is_sorted(value: Any) -> bool:
    return not any(_compared(one, other) == 1 for one, other in pairwise(_comparable(value)))


def _comparable(value: Any) -> list[Any]:
    """A list whose elements have an order. Raises: EvaluationError."""
    held = _held(value)
    if any(type_name(each) not in COMPARABLE for each in held):
        raise no_overload()
    return held


def _compared(one: Any, other: Any) -> int | None:
    """The order of two elements; None if there is none."""
    try:
        return order(one, other)
    except EvaluationError:
        return None


def _extreme(name: str, sign: int) -> Callable[[Any], Any]:
    def of(value: Any) -> Any:
        held = _comparable(value)
        if not held:
            raise EvaluationError(f"{name} called on empty list")
        found = held[0]
        for each in held[1:]:
            found = each if _compared(found, each) == sign else found
        return found

    return of


def _sum(value: Any) -> Any:
    held = _held(value)
    kind = type_name(held[0]) if held else "int"
    if kind not in ZEROS:
        raise no_overload()
    if kind == "double" and isinstance(held, Unordered):
        raise Unsupported(NO_ORDER)
    total = ZEROS[kind]
    for each in held:
        total = plus(total, each)
    return total


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
    "sort": lambda value: sorted_by_keys(value, value),
    "isSorted": _is_sorted,
    "sum": _sum,
    "min": _extreme("min", 1),
    "max": _extreme("max", -1),
    "sets.contains": _subset,
    "sets.equivalent": lambda one, other: _subset(one, other) and _subset(other, one),
    "sets.intersects": _intersects,
    "optional.unwrap": _unwrapped,
    "unwrapOpt": _unwrapped,
}
