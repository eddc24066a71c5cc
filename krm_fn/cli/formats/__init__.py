"""The forms in which `check` writes findings: one module each, loaded when it is asked for.

A module `krm_fn.cli.formats.<name>` has a function `write(report: Report) -> str` that gives the whole text.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from krm_fn.findings import Finding
from krm_fn.value import Value

FORMATS = ("text", *sorted(file.stem for file in Path(__file__).parent.glob("[a-z]*.py") if file.stem != "text"))


class Report(Value):
    """What a check led to: the findings in order, how many objects were read, and the files they stand in."""

    findings: tuple[Finding, ...]
    objects: int
    files: tuple[str, ...] = ()
    summary: bool = False


def written(name: str, report: Report) -> str:
    """The report in the format of that name."""
    text: str = importlib.import_module(f"{__name__}.{name}").write(report)
    return text
