"""The forms in which `check` writes findings: one module each, loaded when it is used.

A module `krm_fn.cli.formats.<name>` has a function `write(report: Report) -> str` that gives the whole text.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from krm_fn.base.console import file_name, one_line, printable
from krm_fn.base.paths import dotted
from krm_fn.base.value import Value
from krm_fn.findings import fingerprints, results
from krm_fn.findings.finding import SEVERITIES, Finding, Suppressed
from krm_fn.kubevirt.releases import NEWEST, Release
from krm_fn.repositories.judging import CheckedObject, UnitResult

FORMATS = ("text", *sorted(file.stem for file in Path(__file__).parent.glob("[a-z]*.py") if file.stem != "text"))


STRICTEST_FIRST = (*reversed(SEVERITIES), "never")
# What silences findings: `Suppressed.by`, and what turns a rule off; and how people call it.
CAUSES = {"ignore": "an ignore", "baseline": "the baseline", "config": "the config", "flag": "--severity", "base": "--base"}
# The cause that counts only if a commit is compared.
BASE = "base"


def _no_line(_: str, __: int) -> str:
    return ""


def strictest(given: Iterable[str]) -> str:
    """Of values of `failOn` the one by which most findings fail the run."""
    return min(given, key=STRICTEST_FIRST.index)


class CheckReport(Value):
    """What a check led to.

    `findings` are those that count, in order; `suppressed` those that an annotation or a baseline silences; `off` says how
    many more there would be of rules that the "config" or a "flag" turns off; `objects` is the number of objects that were
    read, `subjects` are these where the format names them, `files` the files they stand in. `line` gives a line of a file by
    its number, "" where it may hold a secret. `fail_on_by_target` says from which severity on a finding of a target fails the
    run, `releases` whose rules the `targets` were checked with. `rich` and `color` ask for what a terminal can show.
    `since` is the commit that is compared with, as the user names it, "" for none; `gone` are the findings that only it has.
    """

    findings: tuple[Finding, ...]
    objects: int = 0
    subjects: tuple[CheckedObject, ...] = ()
    files: tuple[str, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    since: str = ""
    gone: tuple[Finding, ...] = ()
    off: dict[str, int] = {}  # noqa: RUF012  nobody writes into a Value
    fail_on: str = "error"
    fail_on_by_target: dict[str, str] = {}  # noqa: RUF012  nobody writes into a Value
    fail_on_by_file: dict[str, str] = {}  # noqa: RUF012
    release: Release = NEWEST
    releases: tuple[Release, ...] = ()
    targets: int = 0
    summary: bool = False
    rich: bool = False
    color: bool = False
    line: Callable[[str, int], str] = _no_line

    def fails(self, finding: Finding) -> bool:
        """True where the finding is one for which tests fail: as severe as `fail_on` or more; "never" is taken as error."""
        fail_on = self.fail_on_of(finding)
        worst = SEVERITIES.index("error" if fail_on == "never" else fail_on)
        return SEVERITIES.index(finding.severity) <= worst

    def fail_on_of(self, finding: Finding) -> str:
        """From which severity on a finding fails the run: by the strictest of its targets, where it has none by its file."""
        by_target = [self.fail_on_by_target[name] for name in finding.targets if name in self.fail_on_by_target]
        return strictest(by_target) if by_target else self.fail_on_by_file.get(finding.file, self.fail_on)

    @property
    def silenced(self) -> dict[str, int]:
        """The number of findings that are not reported, by what silences them; every cause has a number."""
        by = [each.by for each in self.suppressed]
        return {cause: by.count(cause) + self.off.get(cause, 0) for cause in CAUSES if cause != BASE or self.since}

    @property
    def figures(self) -> str:
        """`1 error, 0 warnings, 2 info in 3 objects of 2 files, KubeVirt 1.9.0, 1 suppressed (1 by an ignore)`."""
        counts = ", ".join(counted(number, severity) for severity, number in results.count(self.findings).items())
        where = f" of {counted(len(self.files), 'file')}" if any(self.files) else ""
        causes = ", ".join(f"{number} by {CAUSES[cause]}" for cause, number in self.silenced.items() if number)
        silent = f", {sum(self.silenced.values())} suppressed ({causes})" if causes else ""
        targets = f" and {counted(self.targets, 'target')}" if self.targets else ""
        releases = ", ".join(map(str, self.releases or (self.release,)))
        gone = f", {len(self.gone)} gone since {self.since}" if self.gone else ""
        return f"{counts} in {counted(self.objects, 'object')}{where}{targets}, KubeVirt {releases}{silent}{gone}"


def counted(number: int, word: str) -> str:
    """`1 error`, `2 errors`; `info` has no plural."""
    return f"{number} {word}{'' if number == 1 or word == 'info' else 's'}"


class ReportCase(Value):
    """One test of a test report: a finding, or an object of which there is none. `fails`: it makes the command fail.

    Name and file are as messages show them. `differences` are the lines in which a test of `kubevirt-render test` fails.
    """

    name: str
    file: str
    finding: Finding | None = None
    suppressed: Suppressed | None = None
    fails: bool = False
    differences: tuple[str, ...] = ()


def cases(report: CheckReport) -> Iterator[ReportCase]:
    """The report as tests, file by file in the order in which the files were read; findings without an object come last."""
    found = [_case(finding, None, fails=report.fails(finding)) for finding in report.findings]
    found += [_case(each.finding, each, fails=False) for each in report.suppressed]
    by_object: dict[tuple[int, Any], list[ReportCase]] = {}
    for case in found:
        by_object.setdefault(_place(case.finding), []).append(case)
    for subject in report.subjects:
        name = one_line(printable(str(subject.ref)))
        yield from by_object.pop(_place(subject), None) or [ReportCase(name=name, file=file_name(subject.file))]
    for rest in by_object.values():
        yield from rest


def _place(of: Finding | CheckedObject | None) -> tuple[int, Any]:
    return (of.item, of.inside) if of else (-1, ())


def _case(finding: Finding, suppressed: Suppressed | None, *, fails: bool) -> ReportCase:
    where = printable(": ".join(filter(None, (str(finding.ref or ""), dotted(finding.path)))))
    name = one_line(f"{finding.rule}: {where}" if where else finding.rule)
    return ReportCase(name=name, file=file_name(finding.file), finding=finding, suppressed=suppressed, fails=fails)


def relative(file: str) -> str:
    """The file as a path from here where it is below this folder, with forward slashes; "" stays."""
    if not file:
        return ""
    path, here = Path(os.path.normpath(file)), Path.cwd()
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()


def written(name: str, report: CheckReport) -> str:
    """The report in the format of that name."""
    text: str = importlib.import_module(f"{__name__}.{name}").write(report)
    return text


def combined(found: Sequence[UnitResult]) -> CheckReport:
    """The report of all units. Several have findings in common; those are reported once, with all of their targets."""
    several = len(found) > 1
    numbered = list(_numbered(found))
    findings = [finding for unit in numbered for finding in unit.findings]
    suppressed = [each for unit in numbered for each in unit.suppressed]
    if several:
        findings = fingerprints.printed(results.ordered(fingerprints.merged(findings)))
        suppressed = fingerprints.merged_suppressed(suppressed)
    lines = {place: line for unit in found for place, line in unit.lines.items()}
    return CheckReport(
        findings=tuple(findings),
        suppressed=tuple(suppressed),
        fail_on=strictest(unit.fail_on for unit in found),
        fail_on_by_target={unit.name: unit.fail_on for unit in found if unit.name},
        fail_on_by_file={finding.file: unit.fail_on for unit in found if not unit.name for finding in unit.findings},
        release=found[0].release,
        releases=tuple(sorted({unit.release for unit in found}, key=str)),
        line=lambda file, number: lines.get((file, number), ""),
        objects=sum(unit.objects for unit in found),
        subjects=tuple(subject for unit in numbered for subject in unit.subjects),
        files=tuple(dict.fromkeys(file for unit in found for file in unit.files)),
        targets=sum(bool(unit.name) for unit in found),
    )


def combined_findings(done: Iterable[UnitResult]) -> list[Finding]:
    """The findings of all units, in order; one that several targets share is there once, with all of them."""
    before = 0
    found: list[Finding] = []
    for each in done:
        found += each.renumbered(before).findings
        before += each.items
    return list(results.ordered(fingerprints.merged(found)))


def exit_code(done: Iterable[UnitResult]) -> int:
    """1 where a finding fails the run by the config of its unit."""
    return max((results.exit_code(each.findings, each.fail_on) for each in done), default=0)


def _numbered(found: Sequence[UnitResult]) -> Iterator[UnitResult]:
    """The units, with numbers of items that no other unit has, and with their targets named in their findings."""
    if len(found) == 1:
        yield found[0]
        return
    before = 0
    for each in found:
        yield each.renumbered(before)
        before += each.items
