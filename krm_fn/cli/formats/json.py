"""Findings as one JSON object: `results` holds KRM results, `summary` the figures.

Beside the keys of a KRM result each has `fingerprint` and, where known, `line`, `column` and `related`, and, where the run has
several targets, `targets`. `suppressed`, where there are any, holds the like with `suppressedBy` and `reason`, and
`summary.suppressed` how many findings each cause silences. `gone`, if a commit is compared, has the findings that only it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krm_fn.base.console import decoded
from krm_fn.base.paths import dotted
from krm_fn.cli.output_files import json_text
from krm_fn.findings import results
from krm_fn.findings.finding import Finding, Related

if TYPE_CHECKING:
    from krm_fn.cli.formats import CheckReport


def write(report: CheckReport) -> str:
    """`{"results": [...], "summary": {"error": 1, "warning": 0, "info": 0, "objects": 3, "files": 1, "kubevirt": "1.9.0"}}`."""
    figures: dict[str, Any] = {**results.count(report.findings), "objects": report.objects, "files": len(report.files)}
    figures["kubevirt"] = str(report.release)
    if any(report.silenced.values()):
        figures["suppressed"] = report.silenced
    value: dict[str, Any] = {"results": [_result(finding) for finding in report.findings], "summary": figures}
    if report.since:
        value["gone"] = [_result(finding) for finding in report.gone]
    if report.suppressed:
        value["suppressed"] = [
            {**_result(each.finding), "suppressedBy": each.by, "reason": each.reason} for each in report.suppressed
        ]
    return json_text(value)


def _result(finding: Finding) -> dict[str, Any]:
    more = {
        "line": finding.line,
        "column": finding.column,
        "fingerprint": finding.fingerprint,
        "targets": list(finding.targets),
        "related": [_related(each) for each in finding.related],
    }
    return {**results.to_krm(finding), **{key: value for key, value in more.items() if value}}


def _related(place: Related) -> dict[str, Any]:
    parts = {
        "object": str(place.ref),
        "path": dotted(place.path),
        "file": decoded(place.file),
        "line": place.line,
        "column": place.column,
    }
    return {key: value for key, value in parts.items() if value}
