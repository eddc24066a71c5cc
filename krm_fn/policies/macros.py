"""The macros of CEL that go through lists and maps, and those of optional values.

The API server turns a macro into a loop with an accumulator, of which each part costs: to read the accumulator, to test it,
to add to it. Here, each macro adds these up. Maps are gone through in the order of their keys; the server's order is one of
chance.

upstream: github.com/google/cel-go/parser/macro.go, ext/comprehensions.go, ext/lists.go, cel/library.go;
interpreter/interpretable.go:evalFold
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterator, Sequence
from krm_fn.policies.attributes import BAD, Plan
from krm_fn.policies.costs import LIST, cost_of
from krm_fn.policies.errors import EvaluationError, Unknown, no_overload
from krm_fn.policies.lists import sorted_by_keys
from krm_fn.policies.running import Frame, Step
from krm_fn.policies.values import NONE, Lazy, Optional, Unordered, at, has_key, keyed, ordered_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.policies.signatures import Overload
    from krm_fn.policies.syntax import Node

    Planner = Callable[[Node, frozenset[str]], Plan]


def step_of(node: Node, scope: frozenset[str], plan: Planner, overloads: tuple[Overload, ...]) -> Step:  # noqa: PLR0911
    """The step of a macro; `plan` makes the plans of its parts, and `overloads` are those of the function that it ends with."""
    _, _, macro, operand, variables, args = node
    held = plan(operand, scope).step
    plans = [plan(arg, scope | set(variables)) for arg in args]
    steps = [each.step for each in plans]
    match macro:
        case "all" | "exists":
            return _quantifier(macro, held, variables, steps[0])
        case "exists_one" | "existsOne":
            return _one(held, variables, steps[0])
        case "filter":
            return _filter(held, variables, steps[0])
        case "map" | "transformList":
            return _list(held, variables, plans)
        case "sortBy":
            return _sorted(held, variables, plans, cost_of("@sortByAssociatedKeys", overloads))
        case "transformMap" | "transformMapEntry":
            return _map(macro, held, variables, steps)
    return _optional(macro, held, variables[0], steps[0])


def _rows(held: Any, count: int) -> Iterator[tuple[Any, ...]] | None:
    """What the variables are, one after the other; None for a value without elements."""
    if isinstance(held, list):
        return enumerate(held) if count == 2 else ((each,) for each in held)
    if isinstance(held, dict):
        keys = ordered_keys(held)
        return ((key, at(held, key)) for key in keys) if count == 2 else ((key,) for key in keys)
    return None


class _Loop:
    """A loop over a value: frames whose names are the variables of the macro."""

    def __init__(self, frame: Frame, held: Step, variables: Sequence[str]) -> None:
        value = held(frame)
        self.bad: Any = value if isinstance(value, BAD) else None
        rows = None if self.bad else _rows(value, len(variables))
        if rows is None and not self.bad:
            self.bad = no_overload()
        self.rows, self.inner, self._variables = rows or iter(()), frame.inner(), variables
        self._is_unordered = isinstance(value, dict | Unordered) and len(value) > 1

    def made(self, found: Any) -> Any:
        """The list that the loop made, marked if its order is one of chance."""
        return Unordered(found) if self._is_unordered and isinstance(found, list) and len(found) > 1 else found

    def ends_early(self, frame: Frame) -> None:
        """The loop ends at an element: where the order is one of chance, so is what the loop costs."""
        if self._is_unordered:
            frame.run.is_certain = False

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        names = self.inner.names
        for row in self.rows:
            names.update(zip(self._variables, row, strict=True))
            yield row


def _quantifier(macro: str, held: Step, variables: Sequence[str], test: Step) -> Step:
    decisive = macro == "exists"
    each = 3 if decisive else 2  # to test the accumulator

    def step(frame: Frame) -> Any:
        loop = _Loop(frame, held, variables)
        if loop.bad:
            return loop.bad
        charge, found = frame.run.charge, not decisive
        for _ in loop:
            charge(each)
            if found is decisive:
                loop.ends_early(frame)
                break
            charge(1)
            value = test(loop.inner)
            if value is decisive:
                found = decisive
            elif value is not (not decisive):
                found = _joined(found, value)
        charge(1)
        return found

    return step


def _joined(found: Any, value: Any) -> Any:
    """What remains of two values of which the second is no bool: a value that is not known, or the first error."""
    if isinstance(found, Unknown):
        return found
    if isinstance(value, Unknown):
        return value
    if isinstance(found, EvaluationError):
        return found
    return value if isinstance(value, EvaluationError) else no_overload()


def _condition(value: Any) -> Any:
    """What a condition that is no bool makes of the accumulator."""
    return value if isinstance(value, BAD) else no_overload()


def _one(held: Step, variables: Sequence[str], test: Step) -> Step:
    def step(frame: Frame) -> Any:
        loop = _Loop(frame, held, variables)
        if loop.bad:
            return loop.bad
        charge, found = frame.run.charge, 0
        for _ in loop:
            value = test(loop.inner)
            if value is True:
                charge(1 if isinstance(found, BAD) else 2)
                found = found if isinstance(found, BAD) else found + 1
            elif value is not False:
                found = _condition(value)
        charge(1)
        if isinstance(found, BAD):
            return found
        charge(1)
        return found == 1

    return step


def _filter(held: Step, variables: Sequence[str], test: Step) -> Step:
    def step(frame: Frame) -> Any:
        loop = _Loop(frame, held, variables)
        if loop.bad:
            return loop.bad
        charge = frame.run.charge
        found: Any = []
        for row in loop:
            value = test(loop.inner)
            if value is True and isinstance(found, BAD):
                charge(1)
            elif value is True:
                charge(3 + LIST)
                found.append(row[0])
            elif value is not False:
                found = _condition(value)
        charge(1)
        return loop.made(found)

    return step


def _list(held: Step, variables: Sequence[str], plans: Sequence[Plan]) -> Step:
    """map() and transformList(), with a condition or without."""
    test, made = plans[0].step if len(plans) == 2 else None, plans[-1].step
    units = 2 if plans[-1].is_constant else 2 + LIST

    def step(frame: Frame) -> Any:
        loop = _Loop(frame, held, variables)
        if loop.bad:
            return loop.bad
        charge = frame.run.charge
        found: Any = []
        for _ in loop:
            if test:
                value = test(loop.inner)
                if value is not True:
                    found = found if value is False else _condition(value)
                    continue
            if isinstance(found, BAD):
                charge(1)
                continue
            value = made(loop.inner)
            charge(units)
            if isinstance(value, BAD):
                found = value
            else:
                found.append(value)
        charge(1)
        return loop.made(found)

    return step


def _sorted(held: Step, variables: Sequence[str], plans: Sequence[Plan], cost: Any) -> Step:
    keys_of = _list(lambda frame: frame.names["@input"], variables, plans)

    def step(frame: Frame) -> Any:
        value = held(frame)
        inner = frame.inner()
        inner.names["@input"] = value
        frame.run.charge(1)
        if isinstance(value, BAD):
            return value
        frame.run.charge(1)  # the input is named a second time
        keys = keys_of(inner)
        found: Any = keys if isinstance(keys, BAD) else None
        if found is None:
            try:
                found = sorted_by_keys(value, keys)
            except EvaluationError as error:
                found = error
        frame.run.charge(cost((value, keys), found) if cost else 1)
        return found

    return step


def _map(macro: str, held: Step, variables: Sequence[str], steps: Sequence[Step]) -> Step:
    """transformMap() and transformMapEntry(), with a condition or without."""
    test, made = steps[0] if len(steps) == 2 else None, steps[-1]
    by_key = macro == "transformMap"

    def step(frame: Frame) -> Any:
        loop = _Loop(frame, held, variables)
        if loop.bad:
            return loop.bad
        charge = frame.run.charge
        found: Any = {}
        for row in loop:
            if test:
                value = test(loop.inner)
                if value is not True:
                    found = found if value is False else _condition(value)
                    continue
            charge(1)
            if isinstance(found, BAD):
                continue
            charge(1 if by_key else 0)
            value = made(loop.inner)
            charge(1)
            found = _inserted(found, {keyed(row[0]): value} if by_key else value, value)
        charge(1)
        return found

    return step


def _inserted(found: dict[Any, Any], entries: Any, value: Any) -> Any:
    if isinstance(value, BAD):
        return value
    if not isinstance(entries, dict):
        return no_overload()
    if any(has_key(found, key) for key in entries):
        return EvaluationError("insert failed: key already exists")
    found.update(entries)
    return found


def _optional(macro: str, held: Step, variable: str, made: Step) -> Step:
    """optMap() and optFlatMap(): the value is taken out of the optional one where its name is first used."""

    def step(frame: Frame) -> Any:
        value = held(frame)
        frame.run.charge(2)
        if isinstance(value, BAD):
            return value
        if not isinstance(value, Optional):
            return no_overload()
        if not value.held:
            frame.run.charge(1)
            return NONE
        inner = frame.inner()
        inner.names[variable] = Lazy(lambda: _taken(value, frame))
        found = made(inner)
        if macro == "optFlatMap":
            return found
        frame.run.charge(1)
        return found if isinstance(found, BAD) else Optional(held=(found,))

    return step


def _taken(value: Optional, frame: Frame) -> Any:
    frame.run.charge(2)
    return value.held[0]
