"""Findings as Markdown for the comment of a pull request; the first line is a mark by which a bot finds its comment again."""

from __future__ import annotations

import re
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from krm_fn.base.console import NAME, one_line, printable
from krm_fn.base.paths import dotted
from krm_fn.findings import results

if TYPE_CHECKING:
    from krm_fn.cli.formats import Report
    from krm_fn.findings.finding import Finding

MARK = f"<!-- {NAME} check -->"
# GitHub takes 65,536 characters in a comment; GitLab takes more.
LONGEST = 60_000
# What GitHub and GitLab make more than text of: markup, mentions, references, addresses, commits, emoji.
SPECIAL = re.compile(r"""[^\w→\xd7.,;:()'"/=+?-]|_|//|www\.|(GH|CVE|CWE)-\d|[0-9a-f]{7}|:\w+:|\bmailto:""", re.IGNORECASE)
ICONS = {"error": ":x:", "warning": ":warning:", "info": ":information_source:"}


def write(report: Report) -> str:
    """A heading with the figures, a table of the findings, and folds for those that do not count; cut if it gets too long."""
    found = "" if report.findings else "no findings, "
    lines = [MARK, f"### {NAME}: {found}{prose(report.figures) if report.since else report.figures}"]
    if report.findings:
        lines += ["", "| | place | object | finding |", "|---|---|---|---|"]
        lines += _fitting([_row(finding) for finding in report.findings], LONGEST * 3 // 4)
    if report.suppressed:
        rows = [f"| {_row(each.finding)[2:]} {prose(each.reason or each.by)} |" for each in report.suppressed]
        summary = f"<details><summary>{len(report.suppressed)} suppressed</summary>"
        lines += ["", summary, "", "| | place | object | finding | reason |", "|---|---|---|---|---|"]
        lines += [*_fitting(rows, LONGEST // 10), "", "</details>"]
    if report.gone:
        summary = f"<details><summary>{len(report.gone)} gone since {escape(printable(one_line(report.since)))}</summary>"
        lines += ["", summary, "", "| | place | object | finding |", "|---|---|---|---|"]
        lines += [*_fitting([_row(finding) for finding in report.gone], LONGEST // 10), "", "</details>"]
    return "\n".join(lines) + "\n"


def _fitting(rows: list[str], limit: int) -> list[str]:
    """As many rows as fit, and how many are left out."""
    kept: list[str] = []
    for row in rows:
        limit -= len(row) + 1
        if limit < 0:
            return [*kept, f"| | | | and {len(rows) - len(kept)} more |"]
        kept.append(row)
    return kept


def _row(finding: Finding) -> str:
    what = f"{prose(dotted(finding.path))}: " if finding.path else ""
    page = results.link_to(finding.rule)
    rule = f"[{finding.rule}]({page})" if page else prose(finding.rule)
    cells = (ICONS[finding.severity], code(results.place(finding)), code(str(finding.ref or "")))
    said = " ".join(filter(None, (finding.message, results.in_targets(finding))))
    return f"| {' | '.join(cells)} | {what}{prose(said)} ({rule}) |"


def prose(text: str) -> str:
    """The text as prose, in which words that could be more than text are code: there is no markup, mention or link in it."""
    words = one_line(printable(text)).split(" ")
    runs = [(special, " ".join(run)) for special, run in groupby(words, lambda word: bool(SPECIAL.search(word)))]
    return " ".join(code(run) if special else run for special, run in runs)


def code(text: str) -> str:
    """The text as a code span, "" where there is none. Nothing in it ends the span or the cell of the table."""
    text = printable(text).replace("`", "\\x60").replace("|", "\\x7c")
    return f"`{one_line(text)}`" if text.strip() else ""
