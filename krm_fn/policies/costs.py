"""Calls of functions: which values they take, what they make of errors, and what they cost in the units of the API server.

Most calls cost one; those that go through a text or a list cost by its size.

upstream: github.com/google/cel-go/interpreter/runtimecost.go, ext/lists.go, ext/sets.go;
k8s.io/apiserver/pkg/cel/library/cost.go;
github.com/google/cel-go/interpreter/interpretable.go, common/decls/decls.go
"""

from __future__ import annotations

import math

from krm_fn.base.annotations import Any, Callable, Sequence
from krm_fn.base.work import WORK
from krm_fn.policies.attributes import BAD
from krm_fn.policies.errors import AbortedError, EvaluationError, RefusedError, Unknown, Unsupported, no_overload
from krm_fn.policies.functions import RUN
from krm_fn.policies.named_formats import SIZES
from krm_fn.policies.running import Frame, Step
from krm_fn.policies.signatures import SIGNATURES, Overload
from krm_fn.policies.texts import LONGEST
from krm_fn.policies.values import NO_ORDER, Opaque, Optional, Unordered, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.policies.signatures import Overload


Cost = Callable[[Sequence[Any], Any], int]  # of receiver and arguments, and the result


LIST, MAP = 10, 30  # to make one
TRAVERSAL, PATTERN = 0.1, 0.25  # of a text, of a regular expression; for each character
CHECK = 350_000  # to ask the authorizer


