"""What a node of an expression becomes: a step, and what is known of it before it runs."""

from __future__ import annotations

from krm_fn.policies.attributes import Attribute
from krm_fn.policies.values import Optional

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.policies.running import Frame, Step


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
