"""What leaves a unit for the cluster where this program is a step of its own, or of a pipeline: the objects as it renders them.

A step of a kustomization sees only the list that its host sends it. So it knows nothing of what the other units of the cluster
have. A pipeline calls the command, which knows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn import config
from krm_fn.base.objects import LOCAL_CONFIG, PREVIOUS_NAMES, annotations_of, metadata, name_of, text
from krm_fn.base.paths import copy, put
from krm_fn.base.value import Value
from krm_fn.findings import results
from krm_fn.pipeline import stages
from krm_fn.pipeline.stages import Judging

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from krm_fn.findings.finding import Finding
    from krm_fn.kubevirt.settings import Config
    from krm_fn.repositories.clusters import TargetSettings
    from krm_fn.repositories.loading import Parsed
    from krm_fn.repositories.sharing import Taken


class Leaving(Value):
    """What leaves. `findings` are those of the steps. `fails`: a step fails, so that nothing leaves."""

    items: Sequence[Any]
    findings: tuple[Finding, ...] = ()
    fails: bool = False


def leaving(parsed: Parsed, taken: Taken, settings: TargetSettings) -> Leaving:
    """What the steps of a unit make of its objects, one after the other, and at last its pipeline; without any, the objects.

    `taken` is what the unit takes of others. Raises: ConfigError for a step whose config is wrong.
    """
    items: Sequence[Any] = parsed.found.items
    if parsed.steps:
        numbers = [number for source in parsed.found.sources for number in source.objects]
        items = [_renamed(item, parsed.names[number]) for item, number in zip(items, numbers, strict=True)]
    found, places = Leaving(items=items), parsed.found.places
    for step in parsed.steps:
        found = _rendered(found, config.read(step), Judging(), places)
    if parsed.steps:
        found = found.but(items=[item for item in map(_bare, found.items) if not _is_local(item)])
    if settings.rendered:
        found = _rendered(found, settings.rendered, Judging(surroundings=taken.surroundings(settings.externals)), places)
    return found


def _rendered(found: Leaving, settings: Config, judging: Judging, places: Sequence[tuple[str, int]]) -> Leaving:
    """What one step makes of what the steps before it have left. `places` are those of the first objects."""
    if found.fails:
        return found
    every = [*places, *[("", 0)] * len(found.items)][: len(found.items)]
    outcome = stages.render(found.items, settings, judging=judging, places=every)
    findings = (*found.findings, *outcome.findings)
    if results.exit_code(outcome.findings, settings.fail_on):
        return Leaving(items=(), findings=findings, fails=True)
    return Leaving(items=outcome.in_order, findings=findings)


def _renamed(item: Any, name: str) -> Any:
    """The object as kustomize gives it to a step: with the name that it has in its file, if another one was made of it."""
    if not name or name == name_of(item):
        return item
    found = copy(item)
    put(found, ("metadata", "annotations", PREVIOUS_NAMES), name)
    return found


def _bare(item: Any) -> Any:
    """The object without what kustomize writes for steps alone."""
    if not isinstance(item, dict) or PREVIOUS_NAMES not in annotations_of(item):
        return item
    kept = {key: value for key, value in annotations_of(item).items() if key != PREVIOUS_NAMES}
    bare = {key: value for key, value in metadata(item).items() if key != "annotations"}
    return {**item, "metadata": {**bare, **({"annotations": kept} if kept else {})}}


def _is_local(item: Any) -> bool:
    """True for an object that hosts give to functions, and do not print."""
    return isinstance(item, dict) and text(annotations_of(item).get(LOCAL_CONFIG)) not in ("", "false")
