"""Memory overcommit: how much of the guest's memory the pod requests."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.paths import Path, get
from krm_fn.base.quantity import INT64, of_int, parse
from krm_fn.kubevirt.fields.verbs import Application, reach

REQUESTS = ("domain", "resources", "requests")
GUEST = ("domain", "memory", "guest")


def overcommit(application: Application, value: Any, source: Path) -> None:
    """The pod requests `value` percent less than the guest's memory, in the format of the instancetype's text.

    upstream: pkg/instancetype/apply/memory.go:applyMemory
    """
    guest = parse(get(application.instancetype, ("memory", "guest")))
    if guest and type(value) is int and value > 0:
        request = str(of_int(overcommitted(guest.value(), value), guest.format))
        reach(application.spec, REQUESTS)["memory"] = request
        if application.trace:
            application.trace.note((*REQUESTS, "memory"), source, request, read=GUEST)


def overcommitted(size: int, percent: int) -> int:
    """`size` less `percent` of it, rounded after each step as 32-bit floats are: 128Mi less 15 % is 114085072."""
    if size < 0:
        return -overcommitted(-size, percent)
    left = single(1 - single(percent / 100))
    excess = max(0, size.bit_length() - 50)  # a 64-bit float holds 53; the other bits may still decide a tie
    rounded = (size >> excess << 1) | bool(size & ((1 << excess) - 1))
    request = int(single(single(rounded / 2) * left) * 2**excess)
    return request if -INT64 <= request < INT64 else -INT64


def single(number: float) -> float:
    """The number, at most a memory size, rounded to a 32-bit float: to 24 binary digits."""
    numerator, parts = number.as_integer_ratio()  # `parts` is a power of two; `struct` takes long to load
    unit: int = 1 << max(0, numerator.bit_length() - 24)
    return round(numerator / unit) * unit / parts
