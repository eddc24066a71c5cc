"""What can be read of a file of which a document can't: the others, at their places. And what to say of what can't be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn import rules
from krm_fn.errors import InputError
from krm_fn.paths import dotted
from krm_fn.sources import read_text
from krm_fn.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krm_fn.files import Unread
    from krm_fn.findings import Finding
    from krm_fn.releases import Release

MARK = b"---"
# Rules that speak of what isn't there, or of what nothing names: a document that can't be read may hold it.
UNCERTAIN = frozenset(
    (
        "failed-inference",
        "missing-object",
        "missing-revision",
        "unresolved-flavor",
        "unresolved-instancetype",
        "unresolved-preference",
        "unused-instancetype",
        "unused-preset",
        "unused-revision",
    )
)


class InputFacts(Value):
    """What couldn't be read: of documents an error each, and the files that were passed over."""

    release: Release
    errors: tuple[InputError, ...] = ()
    unread: tuple[Unread, ...] = ()


class Lost(Value):
    """One document that can't be read: why, and its text."""

    error: InputError
    text: bytes


def salvage(data: bytes, file: str) -> tuple[bytes, tuple[Lost, ...]]:
    """The text with all documents emptied that can't be read, each line where it was; and those documents."""
    lost: dict[int, Lost] = {}
    while True:
        try:
            read_text(data, file)
        except InputError as error:
            number = _blamed(data, error.line, lost)
            if number is None:  # nothing tells which document it is
                return b"", (*lost.values(), Lost(error=error, text=data))
            data, text = _without(data, number)
            lost[number] = Lost(error=error, text=text)
        else:
            return data, tuple(lost.values())


def findings(lost: Iterable[Lost], severity: Mapping[str, str], release: Release) -> Iterator[Finding]:
    """What there is to say of the documents, at their places."""
    errors = tuple(each.error for each in lost)
    told = rules.judge_bundle(InputFacts(errors=errors, release=release), severity, "input")
    for finding, error in zip(told, errors, strict=False):
        yield finding.but(file=error.file, line=error.line, column=error.column)


def passed_over(unread: Iterable[Unread], severity: Mapping[str, str], release: Release) -> Iterator[Finding]:
    """What there is to say of the files that were passed over, one after the other."""
    for each in unread:
        for finding in rules.judge_bundle(InputFacts(unread=(each,), release=release), severity, "input"):
            yield finding.but(file=each.file)


def certain(finding: Finding, lost: Iterable[Lost]) -> bool:
    """False where the finding would perhaps not be, could the documents be read: they hold the name that it speaks of."""
    name = finding.current if isinstance(finding.current, str) else ""
    name = name.rpartition("/")[2] or dotted(finding.path[-1:])
    return finding.rule not in UNCERTAIN or not any(name.encode() in each.text for each in lost)


def _blamed(data: bytes, line: int, lost: Mapping[int, Lost]) -> int | None:
    """The number of the document in which the line is, None where there is none that isn't empty already.

    A bare mark is no mistake: where it is complained of, something before it has no end.
    """
    lines = data.splitlines()
    found = [
        number
        for number, (start, _) in enumerate(_documents(lines))
        if number not in lost and start + (lines[start].partition(b"#")[0].strip() == MARK) < line
    ]
    return found[-1] if found and line else None


def _without(data: bytes, number: int) -> tuple[bytes, bytes]:
    """The text with a document emptied, and the document."""
    lines = data.splitlines(keepends=True)
    start, end = _documents(lines)[number]
    mark = MARK + b"\n" if lines[start].startswith(MARK) else b"\n"
    blank = [mark, *[b"\n"] * (end - start - 1)]
    return b"".join([*lines[:start], *blank, *lines[end:]]), b"".join(lines[start:end])


def _documents(lines: list[bytes]) -> list[tuple[int, int]]:
    """First line and end of each document, from 0; its mark belongs to it."""
    starts = [number for number, line in enumerate(lines) if line.startswith(MARK) and line[3:4].strip() == b""]
    if not starts or starts[0] != 0:
        starts = [0, *starts]
    return list(zip(starts, [*starts[1:], len(lines)], strict=True))
