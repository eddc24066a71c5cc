"""A VM that says its size itself, and the instancetype with which it would be the same."""

from __future__ import annotations

from krm_fn.base.bundle import Entry
from krm_fn.base.paths import Path
from krm_fn.base.value import Value


class ConversionFacts(Value):
    """The object of a flat VM, the path of the VM in it, and its instancetype; `is_exact`: the instance stays the same."""

    entry: Entry
    prefix: Path
    name: str
    is_exact: bool
