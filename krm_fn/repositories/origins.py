"""For a value of a built object: the file, the document and the path where it is written. Pure: texts are given.

The way leads from the target down to the file that the object comes from. On it, the outermost kustomization that wrote the
value is its origin; where none did, the object's own file is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from krm_fn import yamlio
from krm_fn.base import bundle
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object, group_of, kind_of, name_of, text
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.findings.finding import UNSET
from krm_fn.repositories.kustomization import FILES, is_kustomization, joined, kustomization
from krm_fn.repositories.types import Kustomization, Target
from krm_fn.repositories.writers import SoughtValue, WritingPlace, WrittenPatch, changes_of, parts_of, patches_of, writer

if TYPE_CHECKING:
    from krm_fn.repositories.writers import Texts
    from krm_fn.yamlio import StreamText


__all__ = ["Origins", "WritingPlace", "located"]

GENERATORS = {"ConfigMap": "configMapGenerator", "Secret": "secretGenerator"}
MOST_WAYS = 100  # on which a file may come into a target


class Layer(NamedTuple):
    """A kustomization on the way to an object, and the number of its document in its file."""

    kustomization: Kustomization
    item: int


class Origins:
    """The origins of the values of one target. `texts` gives the text of each of its files, None where it can't be read."""

    def __init__(self, target: Target, texts: Texts) -> None:
        self._target, self._texts = target, texts
        self._layers: dict[str, Layer | None] = {}
        self._objects: dict[str, _Objects] = {}
        self._found: dict[str, list[WrittenPatch]] = {}
        self._ways_found: dict[tuple[str, str], list[Layer]] = {}

    def of(self, obj: Object, path: Path, file: str) -> WritingPlace:
        """Where the value at a path of a built object is written; `path` may lead on from there to what is missing.

        `file` is the file with the object, or the kustomization that generated it; "" where it is not known.
        """
        if not file or file.rpartition("/")[2] in FILES:
            return self._generated(obj, file or self._target.file)
        way = self._way(file, obj)
        entry = self._entry(file, obj, way)
        there = _set_part(obj, path)
        if there == path or (entry and get(entry.obj, there, UNSET) is UNSET):  # what lacks a key may come from a patch
            names = self._names(obj, entry, way)
            for layer in way:
                if found := writer(*layer, self.patches(layer), SoughtValue(obj, names, there, get(obj, there))):
                    return found
        return WritingPlace(file, entry.item, (*entry.path, *path)) if entry else WritingPlace(file)

    def of_lost(self, obj: Object, path: Path, name: str, file: str) -> WritingPlace | None:
        """The patch by which a list of a built object lost the entry of a name; None where none did."""
        way = self._way(file, obj)
        entry = self._entry(file, obj, way)
        wanted = SoughtValue(obj, self._names(obj, entry, way), path, None)
        changes = [each for layer in way for each in changes_of(self.patches(layer), wanted)]
        takes = next((number for number, (_, _, taking) in enumerate(changes) if taking), len(changes))
        before = [entries for _, entries, _ in changes[takes + 1 :]] + [get(entry.obj, path) if entry else ()]
        had = any(as_map(each).get("name") == name for entries in before for each in as_list(entries))
        return changes[takes][0] if had and takes < len(changes) else None

    def parts(self, obj: Object, file: str) -> tuple[WritingPlace | None, list[tuple[WritingPlace, Any]]]:
        """Where a built object is written, None where that is not known, and the patches of it, outermost first."""
        way = self._way(file, obj)
        entry = self._entry(file, obj, way)
        wanted = SoughtValue(obj, self._names(obj, entry, way), (), None)
        found = [each for layer in way for each in parts_of(self.patches(layer), wanted)]
        return (WritingPlace(file, entry.item, entry.path) if entry else None), found

    def _generated(self, obj: Object, file: str) -> WritingPlace:
        layer = next((each for each in self._all if each.kustomization.file == file), None)
        key = GENERATORS.get(kind_of(obj), "")
        for number, each in enumerate(as_list(layer.kustomization.obj.get(key)) if layer else ()):
            if layer and (name := text(as_map(each).get("name"))) and name in name_of(obj):
                return WritingPlace(file, layer.item, (key, number))
        return WritingPlace(file)

    @cached_property
    def _all(self) -> list[Layer]:
        return [layer for folder in self._target.kustomizations if (layer := self._layer(folder))]

    def _layer(self, folder: str) -> Layer | None:
        if folder not in self._layers:
            files = [joined(folder, name) for name in FILES]
            file = next((file for file in files if file in self._target.inputs), "")
            found = self._texts(file) if file else None
            item = next((number for number, each in enumerate(found.items) if is_kustomization(each)), None) if found else None
            layer = Layer(kustomization(found.items[item], folder, file), item) if found and item is not None else None
            self._layers[folder] = layer
        return self._layers[folder]

    def _way(self, file: str, obj: Object) -> list[Layer]:
        """The kustomizations from the target to a file, outermost first, each with its components behind it."""
        if (file, name_of(obj)) not in self._ways_found:
            self._ways_found[file, name_of(obj)] = self._new_way(file, obj)
        return self._ways_found[file, name_of(obj)]

    def _new_way(self, file: str, obj: Object) -> list[Layer]:
        ways = list(islice(self._ways(self._target.folder, file, (), self._reaching(file)), MOST_WAYS))
        names = self._of(file).names
        fitting = (way for way in ways if _written(name_of(obj), way) in names)
        way = next(fitting, ways[0] if ways else [])
        seen: set[str] = set()
        return [inner for layer in way for inner in self._with_components(layer, seen)]

    def ways(self, file: str) -> Iterator[list[Layer]]:
        """The kustomizations on each way from the target to a file, outermost first, each with its components behind it."""
        for way in islice(self._ways(self._target.folder, file, (), self._reaching(file)), MOST_WAYS):
            seen: set[str] = set()
            yield [inner for layer in way for inner in self._with_components(layer, seen)]

    def names(self, obj: Object, way: list[Layer]) -> frozenset[str]:
        """The names that an object of a file gets on a way."""
        return frozenset(_named(name_of(obj), way[number:]) for number in range(len(way) + 1))

    def patches(self, layer: Layer) -> list[WrittenPatch]:
        """The patches of a kustomization."""
        folder = layer.kustomization.folder
        if folder not in self._found:
            self._found[folder] = list(patches_of(*layer, self._texts))
        return self._found[folder]

    def _reaching(self, file: str) -> set[str]:
        """The folders of the kustomizations that include a file, themselves or by others."""
        found, wanted = set[str](), {file}
        while wanted:
            wanted = {user for each in wanted for user in self._users.get(each, ())} - found
            found |= wanted
        return found

    @cached_property
    def _users(self) -> dict[str, set[str]]:
        """The folders of the kustomizations that include a file or a folder themselves."""
        users: dict[str, set[str]] = {}
        for each in self._all:
            for reference in each.kustomization.includes:
                users.setdefault(reference.path, set()).add(each.kustomization.folder)
        return users

    def _ways(self, folder: str, file: str, above: tuple[Layer, ...], reaching: set[str]) -> Iterator[list[Layer]]:
        layer = self._layer(folder) if folder in reaching else None
        if layer is None or layer in above:
            return
        way = (*above, layer)
        for each in layer.kustomization.includes:
            if each.path == file:
                yield [*way]
            else:
                yield from self._ways(each.path, file, way, reaching)

    def _with_components(self, layer: Layer, seen: set[str]) -> Iterator[Layer]:
        """A kustomization and its components, the last one first: it changes what the others made."""
        if layer.kustomization.folder in seen:
            return
        seen.add(layer.kustomization.folder)
        yield layer
        for each in reversed(layer.kustomization.includes):
            component = self._layer(each.path) if each.role == "components" else None
            if component:
                yield from self._with_components(component, seen)

    def _of(self, file: str) -> _Objects:
        if file not in self._objects:
            found = self._texts(file)
            self._objects[file] = _Objects(bundle.entries(found.items) if found else ())
        return self._objects[file]

    def _entry(self, file: str, obj: Object, way: list[Layer]) -> Entry | None:
        """The object that a built one was made of: by the name that it gets on the way, by its name, or the only one."""
        objects, kind, name = self._of(file), (group_of(obj), kind_of(obj)), name_of(obj)
        for named in (_written(name, way), name, None):
            chosen = objects.found.get((kind, named), ())
            if len(chosen) == 1:
                return chosen[0]
        return None

    def _names(self, obj: Object, entry: Entry | None, way: list[Layer]) -> frozenset[str]:
        """The names that an object has on its way."""
        return self.names(entry.obj, way) | {name_of(obj)} if entry else frozenset((name_of(obj),))


