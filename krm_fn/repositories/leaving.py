"""What leaves a unit for the cluster where this program is a step of its own: the objects as the step renders them.

The step sees only the list that its host sends it. So it knows nothing of what the other units of the cluster have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn import config
from krm_fn.base.objects import LOCAL_CONFIG, annotations_of, text
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
    findings: list[Finding] = []
    for step in parsed.steps:
        settings = config.read(step)
        outcome = stages.render(items, settings)
        findings += outcome.findings
        if results.exit_code(outcome.findings, settings.fail_on):
            return Leaving(items=(), findings=tuple(findings), fails=True)
        items = outcome.in_order
    return Leaving(items=[item for item in items if not _is_local(item)], findings=tuple(findings))


def _is_local(item: Any) -> bool:
    """True for an object that hosts give to functions, and do not print."""
    return isinstance(item, dict) and text(annotations_of(item).get(LOCAL_CONFIG)) not in ("", "false")
