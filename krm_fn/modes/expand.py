"""Mode `expand`: every VM that can be rendered leaves with its instancetype and preference applied and its matchers gone."""

from __future__ import annotations

from krm_fn.modes import PREFIX, annotated, names, replaced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from krm_fn.config import Config
    from krm_fn.facts import VmFacts
    from krm_fn.resource import Object


def leave(items: Sequence[Any], facts: Sequence[VmFacts], settings: Config) -> list[Any]:
    return replaced(items, _rendered(facts, settings))


def _rendered(facts: Sequence[VmFacts], settings: Config) -> Iterator[tuple[VmFacts, Object]]:
    for each in facts:
        if each.resolution.errors:
            continue
        # inference may end in no reference at all; such a VM leaves as admission would store it
        vm = each.expansion.vm if each.expansion else each.resolution.vm
        if vm is None:
            continue
        if settings.provenance and each.expansion:
            vm = annotated(vm, {**names(each), f"{PREFIX}kubevirt-version": str(each.release)})
        yield each, vm
