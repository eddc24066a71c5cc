"""Findings as TAP version 14: a point a finding, and a passing point for each object without findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from krm_fn import yamlio
from krm_fn.base.console import one_line, printable
from krm_fn.base.paths import dotted
from krm_fn.cli.formats import CheckReport, ReportCase, cases
from krm_fn.findings import results
from krm_fn.findings.finding import Finding


def write(report: CheckReport) -> str:
    """Findings that make the command fail are `not ok`; others are `ok` with their diagnosis; suppressed ones are skipped."""
    gone = [one_line(f"gone since {printable(report.since)}: {results.line(each)}") for each in report.gone]
    return document(cases(report), [*gone, *([report.figures] if report.summary else [])])


def document(tests: Iterable[ReportCase], comments: Sequence[str] = ()) -> str:
    """Tests as a whole document, with comments at the end."""
    lines = ["TAP version 14", ""]
    number = 0
    for number, case in enumerate(tests, 1):
        lines += _point(number, case)
    lines[1] = f"1..{number}"
    lines += [f"# {each}" for each in comments]
    return "\n".join(lines) + "\n"


def _point(number: int, case: ReportCase) -> Iterator[str]:
    where = f" in {case.file}" if case.file and case.finding is None else ""
    line = f"{'not ok' if case.fails else 'ok'} {number} - {_escaped(case.name + where)}"
    if case.suppressed:
        yield f"{line} # SKIP {_escaped(case.suppressed.reason or f'known: {case.suppressed.by}')}"
        return
    yield line
    diagnosis = {"differences": list(case.differences)} if case.differences else _diagnosis(case.finding)
    if diagnosis:
        yield "  ---"
        yield from (f"  {each}" for each in yamlio.dump(diagnosis).splitlines())
        yield "  ..."


def _diagnosis(finding: Finding | None) -> dict[str, object]:
    if finding is None:
        return {}
    parts = {
        "message": printable(finding.message),
        "severity": finding.severity,
        "at": results.place(finding),
        "object": printable(str(finding.ref or "")),
        "path": printable(dotted(finding.path)),
        "targets": list(map(printable, finding.targets)),
        "doc": results.doc_of(finding.rule),
    }
    return {key: value for key, value in parts.items() if value}


def _escaped(text: str) -> str:
    return one_line(printable(text)).replace("\\", "\\\\").replace("#", "\\#")
