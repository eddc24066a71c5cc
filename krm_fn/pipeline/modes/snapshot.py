"""Mode `snapshot`: stores the objects that a VM refers to in ControllerRevisions, and makes its matchers refer to these.

A VM of a snapshotted bundle is rendered in the same way after the instancetype or preference is changed or deleted. `storing`
decides what is stored.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator, Sequence
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object, metadata
from krm_fn.base.paths import Path
from krm_fn.pipeline.modes import referring, replaced
from krm_fn.rules.facts.bundles import BundleFacts


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
    """The VM with matchers that name revisions, or the VM itself if there are none."""
    if not pins:
        return vm
    matchers = {field: {**vm["spec"][field], "revisionName": name} for field, name in pins}
    return {**vm, "spec": {**vm["spec"], **matchers}}


def _without_owners(about: Object) -> Object:
    return {key: value for key, value in about.items() if key != "ownerReferences"}
