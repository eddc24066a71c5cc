"""The records of what a command reads: of its objects, and of those in templates, whose parameters have their defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.base import bundle
from krm_fn.base.paths import dotted, steps
from krm_fn.base.value import Value
from krm_fn.explaining.answers import is_explained, records
from krm_fn.kubevirt.templates import is_template, template_of
from krm_fn.pipeline.surroundings import bundle_of
from krm_fn.repositories.templated import Beside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from krm_fn.base.bundle import Bundle, Entry
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.cli.bundles import Read
    from krm_fn.kubevirt.templates import Template


class Explained(Value):
    """A record with its object, what it was read with, and the objects of other targets to which it may refer.

    `homes` are the places of the items of a template in what was read.
    """

    record: Object
    obj: Object
    read: Read
    context: Sequence[Object] = ()
    homes: Sequence[tuple[int, Path]] = ()


def machines(read: Read) -> Iterator[Entry]:
    """The VMs, pools, replica sets and instances that were read, those in templates too."""
    for each, _ in _bundles(read):
        yield from (entry for entry in each.entries if not each.is_context(entry.item) and is_explained(entry))


def explained(read: Read, wanted: Callable[[Entry], bool]) -> Iterator[Explained]:
    """The records of the wanted ones."""
    for each, template in _bundles(read):
        chosen = [entry for entry in each.entries if is_explained(entry) and wanted(entry)]
        if not chosen:
            continue
        objects = {(entry.item, dotted(entry.path)): entry.obj for entry in chosen}
        beside = read.beside if template is None else _beside(read).of([obj for _, obj in template.objects])
        homes = [(template.entry.item, path) for path, _ in template.objects] if template else ()
        for record in records(each, read.config, beside, wanted):
            obj = objects[record["item"], record.get("inside", "")]
            yield Explained(record=record, obj=obj, read=read, context=beside.context, homes=homes)


def _bundles(read: Read) -> Iterator[tuple[Bundle, Template | None]]:
    """The bundle of what was read, and one of each template: nobody applies two of them together."""
    found = read.found
    yield bundle_of(found.items, found.places, found.units, read.beside), None
    for entry in bundle.entries(found.items):
        if is_template(entry.obj):
            template = template_of(entry)
            items = [obj for _, obj in template.objects]
            places = [found.places[entry.item]] * len(items)
            yield bundle_of(items, places, (), _beside(read).of(items)), template


def _beside(read: Read) -> Beside:
    return Beside(list(bundle.entries(read.found.items)), read.found.places, read.beside)


def inside_of(source: Object) -> Path:
    """The path of the object of a source in its item."""
    return steps(source.get("inside", ""))
