"""The files, lines and columns of the fields that give values."""

from __future__ import annotations

from pathlib import Path as File
from typing import TYPE_CHECKING, NamedTuple

from krm_fn import yamlio
from krm_fn.base import bundle
from krm_fn.base.errors import InputError
from krm_fn.base.objects import ref_of
from krm_fn.base.paths import as_list, as_map, dotted, get, steps
from krm_fn.cli.explained import inside_of
from krm_fn.explaining.inputs import MATCHERS
from krm_fn.findings.finding import Finding
from krm_fn.kubevirt.templates import IN_TEXT, KINDS, WHOLE
from krm_fn.repositories.explained_places import place_of, placed, sources_of
from krm_fn.repositories.homes import Homes
from krm_fn.sources.places import Places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.cli.bundles import Read
    from krm_fn.cli.explained import Explained

CONFIG = "RenderVirtualMachines"


class Spot(NamedTuple):
    """A place in an item of what was read."""

    read: Read
    item: int
    inside: Path
    path: Path


def with_homes(found: Sequence[Explained], reads: Sequence[Read]) -> list[Object]:
    """The records with file, line and column of each source. Values of a built target lead to where they are written."""
    owners = dict(_owners(reads))
    spots = {id(source): spot for each in found for source in sources_of(each.record) if (spot := _spot(each, source, owners))}
    at: dict[int, Finding] = {}
    for read in reads:
        of_read = {key: spot for key, spot in spots.items() if spot.read is read}
        at.update(zip(of_read, _located(of_read.values(), read), strict=True))
    return [_placed(each, at) for each in found]


def _owners(reads: Sequence[Read]) -> Iterator[tuple[tuple[str, ...], tuple[Read, int, Path]]]:
    """What was read with an object, by the file and the names of the object."""
    for read in reads:
        for entry in bundle.entries(read.found.items):
            yield _names(entry.obj, read.found.places[entry.item][0]), (read, entry.item, entry.path)


def _names(obj: Object, file: str) -> tuple[str, ...]:
    ref = ref_of(obj)
    return file, ref.api_version, ref.kind, ref.namespace, ref.name


def _spot(of: Explained, source: Object, owners: dict[tuple[str, ...], tuple[Read, int, Path]]) -> Spot | None:
    """The place of a source; None for what is in no file."""
    item = source.get("item", -1)
    if item < 0:
        return None
    own = len(of.homes) or len(of.read.found.items)
    if item < own:
        home, start = of.homes[item] if of.homes else (item, ())
        spot = Spot(of.read, home, (*start, *inside_of(source)), steps(source["field"]))
        return _of_parameter(spot) if of.homes else spot
    owner = owners.get(_names(of.context[item - own], source.get("file", "")))
    return Spot(owner[0], owner[1], owner[2], steps(source["field"])) if owner else None


def _of_parameter(spot: Spot) -> Spot:
    """The place of the parameter's value, where the value in a template is a parameter alone."""
    obj = spot.read.found.items[spot.item]
    written = get(obj, (*spot.inside, *spot.path))
    whole = (WHOLE.fullmatch(written) or IN_TEXT.fullmatch(written)) if isinstance(written, str) else None
    kind = next((kind for (_, name), kind in KINDS.items() if name == obj.get("kind")), None)
    if whole is None or kind is None:
        return spot
    for number, each in enumerate(map(as_map, as_list(get(obj, kind.parameters)))):
        if each.get("name") == whole[1] and "value" in each:
            return spot._replace(inside=(), path=(*kind.parameters, number, "value"))
    return spot


def _located(spots: Iterable[Spot], read: Read) -> list[Finding]:
    places = Places(read.found, follow=True)
    located = places.located([_finding(spot) for spot in spots])
    return Homes(read.built, read.found, places).of(located) if read.built else located


def _finding(spot: Spot) -> Finding:
    file, index = spot.read.found.places[spot.item]
    at: dict[str, Any] = {"item": spot.item, "inside": spot.inside, "file": file, "index": index}
    return Finding(rule="", severity="info", message="", path=spot.path, **at)


def _placed(of: Explained, at: dict[int, Finding]) -> Object:
    """The record with the places of its sources, and its own in what was read."""

    def place(source: Object) -> Object:
        if source.get("kind") == CONFIG and "item" not in source:
            return {**source, **_in_config(of.read, steps(source["field"]))}
        return {**source, **_home(of, source), **place_of(at.get(id(source)))}

    record = placed(of.record, place)
    heads = {kind: {**record[kind], **_home(of, record[kind])} for kind in MATCHERS if kind in record}
    target = {"target": of.read.target} if of.read.target else {}
    return {**record, **_home(of, record), **target, **heads}


def _in_config(read: Read, path: Path) -> Object:
    """The place of a setting in the config of the repository, or in that of its cluster; nothing if a flag gives it."""
    if not read.config_file:
        return {}
    try:
        config = yamlio.read_stream(File(read.config_file).read_bytes(), file=read.config_file)
    except (OSError, InputError):
        return {}
    for item, obj in enumerate(config.items):
        clusters = [as_map(each).get("name") for each in as_list(get(obj, ("spec", "clusters")))]
        numbers = [number for number, name in enumerate(clusters) if read.cluster and name == read.cluster]
        for at in (*(("spec", "clusters", number, *path[1:]) for number in numbers), path):
            if get(obj, at) is not None:
                line, column = config.place(item, at, follow=True)
                return {"file": read.config_file, "index": item, "line": line, "column": column}
    return {}


def _home(of: Explained, each: Object) -> Object:
    """The item of what was read, of an object in a template."""
    if not of.homes or not 0 <= each.get("item", -1) < len(of.homes):
        return {}
    item, start = of.homes[each["item"]]
    return {"item": item, "inside": dotted((*start, *inside_of(each)))}
