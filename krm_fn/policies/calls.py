"""Calls of functions: which values they take, what they cost, and what they make of errors.

upstream: github.com/google/cel-go/interpreter/interpretable.go, common/decls/decls.go
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Sequence
from krm_fn.base.work import WORK
from krm_fn.policies.attributes import BAD
from krm_fn.policies.costs import cost_of
from krm_fn.policies.errors import EvaluationError, RefusedError, Unsupported, no_overload
from krm_fn.policies.functions import RUN
from krm_fn.policies.running import Frame, Step
from krm_fn.policies.signatures import SIGNATURES, Overload
from krm_fn.policies.texts import LONGEST
from krm_fn.policies.values import NO_ORDER, Optional, Unordered, type_name

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
