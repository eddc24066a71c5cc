"""Which kustomizations include one another: read from their folders when they are asked for, with no more kept than that."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from krm_fn import yamlio
from krm_fn.base.errors import InputError
from krm_fn.repositories.guard import link_out
from krm_fn.repositories.kustomization import (
    DATA,
    FILES,
    PLUGINS,
    RESOURCES,
    ReadKustomization,
    composes,
    joined,
    linked,
    plugin_files,
    read,
    referring,
)
from krm_fn.repositories.plugins import PLAIN, flag, is_chart, listed
from krm_fn.repositories.types import FileReference, Kustomization, Problem
from krm_fn.sources.files import is_file, is_within, read_found


class GraphNode(NamedTuple):
    """A kustomization in the graph: the folders of those that it includes, and the files that it is made of.

    `folders` are used with all that is in them. `problem` says why nothing that includes it can be built. `composes`: it may
    make objects of a kind that no file shows. `data` are the files of it whose objects no build prints, such as for ConfigMaps,
    and `resources` those that hold objects and have no other role in it.
    """

    folder: str
    file: str
    is_component: bool
    includes: tuple[str, ...]
    files: tuple[str, ...]
    folders: tuple[str, ...]
    problem: Problem | None
    composes: bool
    data: frozenset[str]
    resources: frozenset[str]

    @property
    def is_clear(self) -> bool:
        """False for a kustomization of which nobody knows what it lists."""
        return not (self.problem and self.problem.reason in ("unreadable", "key"))


class _Named:
    """The files that plugins name, and the first problem with them."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.problem: Problem | None = None

    def take(self, files: Iterable[str], problem: Problem | None) -> None:
        self.files += files
        self.problem = self.problem or problem


