"""What the server answers, as plain values. Lines and characters count from 0; ends are exclusive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.base.value import Value

if TYPE_CHECKING:
    from krm_fn.lsp.index import NamePlace


class Span(Value):
    """A part of a line."""

    line: int
    start: int
    end: int


class RelatedPlace(Value):
    """Another place that a diagnostic names."""

    message: str
    place: NamePlace


class Diagnostic(Value):
    """A finding at its place: `severity` is error, warning or info, `doc` the address of the rule's page, or ""."""

    span: Span
    severity: str
    message: str
    rule: str
    doc: str
    related: tuple[RelatedPlace, ...] = ()
    fingerprint: str = ""


class Hover(Value):
    """Markdown about a part of a line."""

    text: str
    span: Span


class Completion(Value):
    """One word to complete: `kind` is field, value or name; `detail` is shown beside it, `insert` replaces the span."""

    label: str
    kind: str
    detail: str = ""
    insert: str = ""
    span: Span
    deprecated: bool = False


class LineEdit(Value):
    """New text for whole lines: from `first` up to and without `last`."""

    first: int
    last: int
    text: str


class Action(Value):
    """A quick fix: its edits in one file, and the fingerprint of the finding that it mends."""

    title: str
    edits: tuple[LineEdit, ...]
    fingerprint: str
    certain: bool = False


class Hint(Value):
    """Text that an editor shows behind a place in a line."""

    line: int
    character: int
    text: str


class Symbol(Value):
    """An object or a named part of one, with the lines that it takes."""

    name: str
    detail: str
    first: int
    last: int
    span: Span
    children: tuple[Symbol, ...] = ()
