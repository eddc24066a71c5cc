"""Modes: what leaves the function, one module each with `leave(items, facts, settings) -> items`.

An item that nothing changes leaves as the very object that came. New items stand at the end.
"""

from __future__ import annotations

import sys

from krm_fn.resource import annotations_of, metadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from krm_fn.config import Config
    from krm_fn.facts import Found, VmFacts
    from krm_fn.paths import Path
    from krm_fn.resource import Object

# What the renderer writes about a VM stands in annotations of this prefix.
PREFIX = "kubevirt-render.dev/"


def leave(items: Sequence[Any], facts: Sequence[VmFacts], settings: Config) -> list[Any]:
    """The items as the config's mode lets them leave."""
    name = f"{__name__}.{settings.mode}"
    __import__(name)  # one mode a run: the others are not loaded
    chosen: Callable[[Sequence[Any], Sequence[VmFacts], Config], list[Any]] = sys.modules[name].leave
    return chosen(items, facts, settings)


def replaced(items: Sequence[Any], vms: Iterable[tuple[VmFacts, Object]]) -> list[Any]:
    """The items with the VMs of the facts replaced; what stands around them is copied along the way only."""
    changed = list(items)
    for each, vm in vms:
        if vm is not each.vm:
            number = each.entry.item
            changed[number] = _with(changed[number], (*each.entry.path, *each.prefix), vm)
    return changed


def _with(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    around = value.copy()
    around[path[0]] = _with(around[path[0]], path[1:], new)
    return around


def annotated(vm: Object, notes: dict[str, str]) -> Object:
    """The VM with annotations added, `vm` itself where it has them all; new ones come last."""
    given = annotations_of(vm)
    if all(given.get(key) == value for key, value in notes.items()):
        return vm
    return {**vm, "metadata": {**metadata(vm), "annotations": {**given, **notes}}}


def names(each: VmFacts) -> dict[str, str]:
    """Annotations that name what a VM's matchers resolved to: `Kind/name`, `Kind/namespace/name` for namespaced kinds."""
    notes = {}
    for matcher, found in (("instancetype", each.resolution.instancetype), ("preference", each.resolution.preference)):
        if found:
            notes[PREFIX + matcher] = _name(found)
            if found.revision:
                notes[f"{PREFIX}{matcher}-revision"] = found.revision.name
    return notes


def _name(found: Found) -> str:
    return "/".join(filter(None, (found.ref.kind, found.ref.namespace, found.ref.name)))