def size(value: Any) -> int:
    """The size of a value: of a text, a list or a map, of an address in bytes; 1 for all others."""
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    if isinstance(value, Opaque) and value.kind == "ip":
        return int(value.key.max_prefixlen // 8)
    if isinstance(value, Opaque) and value.kind == "cidr":
        return -(-int(value.key[1]) // 8)
    return 1


def _size_in_optional(value: Any) -> int:
    while isinstance(value, Optional) and value.held:
        value = value.held[0]
    return size(value)


def _part(value: Any, factor: float = TRAVERSAL) -> int:
    return math.ceil(size(value) * factor)


def traversal(value: Any) -> int:
    """The cost of going through a value and all within it."""
    WORK.spend(2)
    if isinstance(value, str):
        return int(len(value.encode()) * TRAVERSAL)
    if isinstance(value, bytes):
        return int(len(value) * TRAVERSAL)
    if isinstance(value, list):
        return sum(map(traversal, value))
    if isinstance(value, dict):
        return sum(traversal(key) + traversal(each) for key, each in value.items())
    return 1


def _pattern(values: Sequence[Any], _: Any) -> int:
    return math.ceil((1.0 + size(values[0])) * TRAVERSAL) * _part(values[1], PATTERN)


def _validation(values: Sequence[Any], _: Any) -> int:
    form = values[0]
    if not isinstance(form, Opaque) or form.kind != "format":
        return 1
    return math.ceil((1.0 + size(values[1])) * TRAVERSAL) * math.ceil(SIZES[form.key] * PATTERN)


def _smaller(values: Sequence[Any], _: Any) -> int:
    return math.ceil(min(map(_size_in_optional, values)) * TRAVERSAL)


def _equality(values: Sequence[Any], result: Any) -> int:
    return 1 if isinstance(values[0], Opaque) and values[0].kind not in ("timestamp", "duration") else _smaller(values, result)


def _within(values: Sequence[Any], of_text: bool) -> int:
    cost = math.ceil((size(values[0]) + size(values[0])) * TRAVERSAL)
    return cost + (_part(values[1]) if of_text else 0)


def _comparing(keys: Any) -> int:
    """The cost of comparing each element of a list with each other."""
    if isinstance(keys, Unknown):
        return 1 + LIST
    if not isinstance(keys, list):
        raise AbortedError("internal error: no list")  # the API server's own count of costs fails then
    factor = 2.0 + (TRAVERSAL if keys and isinstance(keys[0], str | bytes) else 0)
    return int(len(keys) * len(keys) * factor) + 1 + LIST


def _flattening(values: Sequence[Any], _: Any) -> int:
    depth = values[1] if len(values) == 2 else 1
    if isinstance(depth, Unknown):
        return 1 + LIST
    if not isinstance(depth, int):
        raise AbortedError("internal error: no integer")
    cost = int(size(values[0]) * float(depth)) + 1 + LIST
    if cost < 0:
        raise AbortedError("operation cancelled: actual cost limit exceeded")  # as an unsigned number it is a large one
    return cost


def _selector(values: Sequence[Any], _: Any) -> int:
    length = size(values[1])
    return LIST + math.ceil(length * TRAVERSAL) + math.ceil(math.ceil(length * 0.5) * 50)


def _first(factor: float) -> Cost:
    return lambda values, _: _part(values[0], factor)


# Of a function, whatever its overload.
BY_NAME: dict[str, Cost] = {
    "check": lambda *_: CHECK,
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), lambda values, _: traversal(values[0])),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _first(TRAVERSAL)),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _first(TRAVERSAL)),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _first(2 * TRAVERSAL)),
    "join": lambda _, result: _part(result, 2 * TRAVERSAL),
    **dict.fromkeys(("find", "findAll"), _pattern),
    "validate": _validation,
    "==": _equality,
    "!=": _smaller,
}
# Of the only overload of a call, by the name and the types that it takes.
BY_OVERLOAD: dict[tuple[str, tuple[Any, ...]], Cost] = {
    ("ip", ("string",)): _first(TRAVERSAL),
    ("containsIP", ("cidr", "string")): lambda values, _: _within(values, of_text=True),
    ("containsCIDR", ("cidr", "string")): lambda values, _: _within(values, of_text=True) + _part(values[0]) + 1,
    **dict.fromkeys(
        (
            ("bytes", ("string",)),
            ("string", ("bytes",)),
            ("strings.quote", ("string",)),
            ("format", ("string", ("list", "dyn"))),
        ),
        _first(TRAVERSAL),
    ),
    **dict.fromkeys(
        (("startsWith", ("string", "string")), ("endsWith", ("string", "string"))), lambda values, _: _part(values[1])
    ),
    ("in", ("A", ("list", "A"))): lambda values, _: size(values[1]),
    **{(sign, (kind, kind)): _smaller for sign in ("<", "<=", ">", ">=") for kind in ("string", "bytes")},
    **{
        ("+", (kind, kind)): lambda values, _: math.ceil((size(values[0]) + size(values[1])) * TRAVERSAL)
        for kind in ("string", "bytes")
    },
    ("contains", ("string", "string")): lambda values, _: _part(values[0]) * _part(values[1]),
}
METHODS: dict[str, Cost] = {"matches": _pattern}
# Of lists, with the only overload of a call.
LISTS: dict[str, Cost] = {
    **dict.fromkeys(("slice", "lists.range", "reverse"), lambda _, result: size(result) + 1 + LIST),
    "flatten": _flattening,
    **dict.fromkeys(("distinct", "sort"), lambda values, _: _comparing(values[0])),
    "@sortByAssociatedKeys": lambda values, _: _comparing(values[1]),
    **dict.fromkeys(("sets.contains", "sets.intersects"), lambda values, _: 1 + size(values[0]) * size(values[1])),
    "sets.equivalent": lambda values, _: 1 + 2 * size(values[0]) * size(values[1]),
}


def cost_of(name: str, overloads: tuple[Overload, ...]) -> Cost | None:
    """The cost of a call with these overloads; None if it is one unit."""
    if len(overloads) == 1:
        (only,) = overloads
        found = LISTS.get(name) or BY_OVERLOAD.get((name, only.takes)) or (METHODS.get(name) if only.is_method else None)
        if found:
            return found
    if name in NOT_ALONE and len(overloads) > 1:
        return NOT_ALONE[name]
    return BY_NAME.get(name)


