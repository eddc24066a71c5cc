"""Quantities as CEL has them, with the way in which Kubernetes keeps each: it shows in `isInteger`, `asInteger` and floats.

A quantity is kept as a whole number of 64 bits with a power of ten, or, if that is not enough, as a decimal of any length.
Comparing turns the first into the second if the other side is one, and adding to a decimal changes it in place: these are
oddities of upstream.

upstream: k8s.io/apimachinery/pkg/api/resource/quantity.go, amount.go; k8s.io/apiserver/pkg/cel/library/quantity.go
"""

from __future__ import annotations

from krm_fn.base import quantity as quantities
from krm_fn.base.annotations import Any, Callable
from krm_fn.base.expressions import expression
from krm_fn.policies.errors import EvaluationError, no_overload
from krm_fn.policies.values import SUM, Opaque, UInt

LEAST, MOST = -(2**63), 2**63 - 1
LONGEST_DIGITS = 18  # of a number that is kept in 64 bits
NANO = -9  # the least power of ten
TEXT = expression(r"[+-]?0*(\d*)(?:\.(\d*))?([A-Za-z].*)?")
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


class Amount:
    """`digits · 10^power`. `is_decimal`: not kept in 64 bits."""

    __slots__ = ("digits", "is_decimal", "power")

    def __init__(self, digits: int, power: int, *, is_decimal: bool = False) -> None:
        self.digits, self.power, self.is_decimal = digits, power, is_decimal

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Amount) and self.difference(other) == 0

    __hash__ = None  # type: ignore[assignment]

    def difference(self, other: Amount) -> int:
        """More than zero if it is greater than the other one."""
        least = min(self.power, other.power)
        return int(self.digits * 10 ** (self.power - least) - other.digits * 10 ** (other.power - least))

    def integer(self) -> int | None:
        """The whole number that it is; None for a fraction, for more than 64 bits, and for a decimal."""
        if self.is_decimal or self.power < 0:
            return None
        found = self.digits * 10**self.power
        return found if LEAST <= found <= MOST else None

    def plus(self, other: Amount, sign: int) -> Amount:
        """The sum or the difference. A decimal is changed in place."""
        if not self.is_decimal and not other.is_decimal:
            if other.digits == 0:
                return self
            if self.digits == 0:
                return Amount(sign * other.digits, other.power)
        least = min(self.power, other.power)
        mine, others = self.digits * 10 ** (self.power - least), other.digits * 10 ** (other.power - least)
        digits = mine + sign * others
        fits = all(LEAST <= each <= MOST for each in (mine, others, digits))
        if self.is_decimal:
            self.digits, self.power = digits, least
            return self
        return Amount(digits, least, is_decimal=other.is_decimal or not fits)


def amount_of(text: str) -> Amount | None:
    """The amount of a text; None if it is no quantity."""
    found = quantities.parse(text)
    if found is None:
        return None
    return _in_64_bits(text) or Amount(*_as_decimal(found.nanos), is_decimal=True)


def _as_decimal(nanos: int) -> tuple[int, int]:
    return (nanos // 10**9, 0) if abs(nanos) == quantities.LARGEST else (nanos, NANO)


def _in_64_bits(text: str) -> Amount | None:
    """The amount of a quantity that Kubernetes keeps in 64 bits, else None."""
    parts = TEXT.fullmatch(text)
    if not parts:
        return None
    whole, fraction, suffix = parts[1] or "0", parts[2] or "", parts[3] or ""
    sign = -1 if text.startswith("-") else 1
    if suffix in BINARY:
        bits = BINARY[suffix]
        digits = int(whole) << bits
        is_short = not fraction and 15 - len(whole) - bits * 3 // 10 - 1 >= 0
        return Amount(sign * digits, 0) if is_short and digits <= MOST else None
    power = DECIMAL[suffix] if suffix in DECIMAL else int(suffix[1:])
    if len(whole) + len(fraction) > LONGEST_DIGITS or power - len(fraction) < NANO:
        return None
    return Amount(sign * int(whole + fraction), power - len(fraction))


def _quantity(text: Any) -> Opaque:
    if not isinstance(text, str):
        raise no_overload()
    found = amount_of(text)
    if found is None:
        raise EvaluationError("no quantity")
    return Opaque(kind="quantity", key=found)


def _is_quantity(text: Any) -> bool:
    if not isinstance(text, str):
        raise no_overload()
    return quantities.parse(text) is not None


def _of(value: Any) -> Amount:
    if not isinstance(value, Opaque) or value.kind != "quantity":
        raise no_overload()
    return value.key  # type: ignore[no-any-return]


def compared(value: Opaque, other: Opaque) -> int:
    """More than zero if a quantity is greater than another one."""
    one, two = _of(value), _of(other)
    one.is_decimal = one.is_decimal or two.is_decimal
    return one.difference(two)


def _as_integer(value: Any) -> int:
    found = _of(value).integer()
    if found is None:
        raise EvaluationError("cannot convert value to integer")
    return found


def _as_float(value: Any) -> float:
    found = _of(value)
    return float(found.digits) * float(f"1e{found.power}") if found.power else float(found.digits)


def _sign(value: Any) -> int:
    digits = _of(value).digits
    return int(digits > 0) - int(digits < 0)


def _moved(sign: int) -> Callable[[Any, Any], Opaque]:
    def run(value: Any, by: Any) -> Opaque:
        amount = Amount(int(by), 0) if isinstance(by, int) and not isinstance(by, bool | UInt) else _of(by)
        return Opaque(kind="quantity", key=_of(value).plus(amount, sign), data=SUM)

    return run


RUN: dict[str, Callable[..., Any]] = {
    "quantity": _quantity,
    "isQuantity": _is_quantity,
    "isInteger": lambda value: _of(value).integer() is not None,
    "asInteger": _as_integer,
    "asApproximateFloat": _as_float,
    "sign": _sign,
    "add": _moved(1),
    "sub": _moved(-1),
}
