"""Quantities of a spec as Go reads them: whole units and thousandths, rounded up, zero where there is none."""

from __future__ import annotations

from krm_fn.paths import as_map
from krm_fn.quantity import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.admission.scope import Scope
    from krm_fn.quantity import Quantity

NANOS_PER_MILLI = 10**6


def whole(value: Any) -> int:
    """Whole units of a quantity; 0 for what is none."""
    found = parse(value) if value is not None else None
    return found.value() if found else 0


def thousandths(value: Any) -> int:
    """Thousandths of a quantity; 0 for what is none."""
    found = parse(value) if value is not None else None
    return -(-found.nanos // NANOS_PER_MILLI) if found else 0


def quantity(value: Any) -> Quantity | None:
    """The quantity, or None where there is none."""
    return parse(value) if value is not None else None


def resource(scope: Scope, kind: str, name: str) -> Any:
    """What `domain.resources.requests` or `limits` (`kind`) says of `cpu` or `memory`, as written; None where nothing."""
    return as_map(as_map(scope.domain.get("resources")).get(kind)).get(name)
