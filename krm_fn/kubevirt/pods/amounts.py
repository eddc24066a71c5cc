"""Amounts of resources by name, `{"cpu": Quantity, "memory": Quantity}`, and Go's arithmetic on them."""

from __future__ import annotations

from krm_fn.base.annotations import Mapping
from krm_fn.base.paths import as_map
from krm_fn.base.quantity import DECIMAL_SI, NANO, Quantity, of_int, parse

Amounts = dict[str, Quantity]


ZERO = Quantity(nanos=0)
ONE = Quantity(nanos=NANO)
MILLI = NANO // 1000
KILO = 1000


def amount(text: str) -> Quantity:
    """The quantity of a literal of this package. Raises: ValueError for text that is no quantity."""
    found = parse(text)
    if found is None:
        raise ValueError(f"{text!r} is no quantity")
    return found


def read(resources: object) -> Amounts:
    """The amounts of a map in an object; what is no quantity is left out, since the API server refuses it."""
    parsed = {name: parse(value) for name, value in as_map(resources).items()}
    return {name: value for name, value in parsed.items() if value is not None}


def written(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    """The amounts as Kubernetes writes them, sorted by name."""
    return {name: str(amounts[name]) for name in sorted(amounts)}


def plus(one: Quantity, other: Quantity) -> Quantity:
    """The sum, in the format of the first, or of the second where the first is zero.

    upstream: k8s.io/apimachinery/pkg/api/resource/quantity.go:Add
    """
    return Quantity(nanos=one.nanos + other.nanos, format=one.format if one.nanos else other.format)


def minus(one: Quantity, other: Quantity) -> Quantity:
    """The difference, in the format that the sum has. upstream: k8s.io/apimachinery/pkg/api/resource/quantity.go:Sub"""
    return plus(one, other.but(nanos=-other.nanos))


def times(one: Quantity, count: int) -> Quantity:
    """The quantity multiplied by a whole number."""
    return Quantity(nanos=one.nanos * count, format=one.format)


def add_to(sums: Amounts, more: Mapping[str, Quantity], count: int = 1) -> None:
    """Add to each of the sums what the other amounts have `count` times."""
    for name, value in more.items():
        each = value if count == 1 else times(value, count)
        sums[name] = plus(sums[name], each) if name in sums else each


def thousands(one: Quantity) -> int:
    """The number of thousands, rounded up. upstream: k8s.io/apimachinery/pkg/api/resource/quantity.go:ScaledValue"""
    return -(-one.nanos // (KILO * NANO))


def to_milli(one: Quantity) -> Quantity:
    """The quantity rounded up to thousandths, as the API server stores resources of pods.

    upstream: k8s.io/kubernetes pkg/apis/core/v1/defaults.go:SetDefaults_ResourceList
    """
    return one if one.nanos % MILLI == 0 else Quantity(nanos=-(-one.nanos // MILLI) * MILLI, format=one.format)


def whole(count: int) -> Quantity:
    """The quantity of a whole number."""
    return of_int(count, DECIMAL_SI)
