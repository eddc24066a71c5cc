"""What a server knows between two requests: the workspace, and the answers about the text as it is now.

Each method answers one request about a place in a file. None of them fails for text that is broken.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from krm_fn.base.bundle import CLUSTER_KINDS, effective_namespace
from krm_fn.base.errors import RenderError
from krm_fn.base.objects import kind_of, name_of
from krm_fn.base.paths import get
from krm_fn.config.repository import NAME
from krm_fn.kubevirt import catalogue
from krm_fn.kubevirt.resolve.matcher import INSTANCETYPE
from krm_fn.kubevirt.settings import Config
from krm_fn.lsp import sizes
from krm_fn.lsp.completions import completions
from krm_fn.lsp.diagnostics import diagnostics
from krm_fn.lsp.fixes import actions
from krm_fn.lsp.givers import Explained, explained
from krm_fn.lsp.hints import hints
from krm_fn.lsp.history import before, change
from krm_fn.lsp.hovers import Known, hover
from krm_fn.lsp.index import Name
from krm_fn.lsp.symbols import symbols
from krm_fn.lsp.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.findings.finding import Finding
    from krm_fn.lsp.answers import Action, Completion, Diagnostic, Hint, Hover, Symbol
    from krm_fn.lsp.index import Index, Place
    from krm_fn.lsp.sizes import Key

# What concerns the whole workspace: its config.
ALL = (NAME,)
# Machines in one target for which sizes are worked out while somebody looks.
MOST_MACHINES = 2_000


class Session:
    """The open workspace. Only one thread may use it. With `afresh`, each judgement begins with nothing."""

    def __init__(self, *, afresh: bool = False) -> None:
        self.workspace = Workspace(afresh=afresh)
        self._index: Index | None = None
        self._objects: dict[str, tuple[Sequence[Any], Config]] = {}
        self._explained: dict[tuple[str, Key], Explained] = {}
        self._records: dict[str, dict[Key, Object]] = {}
        self._published: frozenset[str] = frozenset()

    def take(self, texts: Mapping[str, str]) -> None:
        """Take the unsaved texts of all open files."""
        if texts != self.workspace.texts:
            self.workspace.texts = dict(texts)
            self._forget()

    def begin(self) -> dict[str, list[Diagnostic]]:
        """Judge the whole workspace; see `diagnostics`."""
        return self.change(ALL)

    def builds_due(self, files: Sequence[str]) -> list[Callable[[], None]]:
        """Take note of files that have changed; see `builds_due` of a workspace."""
        self._forget()
        self.workspace.change(files)
        return self.workspace.builds_due()

    def change(self, files: Sequence[str] = ()) -> dict[str, list[Diagnostic]]:
        """Judge again what has changed, these files too; see `diagnostics`."""
        self._forget()
        self.workspace.change(files)
        self.workspace.judge()
        return self.diagnostics()

    def diagnostics(self) -> dict[str, list[Diagnostic]]:
        """The diagnostics of all files that are open, have some, or had some the last time."""
        found = self.workspace.findings()
        files = self._published | found.keys() | self.workspace.texts.keys()
        self._published = frozenset(found)
        return {file: self._diagnostics(file, found.get(file, ())) for file in sorted(files)}

    def _diagnostics(self, file: str, found: Sequence[Finding]) -> list[Diagnostic]:
        return list(diagnostics(found, self.workspace.text(file).split("\n"))) if found else []

    def hover(self, file: str, line: int, character: int) -> Hover | None:
        """What is shown about a place."""
        outline = self.workspace.outline(file)
        here = outline.here(line, character)
        if here is None:
            return None
        known = Known(
            self.workspace.release(file),
            self.index,
            records=lambda: self._sizes(file),
            spec_of=lambda name: self._spec(file, name),
            change_of=lambda key: self._change(file, key),
            explained=lambda key: self._of_values(file, key),
            given_of=lambda record: self._given(file, record),
        )
        return hover(outline, here, self.index.at(file, line, character), known, line)

    def completions(self, file: str, line: int, character: int) -> list[Completion]:
        """The words that fit at a place."""
        outline = self.workspace.outline(file)
        here = outline.here(line, character)
        return completions(outline, here, line, self.index, self.workspace.release(file)) if here else []

    def definitions(self, file: str, line: int, character: int) -> list[Place]:
        """Where the object is that a place names."""
        found = self.index.at(file, line, character)
        return [each.place for each in self.index.definitions(found.name)] if found else []

    def references(self, file: str, line: int, character: int, *, declaration: bool) -> list[Place]:
        """Where the object is named that a place names or defines."""
        found = self.index.at(file, line, character)
        if found is None:
            return []
        defined = self.index.definitions(found.name) if declaration else []
        return [each.place for each in (*defined, *self.index.references(found.name))]

    def symbols(self, file: str) -> list[Symbol]:
        """The objects of a file."""
        return list(symbols(self.workspace.outline(file)))

    def hints(self, file: str, first: int, last: int) -> list[Hint]:
        """The sizes to show between two lines."""
        found = hints(self.workspace.outline(file), self._sizes(file), first, last, lambda record: self._given(file, record))
        return list(found)

    def actions(self, file: str, first: int, last: int) -> list[Action]:
        """The quick fixes for findings between two lines."""
        found = [each for each in self.workspace.findings().get(file, ()) if first <= each.line - 1 <= last]
        if not found:
            return []
        return list(actions(found, self.workspace.fixes(file), self.workspace.text(file)))

    @property
    def index(self) -> Index:
        """The names in all files."""
        if self._index is None:
            self._index = self.workspace.index()
        return self._index

    def _forget(self) -> None:
        self._index = None
        self._objects, self._records, self._explained = {}, {}, {}

    def _of(self, file: str) -> tuple[Sequence[Any], Config]:
        """The objects of the target that a file belongs to, and its config."""
        if file not in self._objects:
            found = self.workspace.objects(file)
            self._objects[file] = (found[0].items, found[1]) if found else ((), Config())
        return self._objects[file]

    def _sizes(self, file: str) -> dict[Key, Object]:
        if file not in self._records:
            items, config = self._of(file)
            self._records[file] = sizes.records(items, config) if len(items) <= MOST_MACHINES else {}
        return self._records[file]

    def _of_values(self, file: str, key: Key) -> Explained:
        """What `explain` says of the values of a machine in a file."""
        if (file, key) not in self._explained:
            items, config = self._of(file)
            found = self.workspace.objects(file) if len(items) <= MOST_MACHINES else None
            target = self.workspace.target(file)
            self._explained[file, key] = explained(found[0], config, key, file, target) if found else Explained()
        return self._explained[file, key]

    def _given(self, file: str, record: Object) -> str:
        """The size that the instancetype of a machine's record gives; "" where it has none or it is not known."""
        name, release = record.get("instancetype", ""), self.workspace.release(file)
        for kind in INSTANCETYPE.kinds if name else ():
            namespace = "" if kind in CLUSTER_KINDS else record["namespace"]
            spec = self._spec(file, Name(kind=kind, namespace=namespace, name=name)) or catalogue.of(release).find(kind, name)
            if size := sizes.of_spec(spec) if spec else "":
                return size
        return ""

    def _spec(self, file: str, name: Name) -> Object | None:
        """The spec of a named object of the same target."""
        for item in self._of(file)[0]:
            if not isinstance(item, dict) or (kind_of(item), name_of(item)) != (name.kind, name.name):
                continue
            if name.namespace in ("", effective_namespace(item)):
                spec = get(item, ("spec",))
                return spec if isinstance(spec, dict) else None
        return None

    def _change(self, file: str, key: Key) -> str:
        """How a machine differs from the last commit, in words; "" where it does not."""
        items, config = self._of(file)
        old = before(self.workspace, file)
        if old is None:
            return ""
        try:
            return change(old, items, config, key)
        except RenderError:
            return ""


def path_of(file: str) -> str:
    """A file by its name in the workspace: relative to the working directory, with forward slashes."""
    return os.path.relpath(os.path.realpath(file), os.path.realpath(os.curdir)).replace(os.sep, "/")
