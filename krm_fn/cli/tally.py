"""The last line that `check` prints on a terminal: what was read, and how much was found."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from krm_fn.cli.formats import counted
from krm_fn.cli.quiet import is_quiet
from krm_fn.findings import results

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krm_fn.cli.formats import Report
    from krm_fn.repositories.judging import UnitResult


def show(report: Report, found: Sequence[UnitResult]) -> None:
    """Print the line on stderr, for somebody who looks at it and does not see these numbers elsewhere."""
    if is_quiet() or not (sys.stderr and sys.stderr.isatty()) or (report.summary and sys.stdout and sys.stdout.isatty()):
        return
    click.echo(line(report, found), err=True)


def line(report: Report, found: Sequence[UnitResult]) -> str:
    """`12 targets, 48 VMs, 0 errors`; other numbers that are 0 are left out."""
    return ", ".join(_parts(report, found))


def _parts(report: Report, found: Sequence[UnitResult]) -> Iterator[str]:
    if report.targets:
        unbuilt = sum(bool(unit.name) and not unit.built for unit in found)
        yield counted(report.targets, "target") + (f" ({unbuilt} not built)" if unbuilt else "")
    files = len({file for unit in found if not unit.name for file in unit.files if file})
    if files:
        yield counted(files, "file")
    yield counted(sum(unit.vms for unit in found), "VM")
    for severity, number in results.count(report.findings).items():
        if number or severity == "error":
            yield counted(number, severity)
    if silent := sum(report.silenced.values()):
        yield f"{silent} suppressed"
