"""Mode `snapshot`: what a VM refers to is stored in a ControllerRevision beside it, and its matchers point there.

Rendering a snapshotted bundle gives the same VM after the instancetype or preference was changed or deleted. `storing` says
what is stored.
"""

from __future__ import annotations

from krm_fn.base.objects import metadata
from krm_fn.pipeline.modes import referring, replaced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.rules.facts import BundleFacts


def apply(items: Sequence[Any], facts: BundleFacts) -> list[Any]:
    added = [revision for each in facts.storing for revision in each.revisions]
    return [*replaced(items, changes(facts)), *added]


def changes(facts: BundleFacts) -> Iterator[tuple[Entry, Path, Object]]:
    pins = {id(each.vm): each.pins for each in facts.storing}
    failed = {id(each.vm) for each in facts.unstored} - pins.keys()
    for vm in facts.vms:
        if vm.rendered is None or id(vm) in failed:
            continue
        left = _pinned(referring(vm, facts), pins.get(id(vm), ()))
        if left is not vm.vm:
            yield vm.entry, vm.prefix, left
    for entry in {id(entry): entry for each in facts.storing for entry in each.owned}.values():
        yield entry, ("metadata",), _without_owners(metadata(entry.obj))


def _pinned(vm: Object, pins: Sequence[tuple[str, str]]) -> Object:
    """The VM with its matchers pointing at revisions, itself where there are none."""
    if not pins:
        return vm
    matchers = {field: {**vm["spec"][field], "revisionName": name} for field, name in pins}
    return {**vm, "spec": {**vm["spec"], **matchers}}


def _without_owners(about: Object) -> Object:
    return {key: value for key, value in about.items() if key != "ownerReferences"}
