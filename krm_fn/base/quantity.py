"""Kubernetes quantities: exact numbers with their format (`1536Mi`, `0.5`, `1e3`).

upstream: k8s.io/apimachinery/pkg/api/resource
"""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.value import Value, put

# The three families of suffixes. The result of a calculation has the family of its operand.
DECIMAL_SI = "DecimalSI"
BINARY_SI = "BinarySI"
DECIMAL_EXPONENT = "DecimalExponent"

NANO = 10**9  # one, in the unit of quantities: apimachinery keeps no smaller fraction
INT64 = 2**63
INT64_DIGITS = 18  # a number with this many digits always fits into 64 bits
LARGEST = (INT64 - 1) * NANO  # the limit of binary quantities; decimal ones have none
# Longer numbers are no quantities here, because Python refuses to read them. Larger numbers get this many digits.
DIGITS = 4000
INT32 = 2**31  # Go keeps exponents in 32 bits

_DECIMAL_SUFFIXES = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_SUFFIXES: dict[str, tuple[int, int, str]] = {
    **{suffix: (10, 3 * place - 9, DECIMAL_SI) for place, suffix in enumerate(_DECIMAL_SUFFIXES)},
    **{suffix: (2, 10 * place, BINARY_SI) for place, suffix in enumerate(_BINARY_SUFFIXES) if suffix},
}


class Quantity(Value):
    """An exact amount: `nanos` counts billionths, so amounts are compared by it. `str()` returns Go's form.

    `text` is the spelling that Go keeps because it considers it canonical, "" if Go writes its own.
    """

    nanos: int
    format: str = DECIMAL_SI
    text: str = ""

    # Each pod needs many, and this takes half the time of `Value.__init__`.
    def __init__(self, *, nanos: int, format: str = DECIMAL_SI, text: str = "") -> None:  # noqa: A002
        put(self, "nanos", nanos)
        put(self, "format", format)
        put(self, "text", text)

    def value(self) -> int:
        """The amount as a whole number of 64 bits, rounded away from zero.

        Larger amounts become 0 upstream, except those read with more than 18 digits: of these it takes the lowest bits.
        """
        integer = -(-self.nanos // NANO) if self.nanos > 0 else self.nanos // NANO
        if -INT64 <= integer < INT64:
            return integer
        return wrapped(integer) if len(str(abs(self.nanos)).rstrip("0")) > INT64_DIGITS else 0

    def __str__(self) -> str:
        return self.text or _written(self.nanos, self.format)


def wrapped(number: int) -> int:
    """The number in 64 bits, including the sign."""
    return (number + INT64) % (2 * INT64) - INT64


def of_int(value: int, style: str) -> Quantity:
    """The quantity of a whole number in the format `style`."""
    return Quantity(nanos=value * NANO, format=style)


# The last quantities that were read: the VMs of a bundle share their sizes.
_known: dict[str, Quantity | None] = {}
_KNOWN_AT_MOST = 1000


def parse(value: Any) -> Quantity | None:
    """The quantity of a string, an integer or a float; None for anything else."""
    text = value if isinstance(value, str) else repr(value) if type(value) in (int, float) else ""
    if text not in _known:
        if len(_known) >= _KNOWN_AT_MOST:
            _known.clear()
        _known[text] = _parsed(text)
    return _known[text]


def _parsed(text: str) -> Quantity | None:
    """The quantity of a text. A sign, a point or a suffix without digits is zero, as in Go.

    upstream: k8s.io/apimachinery/pkg/api/resource/quantity.go:ParseQuantity
    """
    sign, body = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    end = _span(body, "0123456789.")
    integer, _, fraction = body[:end].partition(".")
    integer, suffix = integer.lstrip("0") or "0", _suffix(body[end:])
    if not text or suffix is None or "." in fraction or len(integer) + len(fraction) > DIGITS:
        return None
    base, exponent, style = suffix
    nanos = _nanos(int(integer + fraction), base, min(exponent, DIGITS - len(integer)), len(fraction))
    if style == BINARY_SI:
        nanos = min(nanos, LARGEST)
        if 0 < nanos < NANO:
            style = DECIMAL_SI
    kept = text if (nanos and exponent > DIGITS) or _kept(integer, fraction, exponent, style) else ""
    return Quantity(nanos=-nanos if sign == "-" else nanos, format=style, text=kept)


def canonical(value: Any) -> Any:
    """The quantity as Go writes it after reading it; other values do not change."""
    found = parse(value)
    return value if found is None else str(found)


def _span(text: str, allowed: str) -> int:
    """The number of characters at the start of `text` that are in `allowed`."""
    return len(text) - len(text.lstrip(allowed))


def _suffix(text: str) -> tuple[int, int, str] | None:
    """Base, exponent and format of a suffix; None if it is not valid."""
    if text in _SUFFIXES:
        return _SUFFIXES[text]
    exponent = _exponent(text[1:]) if text[:1] in ("e", "E") else None
    return None if exponent is None else (10, exponent, DECIMAL_EXPONENT)


def _exponent(text: str) -> int | None:
    """The exponent; None if it is no integer of 64 bits. Go keeps its lowest 32 bits."""
    number = text[1:] if text[:1] in ("+", "-") else text
    digits = number.lstrip("0")
    if not number or _span(number, "0123456789") < len(number) or len(digits) > len(str(INT64)):
        return None
    exponent = -int(digits or "0") if text[0] == "-" else int(digits or "0")
    return (exponent + INT32) % (2 * INT32) - INT32 if -INT64 <= exponent < INT64 else None


def _nanos(digits: int, base: int, exponent: int, places: int) -> int:
    """digits · base^exponent / 10^places in billionths, rounded up, so that the result is at least one."""
    if base == 10:
        power = max(exponent, -DIGITS) - places + 9
        return digits * int(10**power) if power >= 0 else -(-digits // int(10**-power))
    return -(-digits * (NANO << exponent) // int(10**places))


def _kept(integer: str, fraction: str, exponent: int, style: str) -> bool:
    """True if Go considers a spelling canonical and keeps it, including sign and leading zeros.

    Its check is incomplete: `1.500` and `1E3` stay as they are, though Go would not write them.
    """
    digits = integer + fraction
    if style == BINARY_SI:
        fits = len(digits) + exponent * 3 // 10 <= 14
        return fits and not fraction and int(digits) % 8 != 0
    scale = exponent - len(fraction)
    fits = len(digits) <= 18 and scale >= -9
    return fits and scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _written(nanos: int, style: str) -> str:
    """upstream: k8s.io/apimachinery/pkg/api/resource/quantity.go:CanonicalizeBytes"""
    if nanos == 0:
        return "0"
    if style == BINARY_SI and abs(nanos) >= 1024 * NANO and nanos % NANO == 0:
        number, times = _reduced(nanos // NANO, 1024, len(_BINARY_SUFFIXES) - 1)
        return f"{number}{_BINARY_SUFFIXES[times]}"
    if style == DECIMAL_EXPONENT:
        number, times = _reduced(nanos, 1000, DIGITS)
        return f"{number}e{3 * times - 9}" if times != 3 else str(number)
    number, times = _reduced(nanos, 1000, len(_DECIMAL_SUFFIXES) - 1)
    return f"{number}{_DECIMAL_SUFFIXES[times]}"


def _reduced(number: int, factor: int, most: int) -> tuple[int, int]:
    """The number without its factors of `factor`, at most `most` of them, and their count."""
    times = 0
    while times < most and number % factor == 0:
        number, times = number // factor, times + 1
    return number, times
