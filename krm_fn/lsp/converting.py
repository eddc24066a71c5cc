"""Answers in the form of the protocol. Characters count there as the editor asks, mostly in units of UTF-16."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls import uris

from krm_fn.base.console import NAME
from krm_fn.lsp.answers import Action, Completion, Diagnostic, Hint, Hover, Span, Symbol
from krm_fn.lsp.index import NamePlace
from krm_fn.lsp.session import path_of

if TYPE_CHECKING:
    from pygls.workspace import TextDocument


SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "info": lsp.DiagnosticSeverity.Information,
}
KINDS = {
    "field": lsp.CompletionItemKind.Field,
    "value": lsp.CompletionItemKind.EnumMember,
    "name": lsp.CompletionItemKind.Reference,
}

# The scheme of what is on a disk of this machine: with a host, or of another scheme, it is elsewhere.
FILE = "file:///"


def file_of(uri: str) -> str | None:
    """The path of a file from the working directory; None for what is no file, or lies outside of the workspace."""
    try:
        path = uris.to_fs_path(uri) if uri.startswith(FILE) else None
        file = path_of(path) if path else ""
        file.encode()
    except (ValueError, OSError):  # a NUL, half a character, a name that no system takes
        return None
    return None if not file or file.startswith("../") else file


def uri_of(file: str) -> str:
    """The address of a file."""
    return uris.from_fs_path(os.path.abspath(file)) or ""  # noqa: PTH100


class Converter:
    """Converts the answers about one file, whose lines and document these are."""

    def __init__(self, document: TextDocument, lines: Sequence[str]) -> None:
        self._codec, self._lines = document.position_codec, lines
        self._known: dict[int, Sequence[int]] = {}

    def _units(self, line: int) -> Sequence[int]:
        """How many units are before each character of a line, and in all of it."""
        if line not in self._known:
            text = self._lines[line] if 0 <= line < len(self._lines) else ""
            counts = map(self._codec.client_num_units, text)
            self._known[line] = range(len(text) + 1) if text.isascii() else list(accumulate(counts, initial=0))
        return self._known[line]

    def position(self, line: int, character: int) -> lsp.Position:
        """The position of a character of a line."""
        units = self._units(line)
        return lsp.Position(line=line, character=units[min(character, len(units) - 1)])

    def character(self, position: lsp.Position) -> int:
        """The number of code points before a position."""
        units = self._units(position.line)
        return min(bisect_left(units, position.character), len(units) - 1)

    def range(self, span: Span | NamePlace) -> lsp.Range:
        """The range of a part of a line."""
        return lsp.Range(start=self.position(span.line, span.start), end=self.position(span.line, span.end))

    def diagnostic(self, found: Diagnostic) -> lsp.Diagnostic:
        """A diagnostic."""
        related = [
            lsp.DiagnosticRelatedInformation(
                location=lsp.Location(
                    uri=uri_of(each.place.file),
                    range=lsp.Range(
                        start=lsp.Position(each.place.line, each.place.start), end=lsp.Position(each.place.line, each.place.end)
                    ),
                ),
                message=each.message,
            )
            for each in found.related
        ]
        return lsp.Diagnostic(
            range=self.range(found.span),
            message=found.message,
            severity=SEVERITIES[found.severity],
            code=found.rule,
            code_description=lsp.CodeDescription(href=found.doc) if found.doc else None,
            source=NAME,
            related_information=related or None,
            data=found.fingerprint,
        )

    def completion(self, found: Completion) -> lsp.CompletionItem:
        """A word to complete."""
        return lsp.CompletionItem(
            label=found.label,
            kind=KINDS[found.kind],
            detail=found.detail or None,
            text_edit=lsp.TextEdit(range=self.range(found.span), new_text=found.insert or found.label),
            filter_text=found.label,
            tags=[lsp.CompletionItemTag.Deprecated] if found.deprecated else None,
        )

    def symbol(self, found: Symbol) -> lsp.DocumentSymbol:
        """A symbol with its parts."""
        last = self._lines[found.last] if found.last < len(self._lines) else ""
        whole = lsp.Range(start=lsp.Position(found.first, 0), end=self.position(found.last, len(last)))
        return lsp.DocumentSymbol(
            name=found.name,
            detail=found.detail,
            kind=lsp.SymbolKind.Object if found.children or found.detail[:1].isupper() else lsp.SymbolKind.Field,
            range=whole,
            selection_range=self.range(found.span),
            children=[self.symbol(each) for each in found.children],
        )

    def action(self, file: str, found: Action, reported: Sequence[lsp.Diagnostic]) -> lsp.CodeAction:
        """A quick fix for some of the diagnostics that the editor shows."""
        edits = [
            lsp.TextEdit(range=lsp.Range(start=lsp.Position(each.first, 0), end=lsp.Position(each.last, 0)), new_text=each.text)
            for each in found.edits
        ]
        return lsp.CodeAction(
            title=found.title,
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=[each for each in reported if each.data == found.fingerprint],
            is_preferred=found.certain,
            edit=lsp.WorkspaceEdit(changes={uri_of(file): edits}),
        )

    def hover(self, found: Hover) -> lsp.Hover:
        """A hover."""
        content = lsp.MarkupContent(kind=lsp.MarkupKind.Markdown, value=found.text)
        return lsp.Hover(contents=content, range=self.range(found.span))

    def hint(self, found: Hint) -> lsp.InlayHint:
        """An inlay hint."""
        return lsp.InlayHint(position=self.position(found.line, found.character), label=found.text, padding_left=True)
