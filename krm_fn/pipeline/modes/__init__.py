"""Modes: what leaves the function, one module each with `leave(items, facts) -> items`.

An item that nothing changes leaves as the very object that came. New items stand at the end; `core.Outcome` says which of them
have to precede another.
"""

from __future__ import annotations

import sys

from krm_fn.base.objects import annotations_of, metadata
from krm_fn.base.paths import put_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.facts import Found
    from krm_fn.rules.facts import BundleFacts, VmFacts

# The modes that hand VMs on without rendering them.
HANDING_ON = ("annotate", "snapshot")
# What the renderer writes about a VM stands in annotations of this prefix.
PREFIX = "kubevirt-render.dev/"


def apply(items: Sequence[Any], facts: BundleFacts) -> list[Any]:
    """The items as the config's mode lets them leave."""
    name = f"{__name__}.{facts.config.mode}"
    __import__(name)  # one mode a run: the others are not loaded
    chosen: Callable[[Sequence[Any], BundleFacts], list[Any]] = sys.modules[name].apply
    return chosen(items, facts)


def replaced(items: Sequence[Any], changes: Iterable[tuple[Entry, Path, Object]]) -> list[Any]:
    """The items with other objects at some places: each an entry, a path inside its object, and what stands there now.

    What stands around a change is copied along the way only.
    """
    changed = list(items)
    for entry, path, new in changes:
        changed[entry.item] = put_in(changed[entry.item], (*entry.path, *path), new)
    return changed


def referring(each: VmFacts, facts: BundleFacts) -> Object:
    """The VM with its references: what inference made of it, and with `defaults: pinned` what admission would add."""
    return each.admitted if facts.config.defaults == "pinned" else each.resolution.vm


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
