"""Which findings a build may settle: what an object in a folder lacks, a kustomization there may add."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.findings import UNSET
from krm_fn.paths import get

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krm_fn.findings import Finding
    from krm_fn.resource import Object
    from krm_fn.sources import Sources

# Rules that compare a whole object with another.
OF_WHOLE = frozenset(("differing-catalogue-name",))
MISSING = "missing-object"


def certain(findings: Iterable[Finding], found: Sources) -> list[Finding]:
    """The findings without those that a kustomization among the files that were found may settle.

    These speak of what an object lacks that may be patched, and of an object that the kustomization generates.
    """
    if not found.kustomized:
        return list(findings)
    items, places = found.items, found.places
    return [
        finding
        for finding in findings
        if finding.item < 0
        or not _may_be_settled(finding, get(items[finding.item], finding.inside), places[finding.item][0], found)
    ]


def _may_be_settled(finding: Finding, obj: Object, file: str, found: Sources) -> bool:
    if finding.rule == MISSING:
        return found.is_generated(file, finding.current)
    lacks = finding.rule in OF_WHOLE or get(obj, finding.path, UNSET) is UNSET
    return lacks and found.is_patched(file, obj)
