"""Findings as JUnit XML: a suite a file, a case a finding, and a passing case for each object without findings."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from xml.etree import ElementTree as ET

from krm_fn.base.console import NAME, printable
from krm_fn.cli.formats import CheckReport, ReportCase, cases
from krm_fn.findings import results

INDENT = "  "


class Suite:
    """The cases of one file, as text: those of a large repository take much less memory so."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.failures = self.skipped = 0

    def add(self, case: ReportCase, file: str) -> None:
        self.texts.append(_text(_element(case, file), 2))
        self.failures += case.fails
        self.skipped += case.suppressed is not None


def write(report: CheckReport) -> str:
    """Findings that make the command fail are failures; others pass with their text as output; suppressed ones are skipped."""
    return document(cases(report))


def document(tests: Iterable[ReportCase]) -> str:
    """Tests as a whole document, a suite for each file."""
    suites: dict[str, Suite] = {}
    for case in tests:
        file = case.file or "stdin"
        suites.setdefault(file, Suite()).add(case, file)
    texts = (
        _around("testsuite", {"name": file, **_counts([suite]), "skipped": str(suite.skipped)}, suite.texts, 1)
        for file, suite in suites.items()
    )
    root = _around("testsuites", {"name": NAME, **_counts(suites.values())}, list(texts), 0)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + root + "\n"


def _counts(of: Collection[Suite]) -> dict[str, str]:
    tests, failures = sum(len(suite.texts) for suite in of), sum(suite.failures for suite in of)
    return {"tests": str(tests), "failures": str(failures), "errors": "0"}


def _around(tag: str, attributes: dict[str, str], texts: list[str], level: int) -> str:
    """An element around those whose texts are given."""
    alone = _text(ET.Element(tag, attributes), level)
    if not texts:
        return alone
    return "\n".join((alone.removesuffix(" />") + ">", *texts, f"{INDENT * level}</{tag}>"))


def _text(element: ET.Element, level: int) -> str:
    """An element as indented text."""
    ET.indent(element, INDENT, level)
    return INDENT * level + ET.tostring(element, encoding="unicode")


def _element(case: ReportCase, file: str) -> ET.Element:
    element = ET.Element("testcase", {"name": case.name, "classname": file})
    if case.differences:
        failure = ET.SubElement(element, "failure", {"type": "difference", "message": case.differences[0]})
        failure.text = "\n".join(case.differences)
    if case.finding is None:
        return element
    line = results.line(case.finding)
    if case.suppressed:
        ET.SubElement(element, "skipped", {"message": printable(case.suppressed.reason or f"known: {case.suppressed.by}")})
    elif case.fails:
        failure = ET.SubElement(element, "failure", {"type": case.finding.rule, "message": printable(case.finding.message)})
        failure.text = line
    else:
        ET.SubElement(element, "system-out").text = line
    return element
