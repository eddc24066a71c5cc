"""The places of findings in texts: line and column, which the core does not know."""

from __future__ import annotations

import contextlib
import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from krm_fn import yamlio
from krm_fn.base import bundle
from krm_fn.base.bundle import Entry
from krm_fn.base.errors import InputError
from krm_fn.base.expressions import expression
from krm_fn.base.objects import Object, group_of, kind_of, name_of, previous_names
from krm_fn.base.paths import Path, get
from krm_fn.base.redaction import ROOT, Place, hides_line, hides_text, holds_secret
from krm_fn.findings.finding import Finding, Related
from krm_fn.kubevirt.settings import PolicyObject
from krm_fn.sources.files import is_within, read_found, repository
from krm_fn.yamlio.nodes import MAP, SEQ, Node

if TYPE_CHECKING:
    from krm_fn.sources.salvage import Lost
    from krm_fn.sources.source import Sources
    from krm_fn.yamlio import ListText, StreamText

    Text = StreamText | ListText


# A finding about a reference points to the name in it.
MATCHERS = (("spec", "instancetype"), ("spec", "preference"))
# Rules about a key, whatever its value is.
OF_KEYS = frozenset(("unknown-field", "field-of-another-release", "removed-field"))
LINE_END = expression(r"\r\n?|\n")


class Places:
    """Lines and columns in the texts that were read, and in the files from which a kustomization or a package was built."""

    def __init__(self, found: Sources, lost: Iterable[Lost] = (), policies: Iterable[PolicyObject] = ()) -> None:
        """`lost` are the documents that can't be read, `policies` those of the config."""
        self._items = [(source, number) for source in found.sources for number in source.objects]
        own = [source for source in found.sources if not source.folder]
        self._data = {source.file: source.data for source in own}
        self._texts: dict[str, Text | None] = {source.file: source.text for source in own}
        self._made_of: dict[str, MadeOf | None] = {}
        self._lost: dict[str, bool] = {}
        for each in lost:
            self._lost[each.error.file] = self._lost.get(each.error.file, False) or hides_text(each.text)
        self._policies = {(each.file, each.index): each.text for each in policies if each.file}
        self._read: dict[str, tuple[list[str], list[int]]] = {}  # lines without unreadable documents; first lines of items
        self._secret: dict[tuple[str, int], frozenset[int] | None] = {}
        self._folders = {folder for source in found.sources for folder in (os.curdir, source.folder) if folder}
        self._lines: dict[str, list[str]] = {}

    def located(self, findings: Iterable[Finding], *, follow: bool = False) -> list[Finding]:
        """The findings with line and column of their values, or of the nearest value around these. Related places get them too.

        `follow`: the place of an alias is that of the value it brings.
        All places in one item are searched together: to read a large item again for each finding would take too long.
        """
        found = list(findings)
        spoken_of: list[Finding | Related] = []
        for finding in found:
            spoken_of += (finding, *finding.related)
        order = sorted(range(len(spoken_of)), key=lambda number: spoken_of[number].item)
        at = {number: self._place(spoken_of[number], follow=follow) for number in order}
        lines = iter([at[number] for number in range(len(spoken_of))])
        return [_with_lines(finding, lines) for finding in found]

    def written(self, of: Finding) -> tuple[str, int, Path] | None:
        """File, item and path of what a finding is about; None where it is in no file that was read."""
        source, number = self._items[of.item] if of.item >= 0 else (None, 0)
        if source is None or source.folder or not source.file or source.file != of.file:
            return None
        return source.file, number, (*of.inside, *of.path)

    def line(self, file: str, number: int) -> str:
        """A line of a text that was read; "" if it does not exist, or may contain a secret."""
        lines = self._lines_of(file)
        line = lines[number - 1] if 0 < number <= len(lines) else ""
        return "" if hides_line(line) or self._is_secret(file, number, line) else line

    def _lines_of(self, file: str) -> list[str]:
        if file not in self._lines:
            self._lines[file] = _lines(self._data.get(file, b""))
        return self._lines[file]

    def _is_secret(self, file: str, number: int, line: str) -> bool:
        """True for a line with a part of a secret value, or in an unreadable document that may have one."""
        text = self._texts.get(file)
        if text is None:
            return True
        if file not in self._read:
            self._read[file] = _lines(text.data) if file in self._lost else [], [piece.line for piece in text.pieces]
        lines, starts = self._read[file]
        if file in self._lost and lines[number - 1 : number] != [line]:
            return self._lost[file]
        item = bisect_right(starts, number) - 1
        if (file, item) not in self._secret:
            self._secret[file, item] = text.lines_of(item, secret_spans) if item >= 0 else frozenset()
        hidden = self._secret[file, item]
        return hidden is None or number in hidden

    def _place(self, of: Finding | Related, *, follow: bool) -> tuple[int, int]:
        if of.item < 0:
            return self._place_in_policy(of)
        key = isinstance(of, Finding) and of.rule in OF_KEYS
        path = (*of.path, "name") if of.path[-2:] in MATCHERS else (*of.path, *of.deeper)
        source, number = self._items[of.item]
        if of.file == source.file and not source.folder:
            return source.text.place(number, (*of.inside, *path), key=key, follow=follow)
        made_of = self._opened(of.file) if of.file else None
        if made_of is None:
            return 0, 0
        entry = made_of.origin(get(source.text.items[number], of.inside), of.index)
        if entry is None:
            return 0, 0
        return made_of.text.place(entry.item, (*entry.path, *path), key=key, follow=follow)

    def _place_in_policy(self, of: Finding | Related) -> tuple[int, int]:
        text = self._policies.get((of.file, of.index))
        if text is None:
            return 0, 0
        return yamlio.read_stream(text.encode(), file=of.file).place(of.index, (*of.inside, *of.path))

    def _opened(self, file: str) -> MadeOf | None:
        """The file that annotations name; None if it can't be read."""
        if file not in self._made_of:
            text = self.text(file)
            self._made_of[file] = MadeOf(text) if text else None
        return self._made_of[file]

    def text(self, file: str) -> Text | None:
        """The text of a file; None if it can't be read. A file is read only once.

        An annotation may name any file of the machine. Only files of the repository are read.
        """
        if file not in self._texts:
            self._texts[file] = None
            if is_within(file, map(repository, self._folders)):
                with contextlib.suppress(OSError, InputError):
                    self._data[file], _ = read_found(file)
                    self._texts[file] = yamlio.read_stream(self._data[file], file=file)
        return self._texts[file]


