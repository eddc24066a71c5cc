"""What leaves a unit for the cluster where this program is a step of its own: the objects as the step renders them.

The step sees only the list that its host sends it. So it knows nothing of what the other units of the cluster have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn import config
from krm_fn.base.objects import LOCAL_CONFIG, PREVIOUS_NAMES, annotations_of, metadata, name_of, text
from krm_fn.base.paths import copy, put
from krm_fn.base.value import Value
from krm_fn.findings import results
from krm_fn.pipeline import stages

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from krm_fn.findings.finding import Finding
    from krm_fn.repositories.loading import Parsed


class Leaving(Value):
    """What leaves. `findings` are those of the steps. `fails`: a step fails, so that nothing leaves."""

    items: Sequence[Any]
    findings: tuple[Finding, ...] = ()
    fails: bool = False


def leaving(parsed: Parsed) -> Leaving:
    """What the steps of a unit make of its objects, one after the other; without a step, the objects.

    Raises: ConfigError for a step whose config is wrong.
    """
    items: Sequence[Any] = parsed.found.items
    if not parsed.steps:
        return Leaving(items=items)
    numbers = [number for source in parsed.found.sources for number in source.objects]
    items = [_renamed(item, parsed.names[number]) for item, number in zip(items, numbers, strict=True)]
    findings: list[Finding] = []
    for step in parsed.steps:
        settings = config.read(step)
        places = [*parsed.found.places, *[("", 0)] * len(items)][: len(items)]
        outcome = stages.render(items, settings, places=places)
        findings += outcome.findings
        if results.exit_code(outcome.findings, settings.fail_on):
            return Leaving(items=(), findings=tuple(findings), fails=True)
        items = outcome.in_order
    left = [item for item in map(_bare, items) if not _is_local(item)]
    return Leaving(items=left, findings=tuple(findings))


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
