"""The units of a run as one report of their findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.cli.formats import Report, strictest
from krm_fn.findings import fingerprints, results
from krm_fn.repositories import merging

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krm_fn.findings.finding import Finding
    from krm_fn.repositories.judging import UnitResult


def combined(found: Sequence[UnitResult]) -> Report:
    """The report of all units. Several have findings in common; those are reported once, with all of their targets."""
    several = len(found) > 1
    numbered = list(_numbered(found))
    findings = [finding for unit in numbered for finding in unit.findings]
    suppressed = [each for unit in numbered for each in unit.suppressed]
    if several:
        findings = fingerprints.printed(results.ordered(merging.merged(findings)))
        suppressed = merging.merged_suppressed(suppressed)
    lines = {place: line for unit in found for place, line in unit.lines.items()}
    return Report(
        findings=tuple(findings),
        suppressed=tuple(suppressed),
        fail_on=strictest(unit.fail_on for unit in found),
        fail_on_by_target={unit.name: unit.fail_on for unit in found if unit.name},
        fail_on_by_file={finding.file: unit.fail_on for unit in found if not unit.name for finding in unit.findings},
        release=found[0].release,
        releases=tuple(sorted({unit.release for unit in found}, key=str)),
        line=lambda file, number: lines.get((file, number), ""),
        objects=sum(unit.objects for unit in found),
        subjects=tuple(subject for unit in numbered for subject in unit.subjects),
        files=tuple(dict.fromkeys(file for unit in found for file in unit.files)),
        targets=sum(bool(unit.name) for unit in found),
    )


def combined_findings(done: Iterable[UnitResult]) -> list[Finding]:
    """The findings of all units, in order; one that several targets share is there once, with all of them."""
    before = 0
    found: list[Finding] = []
    for each in done:
        found += each.renumbered(before).findings
        before += each.items
    return list(results.ordered(merging.merged(found)))


def exit_code(done: Iterable[UnitResult]) -> int:
    """1 where a finding fails the run by the config of its unit."""
    return max((results.exit_code(each.findings, each.fail_on) for each in done), default=0)


def _numbered(found: Sequence[UnitResult]) -> Iterator[UnitResult]:
    """The units, with numbers of items that no other unit has, and with their targets named in their findings."""
    if len(found) == 1:
        yield found[0]
        return
    before = 0
    for each in found:
        yield each.renumbered(before)
        before += each.items
