"""The results of cases, in the formats of `kubevirt-render test`. JUnit and TAP are those of `check`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from krm_fn.base.console import file_name, printable
from krm_fn.cli.formats import Case as TestCase
from krm_fn.cli.formats import counted, junit, tap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from krm_fn.cli.cases.running import Result


def text(results: Sequence[Result]) -> str:
    """The cases that fail with what differs, each in lines of its own, and the figures."""
    lines = [line for result in results if result.failed for line in (f"failed: {_name(result)}", *_indented(result))]
    return "\n".join((*lines, figures(results))) + "\n"


def _indented(result: Result) -> Iterator[str]:
    return (f"  {line}" for line in _lines(result))


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
