"""Findings as workflow commands, which GitHub Actions shows as annotations of the changed lines."""

from __future__ import annotations

from krm_fn.base.console import printable
from krm_fn.cli.formats import CheckReport, relative
from krm_fn.findings import results
from krm_fn.findings.finding import Finding

COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def write(report: CheckReport) -> str:
    """`::error file=vm.yaml,line=3,col=5,title=some-rule::VirtualMachine ns/name: spec.x: message`, one a finding."""
    lines = [_command(finding) for finding in report.findings]
    return "".join(f"{line}\n" for line in (*lines, *([report.figures] if report.summary else [])))


def _command(finding: Finding) -> str:
    place = {"file": printable(relative(finding.file)), "line": finding.line, "col": finding.column} if finding.file else {}
    properties = {**place, "title": finding.rule}
    fields = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value)
    return f"::{COMMANDS[finding.severity]} {fields}::{_data(results.described(finding))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
