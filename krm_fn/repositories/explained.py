"""What `explain` says of a unit: of its objects, and of those in its templates, whose parameters have their default values.

Where this program is a step on the way to the cluster, it says that of what leaves, and which step gave what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from krm_fn.base import bundle
from krm_fn.base.bundle import Bundle, Entry
from krm_fn.base.objects import Object, ref_of
from krm_fn.base.paths import Path, as_list, as_map, dotted, get, leaves, steps
from krm_fn.base.value import Value
from krm_fn.explaining import answers
from krm_fn.explaining.answers import Shown, every, is_explained
from krm_fn.explaining.inputs import MATCHERS
from krm_fn.findings.finding import UNSET, Finding
from krm_fn.kubevirt.templates import Template, is_template, parameter_of, template_of
from krm_fn.pipeline.surroundings import bundle_of
from krm_fn.repositories.leaving import bare, placed
from krm_fn.repositories.templated import Beside
from krm_fn.rules.facts.bundles import NO_SURROUNDINGS, Surroundings
from krm_fn.sources.reading import stream
from krm_fn.sources.source import Sources
from krm_fn.sources.steps import Stage, Step

if TYPE_CHECKING:
    from krm_fn.repositories.homes import Material
    from krm_fn.yamlio import StreamText


STEP = "step"


class Steps:
    """The steps of a unit. `own` is the number of the first one that renders VMs, -1 where none does."""

    def __init__(self, material: Material) -> None:
        self._material = material
        self._stages = material.left.stages if material.left else ()
        modes = [stage.step.config.mode for stage in self._stages]
        self.own = modes.index("expand") if "expand" in modes else -1

    @property
    def step(self) -> Step | None:
        """The first step that renders VMs."""
        return self._stages[self.own].step if self.own >= 0 else None

    def seen(self, stage: Stage) -> tuple[Bundle, Surroundings]:
        """The bundle that a step sees, each item with the number that it has in the unit, and what the step knows beside it."""
        found, beside = self._material.found, self._material.surroundings
        if not stage.step.sees_cluster:
            beside = NO_SURROUNDINGS.but(affixes=beside.affixes)
        items = [stage.seen.get(number) for number in range(len(found.items))]
        return bundle_of(items, found.places, found.units, beside), beside

    @property
    def view(self) -> tuple[Bundle, Surroundings] | None:
        """What the first step that renders sees, None where none does."""
        return self.seen(self._stages[self.own]) if self.own >= 0 else None

    def as_it_leaves(self, record: Object, rendered: Object | None, item: int, inside: Path) -> tuple[Object, Object | None]:
        """The record of a VM at an item and a path, and the VM, as they leave, with the steps that have got it.

        Values that a later step changes name that.
        """
        numbers = [number for number, stage in enumerate(self._stages) if item in stage.seen]
        if not numbers:
            return record, rendered
        steps = [(self._stages[number].step, self.places[number]) for number in numbers]
        record = {**record, "steps": [{"host": step.host, "mode": step.config.mode, **place} for step, place in steps]}
        if rendered is None or self.own not in numbers or "fields" not in record:
            return record, rendered
        later = [number for number in numbers if number > self.own]
        states = [rendered, *(get(self._stages[number].left.get(item), inside) for number in later)]
        states[-1] = bare(states[-1])
        return {**record, "fields": self._fields(record, states, [self.own, *later])}, states[-1]

    def _fields(self, record: Object, states: Sequence[Any], givers: Sequence[int]) -> list[Object]:
        """The fields of the last state; `givers` are the numbers of the steps that have left the states."""
        known, values = {field["path"]: field for field in record["fields"]}, [dict(leaves(state)) for state in states]
        shown = Shown()
        fields: dict[str, Object] = {}
        for path, value in values[-1].items():
            giver, name = _giver(path, values), shown.text(path)
            if giver or name not in known:
                of = self._stages[givers[giver]].step
                source = {"from": STEP, "name": of.host, "field": "", **self.places[givers[giver]]}
                fields.setdefault(name, {"path": name, "value": shown.value(value, path), "source": source})
            else:
                fields.setdefault(name, known[name])
        return list(fields.values())

    @cached_property
    def places(self) -> list[Object]:
        """File, line and column of the config of each step; nothing where the config of the repository is it."""
        return [placed(stage.step) for stage in self._stages]


def _giver(path: Path, values: Sequence[dict[Path, Any]]) -> int:
    """The number of the last state in which a value became another one."""
    numbers = range(len(values) - 1, 0, -1)
    return next((n for n in numbers if values[n].get(path, UNSET) != values[n - 1].get(path, UNSET)), 0)


class ExplainedObject(Value):
    """A record of `explain`, with its object as it is written and as it is rendered, None if it can't be rendered.

    `template` has the object, None for one that is no part of a template. `step` has rendered it, None where none is on the
    way. The record numbers items from 0: first `own` ones of the unit or the template, then those of `context`, which are
    around them.
    """

    record: Object
    entry: Entry
    material: Material
    own: int
    rendered: Object | None = None
    context: Sequence[Object] = ()
    template: Template | None = None
    step: Step | None = None

    def home(self, item: int, inside: Path) -> tuple[int, Path]:
        """Item and path, in what was read, of an object that the record has at an item and a path."""
        if self.template is None:
            return item, inside
        return self.template.entry.item, (*self.template.objects[item][0], *inside)


def machines(found: Sources, beside: Surroundings) -> Iterator[Entry]:
    """The VMs, pools, replica sets and instances that were read, those in templates too."""
    for each, _, _ in _bundles(found, beside):
        yield from (entry for entry in each.entries if not each.is_context(entry.item) and is_explained(entry))


def explained(material: Material, wanted: Callable[[Entry], bool] = every) -> Iterator[ExplainedObject]:
    """The records of the wanted VMs, pools, replica sets and instances, those in templates last.

    Where this program is a step on the way to the cluster, they are of what leaves. Raises: ConfigError for its config.
    """
    steps = Steps(material)
    for each, beside, template in _bundles(material.found, material.surroundings):
        step = None if template else steps.step
        bundle, around = (steps.view if step else None) or (each, beside)
        if not any(is_explained(entry) and wanted(entry) for entry in bundle.entries):
            continue
        for found in answers.explained(bundle, step.config if step else material.settings.config, around, wanted):
            at: dict[str, Any] = {"material": material, "own": each.own, "context": around.context, "template": template}
            told = found.record, found.rendered
            if template is None:
                told = steps.as_it_leaves(*told, found.entry.item, found.entry.path)
            yield ExplainedObject(record=told[0], entry=found.entry, rendered=told[1], step=step, **at)


def _bundles(found: Sources, beside: Surroundings) -> Iterator[tuple[Bundle, Surroundings, Template | None]]:
    """The bundle of what was read, and one of each template: nobody applies two of them together."""
    yield bundle_of(found.items, found.places, found.units, beside), beside, None
    entries = list(bundle.entries(found.items))
    templates = [template_of(entry) for entry in entries if is_template(entry.obj)]
    places = found.places if templates else []
    around = Beside(entries if templates else (), places, beside)
    for template in templates:
        items = [obj for _, obj in template.objects]
        own = around.of(items)
        yield bundle_of(items, [places[template.entry.item]] * len(items), (), own), own, template


PLACE = ("file", "index", "line", "column")
CONFIG = "RenderVirtualMachines"
TOGETHER = 100  # objects whose places are searched together: an item that several refer to is read once for them
SourcePlace = tuple[int, Path, Path]  # item, the object inside of it, and a field of that


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
        spots: dict[int, tuple[int, SourcePlace]] = {}
        units: dict[int, tuple[Material, dict[SourcePlace, Finding | None]]] = {}
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


def _located(wanted: Iterable[SourcePlace], material: Material) -> list[Finding]:
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
