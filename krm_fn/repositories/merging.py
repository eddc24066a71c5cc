"""Findings of several targets: one that they share is reported once, with all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeVar

    from krm_fn.findings.finding import Finding, Suppressed

    T = TypeVar("T")


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, each once, in the order of the first of each; its targets are those of all that are the same."""
    return [_with(each, targets) for each, targets in _alike((key(each), each, each.targets) for each in findings)]


def merged_suppressed(suppressed: Iterable[Suppressed]) -> list[Suppressed]:
    """The same of findings that do not count: only those are the same that are silenced by the same for the same reason."""
    found = _alike(((each.by, each.reason, *key(each.finding)), each, each.finding.targets) for each in suppressed)
    return [each.but(finding=_with(each.finding, targets)) for each, targets in found]


def _alike(found: Iterable[tuple[Any, T, Iterable[str]]]) -> Iterable[tuple[T, set[str]]]:
    """The first with each key, and the targets of all with this key."""
    groups: dict[Any, tuple[T, set[str]]] = {}
    for same, each, targets in found:
        groups.setdefault(same, (each, set()))[1].update(targets)
    return groups.values()


def key(finding: Finding) -> tuple[Any, ...]:
    """What two findings have to have in common to be the same. A cluster may have its own severity of a rule.

    Overlays give an object of a base another namespace: where the place in the text is known, namespaces tell nothing apart.
    """
    place = finding.file, finding.line, finding.column, finding.path, finding.deeper
    ref = finding.ref.but(namespace="") if finding.ref and finding.line else finding.ref
    return finding.rule, finding.severity, finding.message, ref, finding.more, place


def _with(finding: Finding, targets: set[str]) -> Finding:
    return finding if targets == set(finding.targets) else finding.but(targets=tuple(sorted(targets)))
