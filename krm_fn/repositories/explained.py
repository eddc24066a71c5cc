"""What `explain` says of a unit: of its objects, and of those in its templates, whose parameters have their default values.

Where this program is a step on the way to the cluster, it says that of what leaves, and which step gave what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from krm_fn.base import bundle
from krm_fn.base.bundle import Bundle, Entry
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, get, leaves
from krm_fn.base.value import Value
from krm_fn.explaining import answers
from krm_fn.explaining.answers import Shown, every, is_explained
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.templates import Template, is_template, template_of
from krm_fn.pipeline.surroundings import bundle_of
from krm_fn.repositories.leaving import bare
from krm_fn.repositories.origins import WritingPlace, located
from krm_fn.repositories.templated import Beside
from krm_fn.rules.facts.bundles import NO_SURROUNDINGS, Surroundings
from krm_fn.sources.reading import stream
from krm_fn.sources.source import Sources
from krm_fn.sources.steps import Stage, Step

if TYPE_CHECKING:
    from krm_fn.repositories.homes import Material


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


def placed(step: Step, path: Path = ()) -> Object:
    """File, index, line and column of a value in the config of a step, of the nearest one around it that is there."""
    if not step.file:
        return {}
    item, at = (step.inside[0], (*step.inside[1], *path)) if step.inside else (step.item, (*step.path, *path))
    origin = WritingPlace(step.file, step.item, step.path, (item, at)) if step.inside else WritingPlace(step.file, item, at)
    line, column = located(origin, stream(step.file))
    return {"file": step.file, "index": step.item, **({"line": line, "column": column} if line else {})}


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