# Where several overloads are possible.
NOT_ALONE: dict[str, Cost] = {
    "ip": _first(TRAVERSAL),
    "containsIP": lambda values, _: _within(values, of_text=False),
    "containsCIDR": lambda values, _: _within(values, of_text=False) + _part(values[0]) + 1,
}
BY_NAME["containsIP"], BY_NAME["containsCIDR"] = NOT_ALONE["containsIP"], NOT_ALONE["containsCIDR"]


# The functions that do not look which of their overloads is meant: what they take decides.
BY_VALUE = frozenset(
    ("!_", "-_", "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "size", "type", "dyn", "matches")
)
BY_VALUE |= {"sort", "@sortByAssociatedKeys"}
# The functions that give a list without an order if they take one, and those for which the order is of no account.
KEEPING = frozenset(("+", "distinct", "flatten", "unwrapOpt", "optional.unwrap", "reverse"))
ORDERLESS = frozenset(("in", "size", "type", "dyn", "sort", "sum", "min", "max", "optional.of", "optional.ofNonZeroValue"))
ORDERLESS |= {"==", "!=", "sets.contains", "sets.equivalent", "sets.intersects"}  # the first two look themselves


def call_step(name: str, overloads: tuple[Overload, ...], steps: Sequence[Step]) -> Step:
    """The step of a call. The first error among what it takes is its result; then the call costs only if that was the last."""
    run, cost, count = _in_order(name, function(name, overloads)), cost_of(name, overloads), len(steps)

    def step(frame: Frame) -> Any:
        values: list[Any] = []
        for each in steps:
            value = each(frame)
            values.append(value)
            if isinstance(value, BAD):
                if len(values) == count:
                    frame.run.charge(cost(values, value) if cost else 1)
                return value
        found = called(run, values)
        frame.run.charge(cost(values, found) if cost else 1)
        return found

    return step


def called(run: Callable[..., Any], values: Sequence[Any]) -> Any:
    """What a function answers, an error included. Raises: Unsupported."""
    try:
        found = run(*values)
    except BAD as error:
        return error
    except (TypeError, AttributeError, ValueError, KeyError, IndexError, OverflowError):
        raise Unsupported("a function with these values") from None
    if isinstance(found, str | list | bytes):
        if len(found) > LONGEST:
            raise Unsupported("it makes a very long text or list")
        WORK.spend(len(found) if isinstance(found, list) else len(found) // 8)
    return found


def given(value: Any) -> Any:
    """A value that is known before a policy is stored. Raises: RefusedError for an error."""
    if isinstance(value, EvaluationError):
        raise RefusedError("a call on constants fails")
    return value


def function(name: str, overloads: tuple[Overload, ...]) -> Callable[..., Any]:
    """The function; if only one of its overloads is possible, it takes values of those types alone."""
    run = RUN[name]
    if name in BY_VALUE or len(overloads) != 1:
        return run
    takes = tuple(
        kind[0] if isinstance(kind, tuple) else "" if len(kind) == 1 or kind == "dyn" else kind for kind in overloads[0].takes
    )

    def guarded(*values: Any) -> Any:
        for kind, value in zip(takes, values, strict=True):
            if kind and kind_of(value) != kind:
                raise no_overload()
        return run(*values)

    return guarded


def _in_order(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which refuses lists without an order where the order counts."""
    if name in KEEPING:
        return _keeping(run)
    kinds = [kind for overload in SIGNATURES[name] for kind in overload.takes]
    if name in ORDERLESS or all(isinstance(kind, str) and len(kind) > 1 for kind in kinds):
        return run

    def ordered(*values: Any) -> Any:
        if Unordered in map(type, values):
            raise Unsupported(NO_ORDER)
        return run(*values)

    return ordered


def _keeping(run: Callable[..., Any]) -> Callable[..., Any]:
    def keeping(*values: Any) -> Any:
        found = run(*values)
        return Unordered(found) if isinstance(found, list) and Unordered in map(type, values) and len(found) > 1 else found

    return keeping


def kind_of(value: Any) -> str:
    """The word for a value's type in signatures."""
    return "optional" if isinstance(value, Optional) else type_name(value)
