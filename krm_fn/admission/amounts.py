"""Quantities of a spec as Go reads them: whole units and thousandths, rounded away from zero, zero where there is none."""

from __future__ import annotations

from krm_fn.quantity import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.quantity import Quantity

NANOS_PER_MILLI = 10**6


# The same few amounts stand in most VMs, so what they mean is remembered, for at most this many spellings.
MOST_REMEMBERED = 1000
_remembered: dict[Any, Quantity | None] = {}


def quantity(value: Any) -> Quantity | None:
    """The quantity, or None where there is none."""
    if not isinstance(value, str):
        return None if value is None else parse(value)
    if value not in _remembered:
        if len(_remembered) >= MOST_REMEMBERED:
            _remembered.clear()
        _remembered[value] = parse(value)
    return _remembered[value]


def whole(value: Any) -> int:
    """Whole units of a quantity; 0 for what is none."""
    found = quantity(value)
    return found.value() if found else 0


def thousandths(value: Any) -> int:
    """Thousandths of a quantity; 0 for what is none."""
    found = quantity(value)
    nanos = found.nanos if found else 0
    return -(-nanos // NANOS_PER_MILLI) if nanos > 0 else nanos // NANOS_PER_MILLI
