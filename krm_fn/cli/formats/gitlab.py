"""Findings as GitLab's code quality report: an artifact that merge requests show beside the changed lines."""

from __future__ import annotations

from typing import Any

from krm_fn.base.console import decoded
from krm_fn.cli.formats import CheckReport, relative
from krm_fn.cli.output_files import json_text
from krm_fn.findings import results
from krm_fn.findings.finding import Finding

SEVERITIES = {"error": "critical", "warning": "minor", "info": "info"}


def write(report: CheckReport) -> str:
    """A list with an issue for each finding. GitLab asks for a file and a line: `stdin` and 1 where none is known."""
    return json_text([_issue(finding) for finding in report.findings])


def _issue(finding: Finding) -> dict[str, Any]:
    return {
        "description": results.described(finding),
        "check_name": finding.rule,
        "fingerprint": finding.fingerprint,
        "severity": SEVERITIES[finding.severity],
        "location": {"path": decoded(relative(finding.file)) or "stdin", "lines": {"begin": finding.line or 1}},
    }
