"""Findings about files of folders that may not be mistakes: a file may be a patch, or only a part of what is applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.base.paths import get
from krm_fn.findings.finding import UNSET
from krm_fn.sources.fragments import Fragments, fragments
from krm_fn.sources.salvage import UNCERTAIN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krm_fn.findings.finding import Finding
    from krm_fn.sources.source import Sources


def certain(findings: Iterable[Finding], found: Sources) -> tuple[list[Finding], Fragments]:
    """The findings without those that may disappear when the files of the folders are applied, and the parts of objects.

    They say of a part of an object, such as a patch, what it lacks. Or they are about what is not there in files of which only
    a part is known.
    """
    findings = [each for each in findings if not (found.in_part and _is_of_absence(each, found))]
    if not found.separate:
        return findings, Fragments()
    parts = fragments(findings, found)
    kept = (each for each in findings if each.item < 0 or not parts.silence(each))
    return list(kept), parts


def _is_of_absence(finding: Finding, found: Sources) -> bool:
    """True for a finding that an object or a value would take away which is not there."""
    if finding.rule in UNCERTAIN:
        return True
    path = (*finding.inside, *finding.path)
    return finding.item >= 0 and bool(finding.path) and get(found.items[finding.item], path, UNSET) is UNSET
