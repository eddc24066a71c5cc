"""What `explain` says of a unit: of its objects, and of those in its templates, whose parameters have their default values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.base import bundle
from krm_fn.base.value import Value
from krm_fn.explaining import answers
from krm_fn.explaining.answers import every, is_explained
from krm_fn.kubevirt.templates import is_template, template_of
from krm_fn.pipeline.surroundings import bundle_of
from krm_fn.repositories.explained_steps import Steps
from krm_fn.repositories.templated import Beside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from krm_fn.base.bundle import Bundle, Entry
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.templates import Template
    from krm_fn.repositories.material import Material
    from krm_fn.rules.facts.bundles import Surroundings
    from krm_fn.sources.source import Sources
    from krm_fn.sources.steps import Step


class Explained(Value):
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


def explained(material: Material, wanted: Callable[[Entry], bool] = every) -> Iterator[Explained]:
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
            yield Explained(record=told[0], entry=found.entry, rendered=told[1], step=step, **at)


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
