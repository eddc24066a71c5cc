"""What a server knows between two requests: the workspace, and the answers about the text as it is now.

Each method answers one request about a place in a file. None of them fails for text that is broken.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krm_fn.base.bundle import CLUSTER_KINDS, effective_namespace
from krm_fn.base.errors import RenderError
from krm_fn.base.markdown import code
from krm_fn.base.objects import Object, kind_of, name_of
from krm_fn.base.paths import get
from krm_fn.changes.diffing import compare
from krm_fn.changes.pairs import Assumptions
from krm_fn.changes.sides import side
from krm_fn.changes.summary import called
from krm_fn.config.repository import NAME
from krm_fn.findings.finding import Finding
from krm_fn.kubevirt import catalogue
from krm_fn.kubevirt.holders import HOLDERS
from krm_fn.kubevirt.releases import not_measured
from krm_fn.kubevirt.resolve.matcher import INSTANCETYPE
from krm_fn.kubevirt.settings import Config
from krm_fn.lsp import sizes
from krm_fn.lsp.answers import Action, Completion, Diagnostic, Hint, Hover, Symbol
from krm_fn.lsp.diagnostics import actions, diagnostics, edits_of, symbols
from krm_fn.lsp.givers import ExplainedMachine, explained
from krm_fn.lsp.hovers import HoverFacts, completions, hover
from krm_fn.lsp.index import Name, NameIndex, NamePlace
from krm_fn.lsp.sizes import Key, Machines, hints, key_of
from krm_fn.lsp.workspace import EditorWorkspace
from krm_fn.pipeline.linting import CONVERTIBLE
from krm_fn.repositories import commits
from krm_fn.repositories.conversions import quick_fix
from krm_fn.repositories.homes import Material

if TYPE_CHECKING:
    from krm_fn.lsp.sizes import Key
    from krm_fn.lsp.workspace import EditorWorkspace


# What concerns the whole workspace: its config.
ALL = (NAME,)
# Machines in one target for which sizes are worked out while somebody looks.
MOST_MACHINES = 2_000
MACHINES = frozenset(kind for _, kind in HOLDERS)


class Session:
    """The open workspace. Only one thread may use it. With `afresh`, each judgement begins with nothing."""

    def __init__(self, *, afresh: bool = False) -> None:
        self.workspace = EditorWorkspace(afresh=afresh)
        self._index: NameIndex | None = None
        self._materials: dict[str, Material | None] = {}
        self._machines: dict[str, Machines] = {}
        self._explained: dict[tuple[str, Key], ExplainedMachine] = {}
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

    def unmeasured(self) -> list[str]:
        """What is to be said of the releases that targets are judged for, and that are not measured."""
        return [not_measured(release) for release in self.workspace.releases() if not release.is_measured]

    def diagnostics(self) -> dict[str, list[Diagnostic]]:
        """The diagnostics of all files that are open, have some, or had some the last time."""
        found = self.workspace.findings()
        files = self._published | found.keys() | self.workspace.texts.keys()
        self._published = frozenset(found)
        return {file: self._diagnostics(file, found.get(file, ())) for file in sorted(files)}

    def _diagnostics(self, file: str, found: Sequence[Finding]) -> list[Diagnostic]:
        return list(diagnostics(found, self.workspace.text(file).split("\n"))) if found else []

    def builds_before(self, file: str, line: int, character: int) -> list[Callable[[], None]]:
        """What builds the last commit's version of a target, where `hover` compares the machine at a place with it."""
        found = self.index.at(file, line, character)
        is_machine = found and found.defines and found.name.kind in MACHINES
        return self.workspace.builds_with(file, committed) if is_machine else []

    def hover(self, file: str, line: int, character: int) -> Hover | None:
        """What is shown about a place."""
        outline = self.workspace.outline(file)
        here = outline.here(line, character)
        if here is None:
            return None
        known = HoverFacts(
            self.workspace.release(file),
            self.index,
            record_of=lambda key: self._record(file, key),
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

    def definitions(self, file: str, line: int, character: int) -> list[NamePlace]:
        """Where the object is that a place names."""
        found = self.index.at(file, line, character)
        return [each.place for each in self.index.definitions(found.name)] if found else []

    def references(self, file: str, line: int, character: int, *, declaration: bool) -> list[NamePlace]:
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
        outline = self.workspace.outline(file)
        record_of, given = partial(self._record, file), partial(self._given, file)
        return list(hints(outline, record_of, first, last, given))

    def actions(self, file: str, first: int, last: int) -> list[Action]:
        """The quick fixes for findings between two lines."""
        found = [each for each in self.workspace.findings().get(file, ()) if first <= each.line - 1 <= last]
        if not found:
            return []
        text = self.workspace.text(file)
        return [*actions(found, self.workspace.fixes(file), text), *self._conversions(file, found, text)]

    def _conversions(self, file: str, found: Sequence[Finding], text: str) -> Iterator[Action]:
        """The quick fixes that let VMs refer to instancetypes, where nothing but this file changes for that."""
        material = self._of(file) if any(each.rule == CONVERTIBLE for each in found) else None
        for each in found if material else ():
            fix = quick_fix(material, each.ref) if material and each.rule == CONVERTIBLE and each.ref else None
            edits = tuple(edits_of(text, fix)) if fix and fix.file == file else ()
            if edits:
                yield Action(title=f"Convert to an instancetype ({each.rule})", edits=edits, fingerprint=each.fingerprint)

    @property
    def index(self) -> NameIndex:
        """The names in all files."""
        if self._index is None:
            self._index = self.workspace.index()
        return self._index

    def _forget(self) -> None:
        self._index = None
        self._materials, self._machines, self._records, self._explained = {}, {}, {}, {}

    def _of(self, file: str) -> Material | None:
        """The unit that a file belongs to, with what is around it; None if it can't be read."""
        if file not in self._materials:
            self._materials[file] = self.workspace.material(file)
        return self._materials[file]

    def _machine(self, file: str, key: Key) -> Object | None:
        """The machine that a file has under a key, as it is built; None in a target with too many of them."""
        of = self._of(file)
        if of is None or len(of.found.items) > MOST_MACHINES:
            return None
        if file not in self._machines:
            self._machines[file] = Machines(of.found, file)
        return self._machines[file].called(key)

    def _record(self, file: str, key: Key) -> Object | None:
        """What `capacity` says of the machine that a file has under a key."""
        machine, of = self._machine(file, key), self._of(file)
        if of is None or machine is None:
            return None
        if file not in self._records:
            self._records[file] = sizes.records(of)
        return self._records[file].get(key_of(machine))

    def _of_values(self, file: str, key: Key) -> ExplainedMachine:
        """What `explain` says of the values of a machine in a file."""
        if (file, key) not in self._explained:
            machine, of = self._machine(file, key), self._of(file)
            self._explained[file, key] = explained(of, machine) if of and machine is not None else ExplainedMachine()
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
        """The spec of a named object of the same target, or of what it takes of others."""
        of = self._of(file)
        for item in (*of.found.items, *of.surroundings.context) if of else ():
            if not isinstance(item, dict) or (kind_of(item), name_of(item)) != (name.kind, name.name):
                continue
            if name.namespace in ("", effective_namespace(item)):
                spec = get(item, ("spec",))
                return spec if isinstance(spec, dict) else None
        return None

    def _change(self, file: str, key: Key) -> str:
        """How a machine differs from the last commit, in words; "" where it does not."""
        machine, of = self._machine(file, key), self._of(file)
        old = before(self.workspace, file) if of and machine is not None else None
        if of is None or machine is None or old is None:
            return ""
        try:
            return change(old, of.found.items, of.settings.config, key_of(machine))
        except RenderError:
            return ""


def path_of(file: str) -> str:
    """A file by its name in the workspace: relative to the working directory, with forward slashes."""
    return os.path.relpath(os.path.realpath(file), os.path.realpath(os.curdir)).replace(os.sep, "/")


MOST_CHANGES = 8


def before(workspace: EditorWorkspace, file: str) -> Sequence[Any] | None:
    """The objects of the target of a file as the last commit has them; None where there is none, or no program may start."""
    texts = committed(workspace.inputs(file)) if workspace.may_build else None
    return None if texts is None else workspace.objects_with(file, texts)


def committed(names: Iterable[str]) -> dict[str, bytes] | None:
    """The texts of files in the last commit, by their resolved names; empty for new ones. None where there is no commit."""
    try:
        repository = commits.repository_of(".")
        commit = repository.commit("HEAD")
        files = {str(Path(repository.root, entry.path)): entry for entry in repository.entries(commit)}
        wanted = {str(Path(each).resolve()) for each in names}
        texts = {
            str(Path(repository.root, entry.path)): data
            for entry, data in repository.contents(entry for path, entry in files.items() if path in wanted)
        }
    except RenderError:
        return None
    return {path: texts.get(path, b"") for path in wanted}


def change(old: Sequence[Any], new: Sequence[Any], config: Config, key: Key) -> str:
    """What became of one machine, in Markdown; "" where nothing did."""
    answer = compare(side([*old], config), side([*new], config), Assumptions())
    found = next((each for each in answer["vms"] if (each["kind"], each["namespace"], each["name"]) == key), None)
    if found is None:
        return ""
    lines = [f"Against the last commit: **{called(found) or found['change']}**"]
    lines += [f"- {_change(each)}" for each in found.get("changes", ())[:MOST_CHANGES]]
    return "\n".join(lines)


def _change(each: Object) -> str:
    values = [code(str(each[side])) for side in ("old", "new") if each.get(side) is not None]
    return f"{each['part']}: {' → '.join(values)}" if values else str(each["part"])
