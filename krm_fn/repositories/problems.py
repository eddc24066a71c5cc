"""What there is to say of kustomizations and charts that are not built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.rules import registry
from krm_fn.rules.facts.inputs import InputFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krm_fn.findings.finding import Finding
    from krm_fn.kubevirt.releases import Release
    from krm_fn.repositories.types import Problem


def findings(problems: Iterable[Problem], severity: Mapping[str, str], release: Release) -> Iterator[Finding]:
    """The findings, each at its place; one for the problem that several targets share."""
    for each in dict.fromkeys(problems):
        facts = InputFacts(charts=(each,), release=release) if each.is_chart else InputFacts(unbuilt=(each,), release=release)
        for finding in registry.judge_bundle(facts, severity, "input"):
            yield finding.but(file=each.file, line=each.line, column=each.column)
