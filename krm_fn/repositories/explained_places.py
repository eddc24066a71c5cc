"""The files, lines and columns of the fields that give values. A value of a built target leads to where it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from krm_fn.base import bundle
from krm_fn.base.objects import Object, ref_of
from krm_fn.base.paths import Path, as_list, as_map, dotted, get, steps
from krm_fn.explaining.inputs import MATCHERS
from krm_fn.findings.finding import Finding
from krm_fn.kubevirt.templates import parameter_of
from krm_fn.repositories.explained import ExplainedObject, placed
from krm_fn.sources.reading import stream

if TYPE_CHECKING:
    from krm_fn.repositories.homes import Material
    from krm_fn.yamlio import StreamText


PLACE = ("file", "index", "line", "column")
CONFIG = "RenderVirtualMachines"
TOGETHER = 100  # objects whose places are searched together: an item that several refer to is read once for them
Place = tuple[int, Path, Path]  # item, the object inside of it, and a field of that


def every_field(_: Object) -> bool:
    return True


class Spot(NamedTuple):
    """A place in an item of what was read."""

    material: Material
    item: int
    inside: Path
    path: Path


def with_places(
    found: Iterable[ExplainedObject], materials: Sequence[Material], is_shown: Callable[[Object], bool] = every_field
) -> Iterator[Object]:
    """The records with file, line and column of each source. `materials` are the units that sources may be in.

    A source in another unit has the file alone. A field that is not shown keeps its sources without places.
    """
    placing, objects = _Placing(materials, is_shown), iter(found)
    while together := list(islice(objects, TOGETHER)):
        yield from placing.placed(together)


class _Placing:
    """What the places of many records are found with."""

    def __init__(self, materials: Sequence[Material], is_shown: Callable[[Object], bool]) -> None:
        self._materials, self._is_shown = materials, is_shown
        self._steps = cache(steps)  # most of many machines have the same fields
        self._in_config = cache(partial(_in_config, cache(lambda file: stream(file) if file else None)))

    @cached_property
    def _owners(self) -> dict[tuple[str, ...], Spot]:
        """The place of each object that was read, by its file and its names."""
        return {
            _names(entry.obj, material.found.places[entry.item][0]): Spot(material, entry.item, entry.path, ())
            for material in self._materials
            for entry in bundle.entries(material.found.items)
        }

    def placed(self, found: Sequence[ExplainedObject]) -> list[Object]:
        """The records of some objects. Equal places are searched once, and those of one unit together."""
        spots: dict[int, tuple[int, Place]] = {}
        units: dict[int, tuple[Material, dict[Place, Finding | None]]] = {}
        for each in found:
            for source in self._sources(each.record):
                spot = self._spot(each, source)
                if spot:
                    unit, place = id(spot.material), (spot.item, spot.inside, spot.path)
                    units.setdefault(unit, (spot.material, {}))[1][place] = None
                    spots[id(source)] = unit, place
        for material, places in units.values():
            places.update(zip(places, _located(places, material), strict=True))
        at = {source: units[unit][1][place] for source, (unit, place) in spots.items()}
        return [self._placed(each, at) for each in found]

    def _sources(self, record: Object) -> Iterator[Object]:
        """What gives values that are shown, and the labels from which names were inferred."""
        for kind in MATCHERS:
            if "inferred" in record.get(kind, ()):
                yield record[kind]["inferred"]
        for field in filter(self._is_shown, record.get("fields", ())):
            yield from (field["source"], *field.get("beside", ()), *field.get("lost", ()))

    def _spot(self, of: ExplainedObject, source: Object) -> Spot | None:
        """The place of a source; None for what is in no file, and for what is in a unit that is not known."""
        item = source.get("item", -1)
        if item < 0:
            return None
        path = self._steps(source.get("field", ""))
        if item < of.own:
            return _of_parameter(of, Spot(of.material, *of.home(item, _inside(source)), path))
        owner = self._owners.get(_names(of.context[item - of.own], source.get("file", "")))
        return owner._replace(path=path) if owner else None

    def _placed(self, of: ExplainedObject, at: Mapping[int, Finding | None]) -> Object:
        """The record with the places of its sources, and its own in what was read."""

        def place(source: Object) -> Object:
            spot = at.get(id(source))
            if spot or source.get("kind") != CONFIG or "item" in source:
                return {
                    **source,
                    **_home(of, source),
                    **({key: getattr(spot, key) for key in PLACE} if spot and spot.file else {}),
                }
            if of.step and of.step.file:
                return {**source, **placed(of.step, steps(source["field"]))}
            return {**source, **self._in_config(of.material.settings.file, of.material.settings.cluster, source["field"])}

        record = self._with_sources(of.record, place)
        heads = {kind: {**record[kind], **_home(of, record[kind])} for kind in MATCHERS if kind in record}
        return {**record, **_home(of, record), **heads}

    def _with_sources(self, record: Object, place: Callable[[Object], Object]) -> Object:
        """The record with another form of each source of what is shown."""
        heads = {
            kind: {**record[kind], "inferred": place(record[kind]["inferred"])}
            for kind in MATCHERS
            if "inferred" in record.get(kind, ())
        }
        fields = []
        for field in record.get("fields", ()):
            if self._is_shown(field):
                lists = {key: [place(each) for each in field[key]] for key in ("beside", "lost") if key in field}
                fields.append({**field, "source": place(field["source"]), **lists})
            else:
                fields.append(field)
        return {**record, **heads, **({"fields": fields} if "fields" in record else {})}


def _names(obj: Object, file: str) -> tuple[str, ...]:
    ref = ref_of(obj)
    return file, ref.api_version, ref.kind, ref.namespace, ref.name


def _inside(source: Object) -> Path:
    """The path of the object of a source in its item."""
    return steps(source.get("inside", ""))


def _of_parameter(of: ExplainedObject, spot: Spot) -> Spot:
    """The place of the parameter's value, where the value in a template is a parameter alone."""
    if of.template is None:
        return spot
    start = of.template.entry.path
    written = get(of.template.entry.obj, (*spot.inside[len(start) :], *spot.path))
    path = parameter_of(of.template, written)
    return spot._replace(inside=start, path=path) if path else spot


def _located(wanted: Iterable[Place], material: Material) -> list[Finding]:
    of = material.found.places
    asked = (
        Finding(rule="", severity="info", message="", item=item, inside=inside, path=path, file=of[item][0], index=of[item][1])
        for item, inside, path in wanted
    )
    located = material.places.located(asked, follow=True)
    return material.homes.of(located, follow=True) if material.homes else located


def _in_config(config_of: Callable[[str], StreamText | None], file: str, cluster: str, field: str) -> Object:
    """The place of a setting in the config of the repository, or in that of its cluster; nothing if a flag gives it."""
    config, path = config_of(file), steps(field)
    for item, obj in enumerate(config.items if config else ()):
        clusters = [as_map(each).get("name") for each in as_list(get(obj, ("spec", "clusters")))]
        numbers = [number for number, name in enumerate(clusters) if cluster and name == cluster]
        for at in (*(("spec", "clusters", number, *path[1:]) for number in numbers), path):
            if config and get(obj, at) is not None:
                line, column = config.place(item, at, follow=True)
                return {"file": file, "index": item, "line": line, "column": column}
    return {}


def _home(of: ExplainedObject, each: Object) -> Object:
    """The item of what was read, of an object in a template."""
    if of.template is None or not 0 <= each.get("item", -1) < of.own:
        return {}
    item, inside = of.home(each["item"], _inside(each))
    return {"item": item, "inside": dotted(inside)}