def _set_part(obj: Object, path: Path) -> Path:
    """As much of a path as leads to something in the object."""
    while path and get(obj, path, UNSET) is UNSET:
        path = path[:-1]
    return path


class _Objects:
    """The objects of a file: by group and kind, and by these and their names. `names` are those of all."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.names: set[str | None] = set()
        self.found: dict[tuple[tuple[str, str], str | None], list[Entry]] = {}
        for each in entries:
            self.names.add(name_of(each.obj))
            for name in (name_of(each.obj), None):
                self.found.setdefault(((group_of(each.obj), kind_of(each.obj)), name), []).append(each)


def _written(name: str, way: list[Layer]) -> str | None:
    """The name of an object in its file that has this one at the end of a way; None if none becomes this one."""
    for layer in way:
        before, after = (text(layer.kustomization.obj.get(key)) for key in ("namePrefix", "nameSuffix"))
        if not (name.startswith(before) and name.endswith(after) and len(name) >= len(before) + len(after)):
            return None
        name = name[len(before) : len(name) - len(after)]
    return name


def _named(name: str, way: list[Layer]) -> str:
    """The name that an object has at the end of a way."""
    for layer in reversed(way):
        obj = layer.kustomization.obj
        name = text(obj.get("namePrefix")) + name + text(obj.get("nameSuffix"))
    return name


def located(origin: WritingPlace, text_of: StreamText | None, *, follow: bool = False) -> tuple[int, int]:
    """Line and column of an origin in the text of its file, of the nearest value around it where it is not there.

    `follow`: the place of an alias is that of the value it brings.
    """
    if text_of is None or origin.item < 0:
        return 0, 0
    line, column = text_of.place(origin.item, origin.path, follow=follow)
    written = get(text_of.items[origin.item], origin.path)
    if origin.inside is None or not line or not isinstance(written, str):
        return line, column
    return _in_block(text_of, line, column, written, origin.inside)


def _in_block(text_of: StreamText, line: int, column: int, written: str, inside: tuple[int, Path]) -> tuple[int, int]:
    """The place in a block scalar that begins in a line; that of the scalar itself where it is written in another style."""
    lines = text_of.data.decode(errors="replace").splitlines()
    header = lines[line - 1][column - 1 :] if line <= len(lines) else ""
    if not header.startswith("|"):
        return line, column
    inner, beside = yamlio.read_stream(written.encode()).place(*inside)
    first = written.split("\n", 1)[0]
    here = lines[line] if line < len(lines) else ""
    indent = len(here) - len(first) if here.endswith(first) else 0
    return line + inner, indent + beside
