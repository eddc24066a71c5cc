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
    ends: dict[int, dict[int, int]] = {}
    for finding in findings:
        line, column = min(max(finding.line - 1, 0), len(lines) - 1), max(finding.column - 1, 0)
        text = lines[line].rstrip("\r")
        if line not in ends:  # many findings may be about one line, which may be all of the file
            ends[line] = _ends(text)
        yield Diagnostic(
            span=_span(text, line, column, ends[line]),
            severity=finding.severity,
            message=finding.message,
            rule=finding.rule,
            doc=link_to(finding.rule),
            related=tuple(_related(finding)),
            fingerprint=finding.fingerprint,
        )


def _span(text: str, line: int, column: int, ends: dict[int, int]) -> Span:
    """The key or the value that starts at a place, else the rest of the line; the first line where no place is known."""
    if column in ends:
        return Span(line=line, start=column, end=ends[column])
    start = min(column, len(text))
    return Span(line=line, start=start, end=max(len(text.rstrip()), start))


def _ends(text: str) -> dict[int, int]:
    """The ends of the keys and values of a line, by their starts."""
    found: dict[int, int] = {}
    for entry in Outline(text).entries(0):  # of this line alone: a large file has many
        if not isinstance(entry.step, int):
            found.setdefault(entry.column, entry.key_end)
        if entry.end > entry.start:
            found.setdefault(entry.start, entry.end)
    return found


def _related(finding: Finding) -> Iterator[Related]:
    for each in finding.related:
        if each.file and each.line:
            place = Place(file=each.file, line=each.line - 1, start=each.column - 1, end=each.column - 1)
            yield Related(message=str(each.ref), place=place)
