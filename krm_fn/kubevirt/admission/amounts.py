"""Quantities of a spec as Go reads them: whole units and thousandths, rounded away from zero, zero if there is none."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.quantity import BINARY_SI, INT64, INT64_DIGITS, Quantity, parse, wrapped

NANOS_PER_MILLI = 10**6


# Most VMs have the same few amounts, so the parsed values are kept, for at most this many spellings.
MOST_REMEMBERED = 1000
_remembered: dict[Any, Quantity | None] = {}


def quantity(value: Any) -> Quantity | None:
    """The quantity, or None if there is none."""
    if not isinstance(value, str):
        return None if value is None else parse(value)
    if value not in _remembered:
        if len(_remembered) >= MOST_REMEMBERED:
            _remembered.clear()
        _remembered[value] = parse(value)
    return _remembered[value]


def units(value: Any) -> int:
    """Whole units of a quantity; 0 if it is none."""
    found = quantity(value)
    return found.value() if found else 0


def is_some(value: Any) -> bool:
    """True for a quantity that is not zero, also if it is too large for `units`."""
    found = quantity(value)
    return found is not None and found.nanos != 0


def thousandths(value: Any) -> int:
    """Thousandths of a quantity as a 64-bit integer; 0 if it is none.

    Larger amounts become 0 upstream, except those with a binary suffix, or with more digits than upstream keeps unchanged. Of
    these it takes the lowest bits, so a large amount may become negative.
    upstream: k8s.io/apimachinery/pkg/api/resource/quantity.go:ScaledValue
    """
    found = quantity(value)
    if found is None:
        return 0
    nanos = found.nanos
    number = -(-nanos // NANOS_PER_MILLI) if nanos > 0 else nanos // NANOS_PER_MILLI
    if -INT64 <= number < INT64:
        return number
    long = found.format == BINARY_SI or len(str(abs(nanos)).rstrip("0")) > INT64_DIGITS
    return wrapped(number) if long else 0