def secret_spans(node: Node, text: str, place: Place = ROOT) -> Iterator[tuple[int, int]]:
    """Start and end of each part of a text that must not be shown, with the keys of secret values; `node` is its root."""
    kind = node.entries.get("kind")
    value = {"kind": text[kind[2].start : kind[2].end]} if kind else {}
    for key, (start, _, below) in node.entries.items():
        inner = place.below(str(key), value)
        if inner.hides(_shape(below)):
            yield start, below.end
        else:
            yield from secret_spans(below, text, inner)
    for below in node.nodes:
        if place.hides(_shape(below)):
            yield below.start, below.end
        else:
            yield from secret_spans(below, text, place)
    if _shape(node) is None and holds_secret(text[node.start : node.end]):
        yield node.start, node.end


def _shape(node: Node) -> object:
    """A map or a list if the node is one; None for a scalar."""
    return {MAP: {}, SEQ: []}.get(node.kind)


def _lines(data: bytes) -> list[str]:
    return LINE_END.split(data.decode("utf-8-sig", errors="replace"))


class MadeOf:
    """The text of a file from which objects were built, and its objects by kind, name and number of their document."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self._entries: dict[tuple[str | int, ...], list[Entry]] = {}
        for entry in bundle.entries(text.items):
            kind, name = _kind(entry.obj), name_of(entry.obj)
            for key in (kind, (*kind, name), (*kind, name, entry.item)):
                self._entries.setdefault(key, []).append(entry)

    def origin(self, obj: Object, index: int) -> Entry | None:
        """The object from which another one was built: by index and name, or else the only candidate."""
        kind, names = _kind(obj), dict.fromkeys((name_of(obj), *previous_names(obj)))
        for keys in ([(*kind, name, index) for name in names], [(*kind, name) for name in names], [kind]):
            chosen = [entry for key in keys for entry in self._entries.get(key, ())[:2]]
            if len(chosen) == 1:
                return chosen[0]
        return None


def _with_lines(finding: Finding, lines: Iterator[tuple[int, int]]) -> Finding:
    """The finding with the next line and column. Its related places get those that follow."""
    line, column = next(lines)
    related = tuple(each.but(line=at[0], column=at[1]) for each in finding.related for at in [next(lines)])
    return finding.but(line=line, column=column, related=related)


def _kind(obj: Object) -> tuple[str, str]:
    return group_of(obj), kind_of(obj)
