"""Findings as diagnostics: each at the value that it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.findings.results import link_to
from krm_fn.lsp.answers import Diagnostic, Related, Span
from krm_fn.lsp.index import Place
from krm_fn.lsp.outline import Outline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krm_fn.findings.finding import Finding


def diagnostics(findings: Iterable[Finding], lines: Sequence[str]) -> Iterator[Diagnostic]:
    """The findings of one file, which has these lines."""
    for finding in findings:
        yield Diagnostic(
            span=span(lines, finding.line - 1, finding.column - 1),
            severity=finding.severity,
            message=finding.message,
            rule=finding.rule,
            doc=link_to(finding.rule),
            related=tuple(_related(finding)),
            fingerprint=finding.fingerprint,
        )


def span(lines: Sequence[str], line: int, column: int) -> Span:
    """The key or the value that starts at a place, else the rest of the line; the first line where no place is known."""
    line, column = min(max(line, 0), len(lines) - 1), max(column, 0)
    text = lines[line].rstrip("\r")
    for entry in Outline(text).entries(0):  # of this line alone: a large file has many
        if entry.column == column and not isinstance(entry.step, int):
            return Span(line=line, start=column, end=entry.key_end)
        if entry.start == column and entry.end > column:
            return Span(line=line, start=column, end=entry.end)
    start = min(column, len(text))
    return Span(line=line, start=start, end=max(len(text.rstrip()), start))


def _related(finding: Finding) -> Iterator[Related]:
    for each in finding.related:
        if each.file and each.line:
            place = Place(file=each.file, line=each.line - 1, start=each.column - 1, end=each.column - 1)
            yield Related(message=str(each.ref), place=place)
