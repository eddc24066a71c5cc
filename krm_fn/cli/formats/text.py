"""Findings as lines for people: `error: vm.yaml:3:5: VirtualMachine ns/name: spec.x: message (rule)`.

On a terminal the line of the file follows, with a caret below the value, and the other places that the finding names.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING

from krm_fn.base.console import one_line, printable
from krm_fn.base.paths import dotted
from krm_fn.findings import results
from krm_fn.findings.finding import Finding

if TYPE_CHECKING:
    from krm_fn.cli.formats import CheckReport


RESET = "\x1b[0m"
COLORS = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "info": "\x1b[1;36m", "faint": "\x1b[2m", "caret": "\x1b[1;32m"}
WIDEST = 160


def write(report: CheckReport) -> str:
    """A line for each finding, nothing where there is none, then those that are gone; with `summary` figures at the end."""
    lines = [line for finding in report.findings for line in _lines(finding, report)]
    if report.gone:
        head = one_line(printable(f"gone since {report.since}:"))
        lines += [*([""] if lines else []), head, *(f"  {results.line(each)} ({each.rule})" for each in report.gone)]
    return "".join(f"{line}\n" for line in (*lines, *([report.figures] if report.summary else [])))


def _lines(finding: Finding, report: CheckReport) -> Iterator[str]:
    line = results.line(finding)
    if report.color:
        line = _colored(finding.severity, finding.severity) + line.removeprefix(finding.severity)
    rule = f"({finding.rule})"
    yield f"{line} {_colored(rule, 'faint') if report.color else rule}"
    if report.rich:
        yield from _quoted(finding, report)
        for other in finding.related:
            if results.place(other):
                yield "    " + one_line(printable(f"{results.place(other)}: {other.ref}: {dotted(other.path)}"))


def _quoted(finding: Finding, report: CheckReport) -> Iterator[str]:
    """The line of the file and a caret; nothing where the line may hold a secret or is too long to be read."""
    line = report.line(finding.file, finding.line) if finding.line else ""
    if line and len(line) <= WIDEST:
        line = line.replace("\t", " ")
        yield f"    {printable(line)}"
        before = printable(line[: finding.column - 1])
        caret = "".join("  " if unicodedata.east_asian_width(letter) in "WF" else " " for letter in before) + "^"
        yield f"    {_colored(caret, 'caret') if report.color else caret}"


def _colored(text: str, name: str) -> str:
    return f"{COLORS[name]}{text}{RESET}"
