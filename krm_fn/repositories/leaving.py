"""What leaves a unit for the cluster where this program is a step on the way there: the objects as it renders them.

A step of a kustomization or of a kpt package sees only the list that its host sends it. So it knows nothing of what the other
units of the cluster have. A pipeline and Argo CD call the command, which knows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from krm_fn.base.objects import PREVIOUS_NAMES, annotations_of, metadata, name_of
from krm_fn.base.paths import copy, put
from krm_fn.findings import results
from krm_fn.findings.limits import ProductLimit
from krm_fn.pipeline import stages
from krm_fn.pipeline.stages import Judging
from krm_fn.repositories import manifests
from krm_fn.sources.steps import ARGOCD, Leaving, Stage, Step, is_local
from krm_fn.yamlio.order import in_order

if TYPE_CHECKING:
    from krm_fn.repositories.clusters import TargetSettings
    from krm_fn.repositories.loading import Parsed
    from krm_fn.repositories.sharing import Taken


# How often the steps may render an object, on average. To look whether a step gets an object takes so much less.
RENDERED, LOOKS = 10, 100


def leaving(parsed: Parsed, taken: Taken, settings: TargetSettings) -> Leaving:
    """What the steps of a unit make of its objects, one after the other; without any, the objects.

    `taken` is what the unit takes of others. Raises: ConfigError for a step whose config is wrong, InputError where the steps
    take more work than the objects allow.
    """
    items: Sequence[Any] = parsed.found.items
    if parsed.names:
        numbers = [number for source in parsed.found.sources for number in source.objects]
        items = [_renamed(item, parsed.names[number]) for item, number in zip(items, numbers, strict=True)]
    found, places = Leaving(items=items, numbers=range(len(items))), parsed.found.places
    many = f"{parsed.folder}: found {len(parsed.steps):,} calls of this program for {len(items):,} objects"
    budget = ProductLimit(RENDERED * LOOKS * len(items), f"{many}, which take too much work; call it fewer times")
    for step in parsed.steps:
        budget.take(len(found.items) * (1 + len(step.selectors) + len(step.exclude)))
        beside = Judging(surroundings=taken.surroundings(settings.externals)) if step.sees_cluster else Judging()
        found = found if found.fails else _rendered(found, step, beside, places, budget)
    return _applied(found) if any(not step.sees_cluster for step in parsed.steps) else found


def _rendered(found: Leaving, step: Step, judging: Judging, places: Sequence[tuple[str, int]], budget: ProductLimit) -> Leaving:
    """What one step makes of what the steps before it have left. `places` are those of the objects that were read."""
    config = step.config
    at = [places[number] if number >= 0 else (step.file, 0) for number in found.numbers]
    seen = step.sees(found.items, at)
    budget.take(LOOKS * len(seen))
    given = manifests.in_namespace([found.items[number] for number in seen], step.namespace)
    outcome = stages.render(given, config, judging=judging, places=[at[number] for number in seen])
    numbers = [found.numbers[number] for number in seen]
    findings = (*found.findings, *(each.but(item=_in(numbers, each.item)) for each in outcome.findings))
    if results.exit_code(outcome.findings, config.fail_on):
        return Leaving(items=(), findings=findings, fails=True)
    if step.discards:
        return found.but(findings=findings)
    made = list(zip(found.items, found.numbers, strict=True))
    for number, item in zip(seen, outcome.items, strict=False):
        made[number] = item, found.numbers[number]
    made += [(item, -1) for item in outcome.items[len(seen) :]]
    if step.host == ARGOCD:
        notes = config.provenance or config.pod_size or config.mode == "annotate"
        made = [(left, number) for item, number in made if (left := manifests.leaving(item, notes=notes)) is not None]
    else:
        made = in_order(made, [seen[number] for number in outcome.before], len(found.items))
    got = dict(zip(numbers, given, strict=True))
    stage = Stage(step, got, {number: item for item, number in made if number >= 0})
    return found.but(
        items=[item for item, _ in made],
        numbers=[number for _, number in made],
        findings=findings,
        stages=(*found.stages, stage),
    )


def _in(numbers: Sequence[int], item: int) -> int:
    return numbers[item] if 0 <= item < len(numbers) else -1


def _applied(found: Leaving) -> Leaving:
    """What is applied of what leaves: nothing that only hosts read."""
    made = [(bare(item), number) for item, number in zip(found.items, found.numbers, strict=False) if not is_local(item)]
    return found.but(items=[item for item, _ in made], numbers=[number for _, number in made])


def _renamed(item: Any, name: str) -> Any:
    """The object as kustomize gives it to a step: with the name that it has in its file, if another one was made of it."""
    if not name or name == name_of(item):
        return item
    found = copy(item)
    put(found, ("metadata", "annotations", PREVIOUS_NAMES), name)
    return found


def bare(item: Any) -> Any:
    """The object without what kustomize writes for steps alone."""
    if not isinstance(item, dict) or PREVIOUS_NAMES not in annotations_of(item):
        return item
    kept = {key: value for key, value in annotations_of(item).items() if key != PREVIOUS_NAMES}
    bare = {key: value for key, value in metadata(item).items() if key != "annotations"}
    return {**item, "metadata": {**bare, **({"annotations": kept} if kept else {})}}
