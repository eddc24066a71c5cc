"""Findings of several targets: one that they share is reported once, with all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from krm_fn.findings.finding import Finding, Suppressed


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, each once, in the order of the first of each; its targets are those of all that are the same."""
    found: dict[tuple[Any, ...], Finding] = {}
    targets: dict[tuple[Any, ...], set[str]] = {}
    for finding in findings:
        same = key(finding)
        found.setdefault(same, finding)
        targets.setdefault(same, set()).update(finding.targets)
    return [_with(finding, targets[same]) for same, finding in found.items()]


def merged_suppressed(suppressed: Iterable[Suppressed]) -> list[Suppressed]:
    """The same of findings that do not count: only those are the same that are silenced by the same for the same reason."""
    found: dict[tuple[Any, ...], Suppressed] = {}
    targets: dict[tuple[Any, ...], set[str]] = {}
    for each in suppressed:
        same = each.by, each.reason, *key(each.finding)
        found.setdefault(same, each)
        targets.setdefault(same, set()).update(each.finding.targets)
    return [each.but(finding=_with(each.finding, targets[same])) for same, each in found.items()]


def key(finding: Finding) -> tuple[Any, ...]:
    """What two findings have to have in common to be the same. A cluster may have its own severity of a rule.

    Overlays give an object of a base another namespace: where the place in the text is known, namespaces tell nothing apart.
    """
    place = finding.file, finding.line, finding.column, finding.path, finding.deeper
    ref = finding.ref.but(namespace="") if finding.ref and finding.line else finding.ref
    return finding.rule, finding.severity, finding.message, ref, finding.more, place


def _with(finding: Finding, targets: set[str]) -> Finding:
    return finding if targets == set(finding.targets) else finding.but(targets=tuple(sorted(targets)))
