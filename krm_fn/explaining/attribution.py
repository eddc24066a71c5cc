"""Which field gives each value of a rendered VM, and which fields had no say, from what each step of rendering wrote."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.paths import CONTAINERS, Path, get
from krm_fn.base.value import Value
from krm_fn.explaining.inputs import (
    BY_DEFAULT,
    CONFIGURATION,
    DEFAULT,
    INSTANCETYPE,
    OWN,
    PATCH,
    PREFERENCE,
    PRESET,
    Giver,
    ValueSource,
)
from krm_fn.explaining.rendering import ABSENT, Rendering, differences, flat
from krm_fn.kubevirt.fields.topology import laid_out
from krm_fn.kubevirt.trace import Noted

SAME_BY_DEFAULT, SAME_BY_ANOTHER, SAME_BY_LAYOUT = "default", "another", "layout"
TOPOLOGY = ("sockets", "cores", "threads")
ORDER = (INSTANCETYPE, PREFERENCE, PRESET, CONFIGURATION, PATCH)  # in which they are applied


class Attributed(Value):
    """Who gives a value, who else decides it, and who had no say, each of these with the value that it wanted."""

    source: ValueSource
    beside: tuple[ValueSource, ...] = ()
    lost: tuple[tuple[ValueSource, Any], ...] = ()


class Candidate(Value):
    """A value that a source has for a leaf, with the note that says so. `source` is DEFAULT for a field that nobody wrote."""

    note: Noted
    source: ValueSource
    value: Any


def attributed(rendering: Rendering) -> dict[Path, tuple[Any, Attributed]]:
    """The leaves of a rendered object, and for each of them who gives it."""
    return _Attribution(rendering).found()


class _Attribution:
    def __init__(self, rendering: Rendering) -> None:
        self._rendering = rendering
        self._parts: dict[Any, Giver] = {}  # by who gives values
        self._written = flat(rendering.entry.obj)
        self._layers: dict[Path, list[Candidate]] = {}
        self._around: dict[Path, ValueSource] = {}  # by the place of a map or list that a source wrote
        written: dict[ValueSource, dict[Path, None]] = {}
        for note, source in self._sourced():
            for rest, value in flat(note.value).items():
                below, count = _below(source, rest)
                layer = Candidate(note=note, source=below, value=value)
                self._layers.setdefault((*note.at, *rest), []).append(layer)
                if not note.kept and source.part is not DEFAULT:
                    written.setdefault(below, {})[(*note.at, *rest[:count])] = None
            if not note.kept and source.part is not DEFAULT:
                self._around.setdefault(note.at, source)
        for note in rendering.notes:  # without what a field reads, it writes nothing
            for source in () if note.kept else self._read(note):
                written.setdefault(source, {})[note.at] = None
        self._effects = list(rendering.effects(written))
        self._patched = {
            (*each.place, *path): ValueSource(part=rendering.parts.patches, path=(each.patch, "patch", each.operation))
            for each in rendering.patched
            for path in differences(each.after, each.before)
        }

    def found(self) -> dict[Path, tuple[Any, Attributed]]:
        return {path: (value, self._given(path, value)) for path, value in flat(self._rendering.whole).items()}

    def _sourced(self) -> Iterator[tuple[Noted, ValueSource]]:
        """The notes with the fields that they are of, the first one of each field for each place."""
        seen = set()
        for note in self._rendering.notes:
            source = self._source(note.giver, note.field)
            if (note.at, source) not in seen:
                seen.add((note.at, source))
                yield note, source

    def _source(self, giver: Any, field: Path) -> ValueSource:
        """The field of a note; DEFAULT for one that is not in the user's object."""
        key = giver if isinstance(giver, str) else id(giver)  # the bundle keeps its entries
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = self._rendering.parts.of(giver, self._rendering.resolution)
        return self._rendering.parts.source(part, field)

    def _given(self, path: Path, value: Any) -> Attributed:
        own = self._written.get(path, ABSENT)
        if same(own, value):
            return Attributed(source=ValueSource(part=OWN, path=path), lost=self._lost(path, value))
        source, *beside = self._sources(path, value) or [BY_DEFAULT]
        lost = () if own is ABSENT else ((ValueSource(part=OWN, path=path), own),)
        return Attributed(source=source, beside=tuple(beside), lost=lost)

    def _lost(self, path: Path, value: Any) -> tuple[tuple[ValueSource, Any], ...]:
        """The field that would give another value if the object had none."""
        first = next(iter(self._layers.get(path, ())), None)
        if first is None or first.source.part is DEFAULT or same(first.value, value) or isinstance(value, CONTAINERS):
            return ()
        return ((first.source, first.value),)

    def _sources(self, path: Path, value: Any) -> list[ValueSource]:
        """Who gives a value that is not the object's own: first those that have it, in the order in which they are applied."""
        if path in self._patched:
            return [self._patched[path]]
        layer, found = self._writing(path, value), {}
        if layer is not None and layer.source.part is not DEFAULT:
            found[layer.source.but(same=self._same(layer, path))] = 1
            found |= dict.fromkeys(self._beside(layer), 1)
        for effect in self._effects:
            source = effect.source
            known = any(each.part is source.part and each.path == source.path for each in found)
            if path in effect.changes and not known and not (effect.needed and found):
                found[source] = 1 if effect.changes[path] is ABSENT else 2
        found = {each: kind for each, kind in found.items() if not any(_is_around(each, other) for other in found)}
        if not found and not self._rendering.is_completed(path) and (around := self._enclosing(path)):
            found[around] = 1

        def rank(source: ValueSource) -> tuple[Any, ...]:
            equal = same(get(source.part.tree, source.path), value)
            return 0 if equal else found[source], ORDER.index(source.part.kind), _place(source.part.tree, source.path)

        return sorted(found, key=rank) if len(found) > 1 else list(found)

    def _writing(self, path: Path, value: Any) -> Candidate | None:
        """What wrote the value of a leaf: the first of those that wrote it last. None if it is of something else."""
        found = None
        for each in self._layers.get(path, ()):
            if not each.note.kept:
                found = None if not same(each.value, value) else found or each
        return found

    def _beside(self, layer: Candidate) -> Iterator[ValueSource]:
        """The other fields that decide what a field writes."""
        note = layer.note
        beside = [self._source(*each) for each in note.beside]
        beside += self._read(note)
        around = self._enclosing(note.at)
        if around:
            beside.append(around)
        yield from (each for each in beside if each.part is not DEFAULT and each != layer.source)

    def _read(self, note: Noted) -> list[ValueSource]:
        """The fields that wrote the value that the field of a note reads."""
        layers = self._layers.get(note.read, ()) if note.read else ()
        return [each.source for each in layers if not each.note.kept and each.source.part is not DEFAULT]

    def _enclosing(self, path: Path) -> ValueSource | None:
        """Who wrote the map or list around a place, if that is not the object's own."""
        found = (self._around.get(path[:end]) for end in range(len(path) - 1, 0, -1))
        return next(filter(None, found), None)

    def _same(self, layer: Candidate, path: Path) -> str:
        """What gives the value of a leaf without the field that gives it."""
        found = layer.source.part.found
        if found and found.revision and layer.source.path[-1:] == ("guest",):  # a stored instancetype has sizes, if only zero
            return SAME_BY_LAYOUT if path[-1] in TOPOLOGY and self._least()[path[-1]] == layer.value else ""
        layers = self._layers[path]
        later = (each for each in layers[layers.index(layer) + 1 :] if not _is_around(layer.source, each.source))
        other = next(later, None)
        if other is not None and not same(other.value, layer.value):
            return ""
        completed = any(effect.source == layer.source and path not in effect.changes for effect in self._effects)
        if completed or (other and other.source.part is DEFAULT):
            return SAME_BY_DEFAULT
        return SAME_BY_ANOTHER if other else ""

    def _least(self) -> dict[str, int]:
        """The topology of no vCPUs."""
        resolution = self._rendering.resolution
        preference = resolution.preference.spec if resolution and resolution.preference else None
        return laid_out(0, preference, self._rendering.analysis.release)


def _below(source: ValueSource, rest: Path) -> tuple[ValueSource, int]:
    """The field below a source that has a leaf of its value, of a list the list; and how many steps below it is."""
    around, count = get(source.part.tree, source.path), 0
    while count < len(rest) and isinstance(around, dict) and rest[count] in around:
        around = around[rest[count]]
        count += 1
    return (source.but(path=(*source.path, *rest[:count])) if count else source), count


def _is_around(one: ValueSource, other: ValueSource) -> bool:
    """True for a field and another one in it."""
    return one.part is other.part and len(one.path) < len(other.path) and other.path[: len(one.path)] == one.path


def _place(tree: Any, path: Path) -> list[int]:
    """The place of a field in its tree, by the order in which it is written."""
    found = []
    for step in path:
        found.append(list(tree).index(step) if isinstance(tree, dict) else 0)
        tree = get(tree, (step,))
    return found


def same(one: Any, other: Any) -> bool:
    """True for equal values of one type: 1 is not true."""
    return type(one) is type(other) and one == other
