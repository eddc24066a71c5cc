"""Names with the fields and indexes behind them: `object.spec.template.?metadata.labels['a']`.

upstream: github.com/google/cel-go/interpreter/attributes.go
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable
from krm_fn.base.value import Value
from krm_fn.policies.errors import EvaluationError, Unknown, Unsupported, no_overload
from krm_fn.policies.running import Frame, Step, Variables
from krm_fn.policies.values import NO_ORDER, NONE, Lazy, Optional, Unordered, at, has_key

ABSENT: Any = object()
BAD = (EvaluationError, Unknown)
KEYS = (str, int, float)


class Qualifier(Value):
    """A field or an index. `key` is what it is if that is known beforehand, else `step` gives it."""

    key: Any = None
    step: Step | None = None
    optional: bool = False
    test: bool = False


class Attribute:
    """A value and the fields and indexes behind it. To resolve it costs one unit for each of these.

    `units`: what the attribute itself costs where its value is used.
    """

    __slots__ = ("qualifiers", "root", "units")

    def __init__(self, root: Step, qualifiers: tuple[Qualifier, ...] = (), units: int = 1) -> None:
        self.root, self.qualifiers, self.units = root, qualifiers, units

    def then(self, qualifier: Qualifier) -> Attribute:
        """The attribute with one more field or index."""
        return Attribute(self.root, (*self.qualifiers, qualifier), 0 if qualifier.test else self.units)

    @property
    def is_optional_test(self) -> bool:
        """True for `has()` behind an optional field."""
        return any(each.test for each in self.qualifiers) and any(each.optional for each in self.qualifiers)

    def resolve(self, frame: Frame) -> Any:
        """The value, without the cost of the attribute itself."""
        value = self.root(frame)
        if not self.qualifiers:
            return value
        if isinstance(value, Optional):
            if not value.held:
                return value
            return self._optionally(frame, _unwrapped(value), self.qualifiers)
        for number, qualifier in enumerate(self.qualifiers):
            if isinstance(value, EvaluationError):
                return value
            if qualifier.optional:
                return self._optionally(frame, value, self.qualifiers[number:])
            value = _qualified(frame, value, qualifier)
            frame.run.charge(1)
        return _noted(frame, value) if isinstance(value, Unknown) else value

    def _optionally(self, frame: Frame, value: Any, qualifiers: tuple[Qualifier, ...]) -> Any:
        """The value behind an optional field or index: all that follow are optional, too."""
        for qualifier in qualifiers:
            key = qualifier.key if qualifier.step is None else qualifier.step(frame)
            value = found(value, key)
            if isinstance(value, EvaluationError):
                return value
            if value is ABSENT:
                return NONE
            frame.run.charge(1)
            if qualifier.test and not isinstance(value, Unknown):
                value = None
        return _noted(frame, value) if isinstance(value, Unknown) else Optional(held=(value,))


def _noted(frame: Frame, value: Any) -> Any:
    if isinstance(value, Unknown):
        frame.run.is_certain = False
    return value


def _unwrapped(value: Optional) -> Any:
    """What an optional value holds. Raises: Unsupported for one in another one, of which releases read fields differently."""
    (held,) = value.held
    if isinstance(held, Optional):
        raise Unsupported("a field of an optional value in an optional value")
    return held


def _qualified(frame: Frame, value: Any, qualifier: Qualifier) -> Any:
    key = qualifier.key if qualifier.step is None else qualifier.step(frame)
    held = found(value, key)
    if qualifier.test and not isinstance(held, EvaluationError):
        return held if held is value else held is not ABSENT  # what is not known has itself in place of its fields
    return EvaluationError(f"no such key: {key}") if held is ABSENT else held


def found(value: Any, key: Any) -> Any:  # noqa: PLR0911  one answer for each type
    """The element of a value; ABSENT without one; an error for a key that the value can't have."""
    if isinstance(key, BAD):
        return key
    if not isinstance(key, KEYS):
        return EvaluationError("invalid qualifier type")
    if isinstance(value, Unknown):
        return value.fields.get(key, value) if isinstance(key, str) else value
    if isinstance(value, dict):
        return at(value, key) if has_key(value, key) else ABSENT
    if isinstance(value, list):
        return _element(value, key)
    if isinstance(value, Variables):
        return value.value(str(key)) if key in value else ABSENT
    return ABSENT


def _element(value: list[Any], key: Any) -> Any:
    if isinstance(key, float) and key.is_integer():
        key = int(key)
    if not isinstance(key, int) or isinstance(key, bool):
        return no_overload()
    if isinstance(value, Unordered):
        raise Unsupported(NO_ORDER)
    return value[key] if 0 <= key < len(value) else ABSENT


def of_name(name: str) -> Callable[[Frame], Any]:
    """The step that gives the value of a name."""

    def step(frame: Frame) -> Any:
        value = frame.names[name]
        return value.value() if isinstance(value, Lazy) else value

    return step


class Plan:
    """A node that is ready to run. `attribute` if fields and indexes may follow it, `is_constant` if its value is known."""

    __slots__ = ("attribute", "is_constant", "step", "value")

    def __init__(self, step: Step, attribute: Attribute | None = None) -> None:
        self.step, self.attribute = step, attribute
        self.is_constant, self.value = False, None


def constant(value: Any) -> Plan:
    plan = Plan(lambda _: value)
    plan.is_constant, plan.value = True, value
    return plan


def of_attribute(attribute: Attribute) -> Plan:
    """The plan of an attribute whose value is used."""
    resolve, units = attribute.resolve, attribute.units
    test = bool(attribute.qualifiers) and attribute.qualifiers[-1].test

    def step(frame: Frame) -> Any:
        value = resolve(frame)
        frame.run.charge(units)
        return bool(value.held) if test and isinstance(value, Optional) else value

    return Plan(step, attribute)
