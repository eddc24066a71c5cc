"""Findings as one JSON object: `results` holds KRM results, `summary` the figures."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from krm_fn import results

if TYPE_CHECKING:
    from krm_fn.cli.formats import Report


def write(report: Report) -> str:
    """`{"results": [...], "summary": {"error": 1, "warning": 0, "info": 0, "objects": 3, "files": 1}}`."""
    figures = {**results.count(report.findings), "objects": report.objects, "files": len(report.files)}
    found = [results.to_krm(finding) for finding in report.findings]
    return json.dumps({"results": found, "summary": figures}, indent=2, ensure_ascii=False) + "\n"
