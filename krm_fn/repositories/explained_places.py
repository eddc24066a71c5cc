"""The files, lines and columns of the fields that give values. A value of a built target leads to where it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

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


class Spot(NamedTuple):
    """A place in an item of what was read."""

    material: Material
    item: int
    inside: Path
    path: Path


def with_places(found: Sequence[ExplainedObject], materials: Sequence[Material]) -> list[Object]:
    """The records with file, line and column of each source. `materials` are the units that sources may be in.

    A source in another unit has the file alone.
    """
    owners = dict(_owners(materials)) if any(each.context for each in found) else {}
    spots = {id(source): spot for each in found for source in _sources(each.record) if (spot := _spot(each, source, owners))}
    at: dict[int, Finding] = {}
    for material in materials:
        here = {key: spot for key, spot in spots.items() if spot.material is material}
        at.update(zip(here, _located(here.values(), material), strict=True))
    in_config = cache(partial(_in_config, cache(lambda file: stream(file) if file else None)))
    return [_placed(each, at, in_config) for each in found]


def _owners(materials: Iterable[Material]) -> Iterator[tuple[tuple[str, ...], Spot]]:
    """The place of each object that was read, by its file and its names."""
    for material in materials:
        places = material.found.places
        for entry in bundle.entries(material.found.items):
            yield _names(entry.obj, places[entry.item][0]), Spot(material, entry.item, entry.path, ())


def _names(obj: Object, file: str) -> tuple[str, ...]:
    ref = ref_of(obj)
    return file, ref.api_version, ref.kind, ref.namespace, ref.name


def _sources(record: Object) -> Iterator[Object]:
    """What gives values, and the labels from which names were inferred."""
    for kind in MATCHERS:
        if "inferred" in record.get(kind, ()):
            yield record[kind]["inferred"]
    for field in record.get("fields", ()):
        yield from (field["source"], *field.get("beside", ()), *field.get("lost", ()))


def _spot(of: ExplainedObject, source: Object, owners: dict[tuple[str, ...], Spot]) -> Spot | None:
    """The place of a source; None for what is in no file, and for what is in a unit that is not known."""
    item, path = source.get("item", -1), steps(source.get("field", ""))
    if item < 0:
        return None
    if item < of.own:
        return _of_parameter(of, Spot(of.material, *of.home(item, _inside(source)), path))
    owner = owners.get(_names(of.context[item - of.own], source.get("file", "")))
    return owner._replace(path=path) if owner else None


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


def _located(spots: Iterable[Spot], material: Material) -> list[Finding]:
    places = material.found.places
    located = material.places.located((_finding(spot, *places[spot.item]) for spot in spots), follow=True)
    return material.homes.of(located, follow=True) if material.homes else located


def _finding(spot: Spot, file: str, index: int) -> Finding:
    at: dict[str, Any] = {"item": spot.item, "inside": spot.inside, "file": file, "index": index}
    return Finding(rule="", severity="info", message="", path=spot.path, **at)


def _placed(of: ExplainedObject, at: dict[int, Finding], in_config: Callable[[str, str, str], Object]) -> Object:
    """The record with the places of its sources, and its own in what was read."""

    def place(source: Object) -> Object:
        if source.get("kind") == CONFIG and "item" not in source and of.step and of.step.file:
            return {**source, **placed(of.step, steps(source["field"]))}
        if source.get("kind") == CONFIG and "item" not in source:
            return {**source, **in_config(of.material.settings.file, of.material.settings.cluster, source["field"])}
        spot = at.get(id(source))
        return {**source, **_home(of, source), **({key: getattr(spot, key) for key in PLACE} if spot and spot.file else {})}

    record = _with_sources(of.record, place)
    heads = {kind: {**record[kind], **_home(of, record[kind])} for kind in MATCHERS if kind in record}
    return {**record, **_home(of, record), **heads}


def _with_sources(record: Object, place: Callable[[Object], Object]) -> Object:
    """The record with another form of each source."""
    heads = {
        kind: {**record[kind], "inferred": place(record[kind]["inferred"])}
        for kind in MATCHERS
        if "inferred" in record.get(kind, ())
    }
    fields = []
    for field in record.get("fields", ()):
        lists = {key: [place(each) for each in field[key]] for key in ("beside", "lost") if key in field}
        fields.append({**field, "source": place(field["source"]), **lists})
    return {**record, **heads, **({"fields": fields} if "fields" in record else {})}


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
