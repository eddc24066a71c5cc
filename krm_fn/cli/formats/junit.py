"""Findings as JUnit XML: a suite a file, a case a finding, and a passing case for each object without findings."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from krm_fn.base.console import NAME, printable
from krm_fn.cli.formats import cases
from krm_fn.findings import results

if TYPE_CHECKING:
    from krm_fn.cli.formats import Case, Report


def write(report: Report) -> str:
    """Findings that make the command fail are failures; others pass with their text as output; suppressed ones are skipped."""
    suites: dict[str, list[Case]] = {}
    for case in cases(report):
        suites.setdefault(case.file or "stdin", []).append(case)
    root = ET.Element("testsuites", {"name": NAME, **_counts([case for of_file in suites.values() for case in of_file])})
    for file, of_file in suites.items():
        suite = ET.SubElement(root, "testsuite", {"name": file, **_counts(of_file), "skipped": _skipped(of_file)})
        for case in of_file:
            _add(suite, case, file)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _counts(of: list[Case]) -> dict[str, str]:
    return {"tests": str(len(of)), "failures": str(sum(case.fails for case in of)), "errors": "0"}


def _skipped(of: list[Case]) -> str:
    return str(sum(case.suppressed is not None for case in of))


def _add(suite: ET.Element, case: Case, file: str) -> None:
    element = ET.SubElement(suite, "testcase", {"name": case.name, "classname": file})
    if case.finding is None:
        return
    line = results.line(case.finding)
    if case.suppressed:
        ET.SubElement(element, "skipped", {"message": printable(case.suppressed.reason or f"known: {case.suppressed.by}")})
    elif case.fails:
        failure = ET.SubElement(element, "failure", {"type": case.finding.rule, "message": printable(case.finding.message)})
        failure.text = line
    else:
        ET.SubElement(element, "system-out").text = line
