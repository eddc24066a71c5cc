"""The lines and columns of the fields that give values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.base.paths import steps
from krm_fn.explaining.inputs import MATCHERS
from krm_fn.findings.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from krm_fn.base.objects import Object
    from krm_fn.repositories.homes import Homes
    from krm_fn.sources.places import Places
    from krm_fn.sources.reading import Sources

PLACE = ("file", "index", "line", "column")


def with_places(records: Sequence[Object], found: Sources, places: Places, homes: Homes | None) -> list[Object]:
    """The records with file, line and column of each source. `homes` are those of a built target, whose values lead there."""
    sources = (each for record in records for each in sources_of(record))
    own, origins = len(found.items), found.places  # other items are those of other units
    wanted = [each for each in sources if 0 <= each.get("item", -1) < own]
    located = places.located(_spot(each, *origins[each["item"]]) for each in wanted)
    if homes:
        located = homes.of(located)
    at = {id(each): spot for each, spot in zip(wanted, located, strict=True)}
    return [placed(record, lambda source: {**source, **place_of(at.get(id(source)))}) for record in records]


def place_of(spot: Finding | None) -> Object:
    """File, index, line and column of a finding; nothing where they are not known."""
    return {key: getattr(spot, key) for key in PLACE} if spot and spot.file else {}


def sources_of(record: Object) -> Iterator[Object]:
    """What gives values, and the labels from which names were inferred."""
    for kind in MATCHERS:
        if "inferred" in record.get(kind, ()):
            yield record[kind]["inferred"]
    for field in record.get("fields", ()):
        yield from (field["source"], *field.get("beside", ()), *field.get("lost", ()))


def _spot(source: Object, file: str, index: int) -> Finding:
    path, inside = steps(source["field"]), steps(source.get("inside", ""))
    return Finding(rule="", severity="info", message="", path=path, inside=inside, item=source["item"], file=file, index=index)


def placed(record: Object, place: Callable[[Object], Object]) -> Object:
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
