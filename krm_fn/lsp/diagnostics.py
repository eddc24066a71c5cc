"""Findings as diagnostics, each at the value that it is about; and the values that they propose, as changes of lines.

The objects of a file and their named parts, for an editor's outline.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from krm_fn.base.errors import RenderError
from krm_fn.findings.finding import UNSET, Finding
from krm_fn.findings.results import link_to
from krm_fn.kubevirt.holders import DATA_VOLUMES, DOMAIN, HOLDERS, INSTANCE_SPEC
from krm_fn.lsp.answers import Action, Diagnostic, LineEdit, RelatedPlace, Span, Symbol
from krm_fn.lsp.index import NamePlace
from krm_fn.lsp.outline import Outline
from krm_fn.repositories.fixes import Fix, fixed, is_certain

if TYPE_CHECKING:
    from krm_fn.lsp.outline import Outline, OutlineEntry


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


def _related(finding: Finding) -> Iterator[RelatedPlace]:
    for each in finding.related:
        if each.file and each.line:
            place = NamePlace(file=each.file, line=each.line - 1, start=each.column - 1, end=each.column - 1)
            yield RelatedPlace(message=str(each.ref), place=place)


LONGEST = 60  # characters of a value in a title
# Characters that are read again for the fixes of one request, each of which writes the whole text anew; at least one is made.
MOST_READ = 2_000_000


def actions(findings: Iterable[Finding], fixes: Mapping[str, Fix], text: str) -> Iterator[Action]:
    """The quick fixes for findings of one file; `fixes` are the values to write, by the findings' fingerprints."""
    fixable = ((finding, fixes.get(finding.fingerprint)) for finding in findings if finding.proposed is not UNSET)
    written = ((finding, fix) for finding, fix in fixable if fix)
    for finding, fix in islice(written, max(MOST_READ // max(len(text), 1), 1)):
        edits = tuple(edits_of(text, fix))
        if edits:
            title = f"Change to {_shown(finding.proposed)} ({finding.rule})"
            yield Action(title=title, edits=edits, fingerprint=finding.fingerprint, certain=is_certain(finding))


def edits_of(text: str, fix: Fix) -> Iterator[LineEdit]:
    """The lines that a fix changes; none where the text does not have the wrong value any more."""
    try:
        data, made = fixed(text.encode(errors="surrogatepass"), [fix])
    except RenderError:
        return
    if not made:
        return
    before, after = text.splitlines(keepends=True), data.decode().splitlines(keepends=True)
    same = _equal(before, after)
    end = min(_equal(before[::-1], after[::-1]), min(len(before), len(after)) - same)
    old, new = before[same : len(before) - end], after[same : len(after) - end]
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    for tag, first, last, start, stop in matcher.get_opcodes():
        if tag != "equal":
            yield LineEdit(first=same + first, last=same + last, text="".join(new[start:stop]))


def _equal(some: Sequence[str], others: Sequence[str]) -> int:
    """How many lines are equal, from the first one on."""
    return next(
        (at for at, (one, other) in enumerate(zip(some, others, strict=False)) if one != other), min(len(some), len(others))
    )


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


# Lists of named parts in a VM.
PARTS = (
    ("disk", (*DOMAIN, "devices", "disks")),
    ("interface", (*DOMAIN, "devices", "interfaces")),
    ("volume", (*INSTANCE_SPEC, "volumes")),
    ("network", (*INSTANCE_SPEC, "networks")),
)


def symbols(outline: Outline) -> Iterator[Symbol]:
    """The objects of a file, in order."""
    for root in outline.objects:
        kind = root.text("kind")
        if kind:
            name = root.at(("metadata", "name"))
            at = name if name and name.value else root.child("kind")
            yield _symbol(root, name.value if name and name.value else kind, kind, at or root, tuple(_parts(root)))


def _parts(root: OutlineEntry) -> Iterator[Symbol]:
    holder = HOLDERS.get((root.text("apiVersion").rpartition("/")[0], root.text("kind")))
    if holder is None or holder.vm is None:
        return
    for word, place in PARTS:
        found = root.at(holder.in_vm(place))
        for each in found.children if found else ():
            if each.text("name"):
                yield _symbol(each, each.text("name"), word, each.child("name") or each)
    templates = root.at(holder.in_vm(DATA_VOLUMES))
    for each in templates.children if templates else ():
        name = each.at(("metadata", "name"))
        if name and name.value:
            yield _symbol(each, name.value, "dataVolumeTemplate", name)


def _symbol(entry: OutlineEntry, name: str, detail: str, at: OutlineEntry, children: tuple[Symbol, ...] = ()) -> Symbol:
    span = Span(line=at.line, start=at.start, end=max(at.end, at.start))
    return Symbol(name=name, detail=detail, first=entry.line, last=entry.last, span=span, children=children)
