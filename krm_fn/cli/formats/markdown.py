"""Findings as Markdown for the comment of a pull request; the first line is a mark by which a bot finds its comment again."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from krm_fn.base.console import NAME, one_line, printable
from krm_fn.base.markdown import code, fitting, prose
from krm_fn.base.paths import dotted
from krm_fn.findings import results
from krm_fn.findings.finding import Finding

if TYPE_CHECKING:
    from krm_fn.cli.formats import CheckReport


MARK = f"<!-- {NAME} check -->"
# GitHub takes 65,536 characters in a comment; GitLab takes more.
LONGEST = 60_000
MORE = "| | | | and {} more |"
ICONS = {"error": ":x:", "warning": ":warning:", "info": ":information_source:"}


def write(report: CheckReport) -> str:
    """A heading with the figures, a table of the findings, and folds for those that do not count; cut if it gets too long."""
    found = "" if report.findings else "no findings, "
    lines = [MARK, f"### {NAME}: {found}{prose(report.figures) if report.since else report.figures}"]
    if report.findings:
        lines += ["", "| | place | object | finding |", "|---|---|---|---|"]
        lines += fitting([_row(finding) for finding in report.findings], LONGEST * 3 // 4, MORE)
    if report.suppressed:
        rows = [f"| {_row(each.finding)[2:]} {prose(each.reason or each.by)} |" for each in report.suppressed]
        summary = f"<details><summary>{len(report.suppressed)} suppressed</summary>"
        lines += ["", summary, "", "| | place | object | finding | reason |", "|---|---|---|---|---|"]
        lines += [*fitting(rows, LONGEST // 10, MORE), "", "</details>"]
    if report.gone:
        summary = f"<details><summary>{len(report.gone)} gone since {escape(printable(one_line(report.since)))}</summary>"
        lines += ["", summary, "", "| | place | object | finding |", "|---|---|---|---|"]
        lines += [*fitting([_row(finding) for finding in report.gone], LONGEST // 10, MORE), "", "</details>"]
    return "\n".join(lines) + "\n"


def _row(finding: Finding) -> str:
    what = f"{prose(dotted(finding.path))}: " if finding.path else ""
    page = results.link_to(finding.rule)
    rule = f"[{finding.rule}]({page})" if page else prose(finding.rule)
    cells = (ICONS[finding.severity], code(results.place(finding)), code(str(finding.ref or "")))
    targets = results.in_targets(finding).strip("[]")  # brackets would stand half inside of a code span
    said = f"{prose(finding.message)} ({prose(targets)}{'; ' if targets else ''}{rule})"
    return f"| {' | '.join(cells)} | {what}{said} |"
