"""What a migration leaves to the user."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.bundle import Entry
from krm_fn.base.paths import Path
from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.releases import Release


class Leftover(Value):
    """One thing that a migration leaves to the user; `path` runs from the root of the object.

    `reason` is a word that the rules of the family `migration` know; `detail` carries what else it needs, by name.
    """

    entry: Entry
    reason: str
    path: Path = ()
    current: Any = UNSET
    detail: tuple[tuple[str, Any], ...] = ()


class MigrationFacts(Value):
    """All that a migration left to the user."""

    release: Release
    leftovers: tuple[Leftover, ...] = ()
