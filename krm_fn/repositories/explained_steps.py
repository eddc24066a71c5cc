"""The records of `explain` where this program is a step on the way to the cluster: what leaves, and which step gave what."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from krm_fn import yamlio
from krm_fn.base.errors import InputError
from krm_fn.base.paths import get, leaves
from krm_fn.explaining.answers import Shown
from krm_fn.findings.finding import UNSET
from krm_fn.pipeline.surroundings import bundle_of
from krm_fn.repositories.leaving import bare
from krm_fn.repositories.origins import Origin, located
from krm_fn.rules.facts.bundles import NO_SURROUNDINGS
from krm_fn.sources.files import read_found

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from krm_fn.base.bundle import Bundle
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.repositories.material import Material
    from krm_fn.rules.facts.bundles import Surroundings
    from krm_fn.sources.steps import Stage, Step

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
        record = {**record, "steps": [self._told(number) for number in numbers]}
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

    def _told(self, number: int) -> Object:
        step = self._stages[number].step
        return {"host": step.host, "mode": step.config.mode, **self.places[number]}

    @cached_property
    def places(self) -> list[Object]:
        """File, line and column of the config of each step; nothing where the config of the repository is it."""
        return [placed(stage.step) for stage in self._stages]


def placed(step: Step, path: Path = ()) -> Object:
    """File, index, line and column of a value in the config of a step, of the nearest one around it that is there."""
    if not step.file:
        return {}
    item, at = (step.inside[0], (*step.inside[1], *path)) if step.inside else (step.item, (*step.path, *path))
    origin = Origin(step.file, step.item, step.path, (item, at)) if step.inside else Origin(step.file, item, at)
    try:
        line, column = located(origin, yamlio.read_stream(read_found(step.file)[0]))
    except (OSError, InputError):
        line, column = 0, 0
    return {"file": step.file, "index": step.item, **({"line": line, "column": column} if line else {})}


def _giver(path: Path, values: Sequence[dict[Path, Any]]) -> int:
    """The number of the last state in which a value became another one."""
    numbers = range(len(values) - 1, 0, -1)
    return next((n for n in numbers if values[n].get(path, UNSET) != values[n - 1].get(path, UNSET)), 0)
