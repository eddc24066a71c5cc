"""The right size: instancetypes that are smaller than a VM and larger than what its guest was measured to use."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation, Overflow

from krm_fn.base.annotations import Iterable, Iterator, Mapping, Sequence
from krm_fn.base.errors import InputError
from krm_fn.base.objects import Object
from krm_fn.base.quantity import NANO, parse
from krm_fn.base.value import Value
from krm_fn.converting.instancetypes import Choices, Instancetype, Size

COLUMNS = ("namespace", "name", "vcpus", "memory")
Key = tuple[str, str]


class Peak(Value):
    """The most vCPUs that a guest used, in billionths, and its memory in bytes times a billion."""

    vcpus: int
    nanos: int


class Fit(Value):
    """A VM of a size with its peaks, and the smallest instancetype that holds them, None where none is smaller."""

    namespace: str
    name: str
    size: Size
    peak: Peak
    smaller: Instancetype | None = None

    @property
    def peak_vcpus(self) -> str:
        """The vCPUs of the peak, as people write them."""
        whole, rest = divmod(self.peak.vcpus, NANO)
        return f"{whole}.{rest:09}".rstrip("0").rstrip(".")

    @property
    def answer(self) -> Object:
        """The same as plain data, memory in bytes."""
        found: Object = {
            "namespace": self.namespace,
            "name": self.name,
            "vcpus": self.size.vcpus,
            "memory": self.size.nanos // NANO,
            "peak": {"vcpus": self.peak_vcpus, "memory": self.peak.nanos // NANO},
        }
        if self.smaller:
            size = self.smaller.size
            saved = {"vcpus": self.size.vcpus - size.vcpus, "memory": (self.size.nanos - size.nanos) // NANO}
            found["smaller"] = {**self.smaller.matcher, "saves": saved}
        return found


def read(rows: Iterable[Mapping[str, str | None]], columns: Sequence[str]) -> dict[Key, Peak]:
    """The peaks of the rows of a table with these columns, by namespace and name.

    Of several rows of a VM, the largest values count.

    `vcpus` is a number, `memory` a quantity or a number of bytes. Raises: InputError with the line of the wrong row.
    """
    if lacking := next((column for column in COLUMNS if column not in columns), ""):
        raise InputError(f"the first line has no column {lacking}; expected {', '.join(COLUMNS)}", line=1, column=1)
    found: dict[Key, Peak] = {}
    for line, row in enumerate(rows, start=2):
        missing = [column for column in COLUMNS if not (row.get(column) or "").strip()]
        if missing:
            raise InputError(f"{missing[0]} has no value; expected the columns {', '.join(COLUMNS)}", line=line, column=1)
        key = (row["namespace"] or "").strip(), (row["name"] or "").strip()
        peak = Peak(vcpus=_number(row["vcpus"] or "", "vcpus", line), nanos=_bytes(row["memory"] or "", line))
        known = found.get(key, peak)
        found[key] = Peak(vcpus=max(known.vcpus, peak.vcpus), nanos=max(known.nanos, peak.nanos))
    return found


def _number(text: str, column: str, line: int) -> int:
    try:
        value = Decimal(text.strip()) * NANO
    except (InvalidOperation, Overflow):
        value = Decimal(-1)
    if not value.is_finite() or value < 0 or value.adjusted() > 2 * len(str(NANO)):
        raise InputError(f"{column} is {text.strip()!r}; expected a number of 0 or more", line=line, column=1)
    return int(value)


def _bytes(text: str, line: int) -> int:
    amount = parse(text.strip())
    return amount.nanos if amount and amount.nanos >= 0 else _number(text, "memory", line)


def smaller(choices: Choices, size: Size, peak: Peak, spare: int) -> Instancetype | None:
    """The smallest instancetype that holds a peak and `spare` percent more, and is smaller than the size of the VM."""
    factor = 100 + spare
    fitting = (each for each in choices.all if not each.deprecated and _is_plain(each))
    return next(
        (each for each in fitting if each.size != size and size.holds(each.size) and _holds(each.size, peak, factor)), None
    )


def _holds(size: Size, peak: Peak, factor: int) -> bool:
    return size.vcpus * NANO * 100 >= peak.vcpus * factor and size.nanos * 100 >= peak.nanos * factor


def _is_plain(of: Instancetype) -> bool:
    """True for an instancetype that gives nothing but a size."""
    spec: Iterator[tuple[str, object]] = ((key, set(value)) for key, value in of.spec.items() if isinstance(value, dict))
    return of.spec.keys() <= {"cpu", "memory"} and all(keys == {"guest"} for _, keys in spec)
