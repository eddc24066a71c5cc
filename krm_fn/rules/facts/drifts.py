"""What Argo CD reports of a VM that it applies, because the cluster stores something else than git has."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.bundle import Entry
from krm_fn.base.paths import Path
from krm_fn.base.value import Value


class Respelling(Value):
    """An amount that the cluster stores in another spelling: its place, and what is written and stored."""

    path: Path
    current: Any
    stored: str


class DriftFacts(Value):
    """A VM that stays out of sync. `changed` are the fields that the cluster changes; entries of lists are `*`."""

    entry: Entry
    changed: tuple[Path, ...]
    respelt: tuple[Respelling, ...]