class Graph:
    """The kustomizations by their folders.

    `known` are the files that were found, and `roots` the folders that no reference may leave; without any, each may.
    """

    def __init__(self, known: frozenset[str], roots: Iterable[str]) -> None:
        self._known, self._roots = known, tuple(map(os.path.realpath, roots))
        self._nodes: dict[str, GraphNode | None] = {}
        self._files: dict[str, str | None] = {}
        self._folders: dict[str, str | None] = {}
        self._real: dict[str, str] = {}
        self._out: dict[str, bool] = {}

    def node(self, folder: str) -> GraphNode | None:
        """The kustomization in a folder, None where there is none."""
        if folder not in self._nodes:
            file = self._file(folder)
            found = read(folder, file) if file else None
            self._nodes[folder] = self._node(found) if found else None
        return self._nodes[folder]

    def closure(self, folder: str) -> tuple[list[GraphNode], tuple[str, ...]]:
        """A kustomization and all that it includes, in order; and the folders of a cycle among them, if there is one."""
        order: dict[str, GraphNode] = {}
        way: dict[str, None] = {}
        waiting = [iter((folder,))]
        cycle: tuple[str, ...] = ()
        while waiting:
            below = next(waiting[-1], None)
            if below is None:
                waiting.pop()
                if way:
                    way.popitem()
            elif below in way:
                cycle = cycle or tuple(way)[list(way).index(below) :]
            elif below not in order and (node := self.node(below)):
                order[below] = node
                way[below] = None
                waiting.append(iter(node.includes))
        return list(order.values()), cycle

    def _file(self, folder: str) -> str | None:
        if folder not in self._files:
            files = [joined(folder, name) for name in FILES]
            known = (file for file in files if file in self._known)
            others = (file for file in files if is_file(file) and not self._leads_out(file))
            self._files[folder] = next(known, None) or next(others, None)
        return self._files[folder]

    def _node(self, found: ReadKustomization) -> GraphNode:
        one = found.kustomization
        includes: list[str] = []
        files, folders = [one.file], [each.path for each in one.charts if not self._leads_out(each.path)]
        for each in one.includes:
            if self._leads_out(each.path):
                continue
            folder = self._folder(each.path)
            if folder is None:
                files.append(each.path)
            elif self._file(folder):
                includes.append(folder)
            elif each.role in PLUGINS:
                folders.append(folder)
        made = self._plugins(found)
        files += [path for path in (*(each.path for each in one.files), *made.files) if not self._leads_out(path)]
        named = (*files, *(real for file in files if (real := self._linked_file(file)) != file))
        remote = next((referring(one, found.text, "remote", each) for each in one.remote), None)
        problem = found.problem or self._outside(found) or made.problem or remote
        data = frozenset(each.path for each in one.files if each.role in DATA) - {each.path for each in one.includes}
        known = one.folder, one.file, one.is_component, tuple(includes), named, tuple(folders)
        return GraphNode(*known, problem, composes(one.obj), data, self._resources(one))

    def _resources(self, one: Kustomization) -> frozenset[str]:
        listed = {each.path for each in one.includes if each.role in RESOURCES and self._folder(each.path) is None}
        others = {each.path for each in (*one.includes, *one.files) if each.role not in RESOURCES}
        return frozenset(path for file in listed - others for path in (file, self._linked_file(file)))

    def _folder(self, path: str) -> str | None:
        """The folder that a path leads to, None where it leads to a file or nowhere."""
        if path in self._known:
            return None
        if path not in self._folders:
            self._folders[path] = self._identified(path) if os.path.isdir(path) else None  # noqa: PTH112
        return self._folders[path]

    def _identified(self, folder: str) -> str:
        """A folder by the path by which its files were found, where links lead to it."""
        real = linked(folder)
        return real if self._file(folder) not in self._known and self._file(real) in self._known else folder

    def _linked(self, path: str) -> str:
        """Where a path leads when links are followed. Each folder on the way is looked at once."""
        if path not in self._real:
            above, _, name = path.rpartition("/")
            is_link = path.startswith(("..", "/")) or os.path.islink(path)  # noqa: PTH114
            self._real[path] = linked(path) if is_link else joined(self._linked(above), name) if above else path
        return self._real[path]

    def _linked_file(self, file: str) -> str:
        above, _, name = file.rpartition("/")
        is_link = not above or above.startswith("..") or os.path.islink(file)  # noqa: PTH114
        return linked(file) if is_link else joined(self._linked(above), name)

    def _plugins(self, found: ReadKustomization) -> _Named:
        """What the files of generators, transformers and validators name: their paths run from the kustomization, too."""
        made, folder = _Named(), found.kustomization.folder
        for each in found.kustomization.includes:
            if each.role in PLUGINS and not self._leads_out(each.path):
                for file in self._plugin_files(found, each, made):
                    self._take_plugins(file, folder, made)
        return made

    def _plugin_files(self, found: ReadKustomization, each: FileReference, made: _Named) -> Iterator[str]:
        """The files that hold the plugins of a reference. What kustomize makes of others is not known, so it is a problem."""
        waiting, seen = [each.path], set[str]()
        while waiting:
            folder = self._folder(path := waiting.pop())
            file = self._file(folder) if folder else None
            if not folder:
                yield path
            elif file and folder not in seen and (below := read(folder, file)):
                seen.add(folder)
                one = below.kustomization
                if not one.obj.keys() <= PLAIN:
                    made.take([], referring(found.kustomization, found.text, "made", each))
                waiting += [inner.path for inner in one.includes if not self._leads_out(inner.path)]

    def _take_plugins(self, file: str, folder: str, made: _Named) -> None:
        try:
            items = yamlio.read_stream(read_found(file)[0], file=file).items
        except OSError:
            items = []  # kustomize says that it is not there
        except InputError as error:
            found = Problem(file=file, reason="refused", detail=error.message, line=error.line, column=error.column)
            made.take([], found)
            items = []
        for plugin in (each for item in items for each in listed(item) if isinstance(each, dict)):
            files, remote = plugin_files(plugin, folder, linked(folder))
            outside = next(filter(self._leads_out, files), "")
            asked = {"flag": flag((plugin,)) if is_chart(plugin) else "", "outside": outside, "remote": next(iter(remote), "")}
            problem = next(
                (Problem(file=file, reason=reason, detail=detail) for reason, detail in asked.items() if detail), None
            )
            made.take(files, problem)

    def _outside(self, found: ReadKustomization) -> Problem | None:
        """What there is to say of a reference that leads out of all roots, if there is one."""
        one = found.kustomization
        for each in (*one.includes, *one.files, *one.charts):
            if self._leads_out(each.path):
                return referring(one, found.text, "outside", each)
        for each in one.charts if self._roots else ():
            if link := link_out(each.path, self._roots):
                return referring(one, found.text, "outside", each._replace(path=joined(".", link)))
        return None

    def below(self, folders: Iterable[str]) -> Iterator[str]:
        """All files below folders, without links that lead out of all roots."""
        return (file for file in all_below(folders) if not (os.path.islink(file) and self._leads_out(file)))  # noqa: PTH114

    def _leads_out(self, path: str) -> bool:
        if not self._roots or path in self._known:
            return False
        if path not in self._out:
            self._out[path] = not is_within(path, self._roots)
        return self._out[path]


def all_below(folders: Iterable[str]) -> Iterator[str]:
    """All files below folders, also hidden ones, by their paths from the working directory."""
    for folder in folders:
        for above, _, names in os.walk(folder):
            yield from (joined(above, name) for name in names)
