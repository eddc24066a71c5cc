"""What machines cost: prices per vCPU, CPU, GiB and device, and exact sums of them.

Prices are fractions of whole numbers, never floats, so the sum of the parts is the whole to the last digit.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation, localcontext
from fractions import Fraction

from krm_fn.base.annotations import Any, Iterable
from krm_fn.base.errors import InputError
from krm_fn.base.objects import Object
from krm_fn.base.quantity import NANO
from krm_fn.base.value import Value
from krm_fn.kubevirt.pods.amounts import Amounts
from krm_fn.sizing import storage
from krm_fn.sizing.demands import Demand
from krm_fn.sizing.rows import Row, Sized, added

SINGLE, MAPS = ("vcpu", "cpu", "guestGiB", "memoryGiB"), ("devices", "storageGiB")
CURRENCY = "currency"
GIB = NANO << 30  # in billionths of a byte
NOTHING = Fraction(0)
LONGEST = 40  # characters of a price


class Prices(Value):
    """Prices for a month. `single` are those with one number, `maps` those for each device and for a GiB of each class."""

    currency: str
    single: dict[str, Fraction]
    maps: dict[str, dict[str, Fraction]]


def read(given: Any) -> Prices:
    """The prices of a document. Raises: InputError that names the place."""
    if not isinstance(given, dict) or not given:
        raise InputError(f"there are no prices in it; expected a map with keys of {', '.join((CURRENCY, *SINGLE, *MAPS))}")
    for key, value in given.items():
        if key not in (CURRENCY, *SINGLE, *MAPS):
            raise InputError(f"found the key {key!r}; expected one of {', '.join((CURRENCY, *SINGLE, *MAPS))}")
        if key in MAPS and not isinstance(value, dict):
            raise InputError(f"{key} is no map; expected a price for each name")
    currency = given.get(CURRENCY, "")
    if not isinstance(currency, str):
        raise InputError("currency is not a text; expected one such as EUR")
    return Prices(
        currency=currency,
        single={key: _price(given[key], key) for key in SINGLE if key in given},
        maps={key: {str(name): _price(each, f"{key}.{name}") for name, each in given.get(key, {}).items()} for key in MAPS},
    )


def _price(value: Any, place: str) -> Fraction:
    """A price as it is written: 0.1 is one tenth."""
    text = value if isinstance(value, str) else repr(value) if type(value) in (int, float) else ""
    try:
        price = Decimal(text) if 0 < len(text) <= LONGEST else Decimal("NaN")
    except InvalidOperation:
        price = Decimal("NaN")
    if not price.is_finite() or price < 0 or abs(price.adjusted()) > LONGEST:
        raise InputError(f"{place} is no price; expected a number of 0 or more, such as 4.50")
    return Fraction(price)


def cost(demand: Demand, prices: Prices) -> Fraction:
    """What all machines of a demand cost for a month. A machine without a pod only costs the claims that it creates."""
    row = added(Row(labels=()), demand)
    units = {
        "vcpu": Fraction(row.vcpus),
        "cpu": Fraction(row.cpu.nanos, NANO),
        "guestGiB": Fraction(row.guest.nanos, GIB),
        "memoryGiB": Fraction(row.memory.nanos, GIB),
    }
    found = sum((units[key] * price for key, price in prices.single.items()), start=NOTHING)
    found += _sum(row.devices, prices.maps["devices"], NANO)
    return found + demand.copies * _sum(_claims(demand), prices.maps["storageGiB"], GIB)


def _sum(units: Amounts, prices: dict[str, Fraction], unit: int) -> Fraction:
    priced = (Fraction(units[name].nanos, unit) * price for name, price in prices.items() if name in units)
    return sum(priced, start=NOTHING)


def _claims(demand: Demand) -> Amounts:
    return storage.by_class(claim for claim in demand.record.get("storage", ()) if storage.is_created(claim))


def unpriced(sized: Iterable[Sized], prices: Prices) -> list[str]:
    """The devices and storage classes that machines have and the prices do not name."""
    found: set[str] = set()
    for each in sized:
        devices = added(Row(labels=()), each.demand).devices
        found |= {f"device {name}" for name in devices if "/" in name and name not in prices.maps["devices"]}
        classes = set(_claims(each.demand)) - set(prices.maps["storageGiB"])
        found |= {f"storage class {name}" if name else "the default storage class" for name in classes}
    return sorted(found)


def exact(amount: Fraction) -> str:
    """The amount with all its digits. There are finitely many: prices are decimal, and a GiB is a power of two."""
    with localcontext() as context:
        context.prec = 400
        written = f"{Decimal(amount.numerator) / Decimal(amount.denominator):f}"
    return written.rstrip("0").rstrip(".") if "." in written else written


def rounded(amount: Fraction) -> str:
    """The amount in two decimals, half up."""
    cents = int(amount * 100 + Fraction(1, 2))
    return f"{cents // 100}.{cents % 100:02}"


def schema() -> Object:
    """The JSON Schema of the file."""
    number = {
        "type": ["number", "string"],
        "minimum": 0,
        "description": "A price of 0 or more for a month; a text keeps all its digits.",
    }
    each = {"type": "object", "additionalProperties": number}
    about = {
        "vcpu": "For a vCPU of a guest.",
        "cpu": "For a CPU that pods request.",
        "guestGiB": "For a GiB of a guest's memory.",
        "memoryGiB": "For a GiB that pods request, huge pages included.",
    }
    properties: Object = {CURRENCY: {"type": "string"}}
    properties |= {key: {**number, "description": about[key]} for key in SINGLE}
    properties["devices"] = {**each, "description": "For a device, by its resource name."}
    properties["storageGiB"] = {**each, "description": "For a GiB, by storage class; an empty name is the default class."}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Prices for a month, for kubevirt-render capacity --prices",
        "type": "object",
        "properties": properties,
        "minProperties": 1,
        "additionalProperties": False,
    }
