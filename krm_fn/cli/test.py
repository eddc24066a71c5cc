"""`kubevirt-render test`: folders with an input and what is expected of it, for users' own configs, policies and VMs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import click

from krm_fn.base.console import file_name, printable
from krm_fn.base.errors import InputError, UsageError
from krm_fn.base.work import BASE, Budget
from krm_fn.cli import build_flags, completion, options, output_files, progress
from krm_fn.cli.build_flags import build_flags_option
from krm_fn.cli.cases import case as cases
from krm_fn.cli.cases import running
from krm_fn.cli.cases.running import CasesRun, Result
from krm_fn.cli.formats import ReportCase as TestCase
from krm_fn.cli.formats import counted, junit, tap
from krm_fn.cli.progress import quiet_option
from krm_fn.repositories import building


def text(results: Sequence[Result]) -> str:
    """The cases that fail with what differs, each in lines of its own, and the figures."""
    failed = (result for result in results if result.failed)
    lines = [line for each in failed for line in (f"failed: {_name(each)}", *(f"  {below}" for below in _lines(each)))]
    return "\n".join((*lines, figures(results))) + "\n"


def figures(results: Sequence[Result]) -> str:
    """`12 cases passed`, `1 of 12 cases failed`."""
    failed = sum(result.failed for result in results)
    return f"{failed} of {counted(len(results), 'case')} failed" if failed else f"{counted(len(results), 'case')} passed"


def to_junit(results: Sequence[Result]) -> str:
    """A suite for each folder that has cases."""
    return junit.document(_test(each).but(file=file_name(os.path.dirname(each.folder) or os.curdir)) for each in results)  # noqa: PTH120


def to_tap(results: Sequence[Result]) -> str:
    return tap.document(map(_test, results), [figures(results)])


def _test(result: Result) -> TestCase:
    return TestCase(name=_name(result), file="", fails=result.failed, differences=tuple(_lines(result)))


def _name(result: Result) -> str:
    return printable(file_name(result.folder))


def _lines(result: Result) -> list[str]:
    return [printable(line) for line in (*([result.error] if result.error else ()), *result.differences)]


FORMATS: dict[str, Callable[[Sequence[Result]], str]] = {"text": text, "junit": to_junit, "tap": to_tap}


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", shell_complete=completion.FOLDER)
@output_files.outputs_option(tuple(FORMATS))
@click.option(
    "--update", is_flag=True, help="Write the actual findings, fields and output into the cases, instead of comparing them."
)
@build_flags.build_options(building.TIMEOUT)
@build_flags_option
@quiet_option
@options.config_options
def test(folders: tuple[str, ...], outputs: tuple[str, ...], config_file: str | None, *, update: bool, **flags: Any) -> int:
    """Run tests of your own: the cases in the folders DIR.

    A case is a folder with an input: input.yaml, the folder input, or a kustomization. expected.yaml lists the findings
    of `check` and the fields of `render` that are expected for this input. Optional: config.yaml is the function config
    of the case, and rendered.yaml is the expected output of `render`.

    The exit code is 1 if a case fails, or if there is no case.
    """
    targets = output_files.parsed(outputs, tuple(FORMATS))
    output_files.check(targets)
    found = [folder for top in folders for folder in _cases(top)]
    if not found:
        raise InputError(f"no case found in {', '.join(folders)}; expected folders with {cases.EXPECTED}")
    bar = progress.shown(quiet=False)
    how: CasesRun = running.CasesRun(
        flags={**flags, "verbose": False, "follow_links": False, "helm": False, "exclude": (), "target": None, "cluster": None},
        config_file=config_file,
        budget=Budget(BASE),
    )
    if update:
        return _updated(found, folders, how)
    results = [running.result_of(folder, folders, how) for folder in bar.watch("Testing", found, len(found))]
    output_files.write([(file, FORMATS[name](results)) for name, file in targets])
    return int(any(result.failed for result in results))


def _cases(top: str) -> list[str]:
    if not os.path.isdir(top):  # noqa: PTH112  takes any name
        raise UsageError(f"{top} is no folder; name folders with cases")
    return cases.folders(top)


def _updated(found: list[str], tops: tuple[str, ...], how: CasesRun) -> int:
    """Write the expectations of all cases anew."""
    changed = [file for folder in found for file in running.update(folder, tops, how)]
    for file in changed:
        options.note(f"wrote {file}")
    if not changed:
        options.note("all expectations are met; nothing was written")
    return 0
