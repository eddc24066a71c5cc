"""The forms in which `check` writes findings: one module each, loaded when it is asked for.

A module `krm_fn.cli.formats.<name>` has a function `write(report: Report) -> str` that gives the whole text.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

from krm_fn import results
from krm_fn.findings import SEVERITIES, Finding, Suppressed
from krm_fn.resource import Ref
from krm_fn.value import Value

FORMATS = ("text", *sorted(file.stem for file in Path(__file__).parent.glob("[a-z]*.py") if file.stem != "text"))


class Subject(Value):
    """One object that was checked: which, and the file it stands in, "" where that is not known."""

    ref: Ref
    file: str = ""
    item: int = -1
    inside: tuple[str | int, ...] = ()


def _no_line(_: str, __: int) -> str:
    return ""


class Report(Value):
    """What a check led to.

    `findings` are those that count, in order; `suppressed` those that an annotation or a baseline silences; `subjects` all
    objects that were read, `files` the files they stand in. `line` gives a line of a file by its number. `rich` and `color` ask
    for what a terminal can show.
    """

    findings: tuple[Finding, ...]
    subjects: tuple[Subject, ...] = ()
    files: tuple[str, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    fail_on: str = "error"
    summary: bool = False
    rich: bool = False
    color: bool = False
    line: Callable[[str, int], str] = _no_line

    def fails(self, finding: Finding) -> bool:
        """True where the finding is one for which tests fail: as severe as `fail_on` or more; "never" is taken as error."""
        worst = SEVERITIES.index("error" if self.fail_on == "never" else self.fail_on)
        return SEVERITIES.index(finding.severity) <= worst

    @property
    def figures(self) -> str:
        """`1 error, 0 warnings, 2 info in 3 objects of 2 files, 1 suppressed`."""
        counts = ", ".join(_counted(number, severity) for severity, number in results.count(self.findings).items())
        where = f" of {_counted(len(self.files), 'file')}" if any(self.files) else ""
        silent = f", {len(self.suppressed)} suppressed" if self.suppressed else ""
        return f"{counts} in {_counted(len(self.subjects), 'object')}{where}{silent}"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 or word == 'info' else 's'}"


def is_secret(finding: Finding, line: str) -> bool:
    """True where a line of a file may hold what must not be shown: the value of a secret key, or a Secret's data."""
    if finding.ref and finding.ref.kind == "Secret":
        return True
    return any(key in finding.path or key in line for key in results.SECRET_KEYS)


def written(name: str, report: Report) -> str:
    """The report in the format of that name."""
    text: str = importlib.import_module(f"{__name__}.{name}").write(report)
    return text
