"""Findings as lines for people: `error: vm.yaml: VirtualMachine ns/name: spec.x: message (rule)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn import results

if TYPE_CHECKING:
    from krm_fn.cli.formats import Report


def write(report: Report) -> str:
    """A line for each finding, nothing where there is none; with `summary` a line of figures at the end."""
    lines = [f"{results.line(finding)} ({finding.rule})" for finding in report.findings]
    return "".join(f"{line}\n" for line in (*lines, *([_figures(report)] if report.summary else [])))


def _figures(report: Report) -> str:
    counts = ", ".join(_counted(number, severity) for severity, number in results.count(report.findings).items())
    where = f" of {_counted(len(report.files), 'file')}" if any(report.files) else ""
    return f"{counts} in {_counted(report.objects, 'object')}{where}"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 or word == 'info' else 's'}"
