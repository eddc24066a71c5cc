"""The core: items and a config in, rendered items and findings out. No I/O, no clock, no environment."""

from __future__ import annotations

from krm_fn import config, modes, results, rules
from krm_fn.bundle import Bundle
from krm_fn.gather import gather
from krm_fn.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from krm_fn.config import Config
    from krm_fn.facts import BundleFacts
    from krm_fn.findings import Finding
    from krm_fn.resource import Object


class Outcome(Value):
    """What a run led to: all items, the untouched ones as the very objects that came, and the findings in order."""

    items: list[Any]
    findings: tuple[Finding, ...]


def process(resource_list: Object) -> Object:
    """The ResourceList with its VMs rendered and `results` filled. The argument is left as it was.

    Raises: ConfigError where the functionConfig is wrong.
    """
    settings = config.read(resource_list.get("functionConfig"))
    outcome = render(resource_list.get("items") or [], settings)
    return {
        **resource_list,
        "items": [item for item in outcome.items if item is not None],
        "results": results.merge(resource_list.get("results"), outcome.findings),
    }


def render(items: Sequence[Any], settings: Config, places: Sequence[tuple[str, int]] = ()) -> Outcome:
    """Every VM of the items rendered or left as it came, and what there is to say of them.

    `places` gives file and index of each item where the caller knows them; else the items' own annotations tell.
    """
    facts = gather(Bundle(items, places), settings)
    placed = results.ordered(_with_place(finding, facts.bundle) for finding in _judged(facts))
    return Outcome(items=modes.leave(items, facts), findings=placed)


def _judged(facts: BundleFacts) -> Iterator[Finding]:
    severity = facts.config.severity
    for vm in facts.vms:
        yield from rules.judge("vm", vm, severity)
    for told in (*(vm.presets for vm in facts.vms), *(instance.presets for instance in facts.instances)):
        if told:
            yield from rules.judge("preset", told, severity)
    yield from rules.judge_bundle(facts, severity)
    if facts.config.mode == "validate":
        yield from rules.judge_bundle(facts, severity, "lint")


def _with_place(finding: Finding, bundle: Bundle) -> Finding:
    file, index = bundle.place(finding.item)
    return finding.but(file=file, index=index) if file else finding
