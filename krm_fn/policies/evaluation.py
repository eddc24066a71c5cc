"""Makes an expression ready to run: each node becomes a step, a function of a frame that gives a value.

Errors and values that are not known are values, too: what takes them gives them on, and `&&`, `||` and some macros can do
without them. What is known beforehand is evaluated once, as the API server does before it stores a policy.

upstream: github.com/google/cel-go/interpreter/planner.go, interpretable.go, decorators.go
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Mapping, Sequence
from krm_fn.policies.attributes import BAD, Attribute, Plan, Qualifier, constant, of_attribute, of_name
from krm_fn.policies.costs import LIST, MAP, call_step, called, function, given
from krm_fn.policies.errors import EvaluationError, RefusedError, Unknown, Unsupported, no_overload
from krm_fn.policies.functions import RUN
from krm_fn.policies.macros import step_of
from krm_fn.policies.running import Frame, PolicyRun, Step
from krm_fn.policies.signatures import Overload
from krm_fn.policies.types import Checked, function_name
from krm_fn.policies.unification import REQUEST_RESOURCE
from krm_fn.policies.values import Optional, Type, UInt, constant_set, is_member, keyed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.policies.syntax import Node


CONVERSIONS = frozenset(("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"))
PATTERNS = {"matches": -1, "find": 1, "findAll": 1}  # the place of the pattern among receiver and arguments


def planned(checked: Checked, names: Mapping[str, Any]) -> Plan:
    """An expression that is ready to run. Raises: RefusedError if the part that is known beforehand fails; Unsupported."""
    return Planner(checked).of(checked.node, frozenset(names))


class Planner:
    """Makes plans of the nodes of one expression."""

    def __init__(self, checked: Checked) -> None:
        self._overloads = checked.overloads

    def of(self, node: Node, scope: frozenset[str]) -> Plan:
        """The plan of a node that sees these names."""
        return getattr(self, f"_{node[0]}")(node, scope)  # type: ignore[no-any-return]

    def _literal(self, node: Node, _: frozenset[str]) -> Plan:
        return constant(node[2])

    def _name(self, node: Node, scope: frozenset[str]) -> Plan:
        name = node[2]
        return of_attribute(Attribute(of_name(name))) if name in scope else constant(Type(name=name))

    def _select(self, node: Node, scope: frozenset[str]) -> Plan:
        _, _, operand, field, optional, test = node
        if (operand[0], operand[2], field, test) == ("name", "authorizer", REQUEST_RESOURCE, False) and "authorizer" in scope:
            return of_attribute(Attribute(of_name("authorizer")))
        return of_attribute(self._attribute(operand, scope).then(Qualifier(key=field, optional=optional, test=test)))

    def _index(self, node: Node, scope: frozenset[str]) -> Plan:
        _, _, operand, key_node, optional = node
        attribute, key = self._attribute(operand, scope), self.of(key_node, scope)
        if key.is_constant:
            if not isinstance(key.value, str | int | float):
                raise RefusedError("a constant of this type can't be an index")
            return of_attribute(attribute.then(Qualifier(key=key.value, optional=optional)))
        step = key.attribute.resolve if key.attribute else key.step
        return of_attribute(attribute.then(Qualifier(step=step, optional=optional)))

    def _attribute(self, node: Node, scope: frozenset[str]) -> Attribute:
        plan = self.of(node, scope)
        return plan.attribute or Attribute(plan.step)

    def _list(self, node: Node, scope: frozenset[str]) -> Plan:
        plans = [self.of(item, scope) for item, _ in node[2]]
        if all(plan.is_constant for plan in plans):
            return constant([plan.value for plan in plans])
        steps = [(plan.step, optional) for plan, (_, optional) in zip(plans, node[2], strict=True)]

        def step(frame: Frame) -> Any:
            value = _elements(frame, steps)
            frame.run.charge(LIST)
            return value

        return Plan(step)

    def _map(self, node: Node, scope: frozenset[str]) -> Plan:
        plans = [(self.of(key, scope), self.of(value, scope), optional) for key, value, optional in node[2]]
        steps = [(key.step, value.step, optional) for key, value, optional in plans]
        if all(key.is_constant and value.is_constant for key, value, _ in plans):
            return constant(given(_entries(Frame({}, PolicyRun()), steps)))

        def step(frame: Frame) -> Any:
            value = _entries(frame, steps)
            frame.run.charge(MAP)
            return value

        return Plan(step)

    def _fold(self, node: Node, scope: frozenset[str]) -> Plan:
        return Plan(step_of(node, scope, self.of, self._overloads.get(id(node), ())))

    def _call(self, node: Node, scope: frozenset[str]) -> Plan:
        _, _, name, receiver, args = node
        name, receiver = (function_name(name, receiver), None) if function_name(name, receiver) else (name, receiver)
        plans = [self.of(each, scope) for each in ((receiver,) if receiver else ()) + args]
        if name in ("&&", "||"):
            return Plan(_logic(name, [plan.step for plan in plans]))
        if name == "?:":
            return of_attribute(_conditional(plans))
        if name in ("or", "orValue"):
            return Plan(_fallback(name, *(plan.step for plan in plans)))
        overloads = self._overloads[id(node)]
        if name == "in" and len(overloads) == 1 and plans[1].is_constant and isinstance(plans[1].value, list):
            found = _membership(plans[0], plans[1].value)
            if found:
                return found
        return self._function(name, plans, overloads)

    def _function(self, name: str, plans: Sequence[Plan], overloads: tuple[Overload, ...]) -> Plan:
        run = function(name, overloads)
        if name in CONVERSIONS and plans[0].is_constant:
            return constant(given(called(run, [plans[0].value])))
        if name in PATTERNS and plans[PATTERNS[name]].is_constant:
            pattern = plans[PATTERNS[name]].value
            if isinstance(pattern, str):
                given(called(RUN["matches"], ["", pattern]))
        return Plan(call_step(name, overloads, [plan.step for plan in plans]))


def _elements(frame: Frame, steps: Sequence[tuple[Step, bool]]) -> Any:
    found = []
    for step, optional in steps:
        value = step(frame)
        if isinstance(value, BAD):
            return value
        if not optional:
            found.append(value)
        elif not isinstance(value, Optional):
            return EvaluationError("cannot initialize optional list element from non-optional value")
        else:
            found += value.held
    return found


def _entries(frame: Frame, steps: Sequence[tuple[Step, Step, bool]]) -> Any:
    found: dict[Any, Any] = {}
    for key_step, value_step, optional in steps:
        key = key_step(frame)
        if isinstance(key, BAD):
            return key
        value = value_step(frame)
        if isinstance(value, BAD):
            return value
        if optional and not isinstance(value, Optional):
            return EvaluationError("cannot initialize optional entry from non-optional value")
        _enter(found, key, value, optional=optional)
    return found


def _enter(found: dict[Any, Any], key: Any, value: Any, *, optional: bool) -> None:
    if not isinstance(key, str | int):
        raise Unsupported("a map with such a key")
    within = keyed(key)
    if any(isinstance(each, UInt) != isinstance(key, UInt) for each in found if each == within):
        raise Unsupported("a map with equal keys of different types")
    if not optional:
        found[within] = value
    elif value.held:
        found[within] = value.held[0]
    else:
        found.pop(within, None)


def _logic(name: str, steps: Sequence[Step]) -> Step:
    """&& and ||: one side decides, even if the other one fails."""
    decisive = name == "||"

    def step(frame: Frame) -> Any:
        failed = unknown = None
        for each in steps:
            value = each(frame)
            if value is decisive:
                return decisive
            if value is not (not decisive):
                if isinstance(value, Unknown):
                    unknown = unknown or value
                else:
                    failed = failed or (value if isinstance(value, EvaluationError) else no_overload())
        return unknown or failed or not decisive

    return step


def _conditional(plans: Sequence[Plan]) -> Attribute:
    condition = plans[0].step
    yes, no = (plan.attribute.resolve if plan.attribute else plan.step for plan in plans[1:])
    if any(plan.attribute and plan.attribute.is_optional_test for plan in plans[1:]):
        raise Unsupported("has() of an optional value behind a condition")

    def root(frame: Frame) -> Any:
        value = condition(frame)
        if value is True:
            return yes(frame)
        if value is False:
            return no(frame)
        return value if isinstance(value, BAD) else no_overload()

    return Attribute(root, units=0)


def _fallback(name: str, first: Step, second: Step) -> Step:
    """orValue() and or(): the second is evaluated only if the first has no value."""

    def step(frame: Frame) -> Any:
        value = first(frame)
        if not isinstance(value, Optional):
            return value if isinstance(value, BAD) else no_overload()
        if value.held:
            return value.held[0] if name == "orValue" else value
        return second(frame)

    return step


def _membership(plan: Plan, values: Sequence[Any]) -> Plan | None:
    """`in` with a list of constants, which costs nothing; None if not all of them are plain values."""
    if not values:
        return constant(False)
    known = constant_set(values)
    if known is None:
        return None
    of = plan.step

    def step(frame: Frame) -> Any:
        value = of(frame)
        return value if isinstance(value, BAD) else is_member(known, value)

    return Plan(step)
