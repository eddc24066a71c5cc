"""Modes: what the renderer writes. Each mode is a module with `apply(items, facts) -> items`.

An item that does not change is returned as the same object. New items come last; `stages.Outcome` has the items that must
follow them.
"""

from __future__ import annotations

import sys

from krm_fn.base.annotations import Any, Iterable, Sequence
from krm_fn.base.bundle import Entry, value_of
from krm_fn.base.objects import Object, annotations_of, metadata
from krm_fn.base.paths import Path, put_in
from krm_fn.kubevirt.facts import Found
from krm_fn.kubevirt.settings import Config
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.vms import VmFacts

# The modes that return VMs without rendering them.
HANDING_ON = ("annotate", "snapshot")
# The prefix of the annotations in which the renderer writes about a VM.
PREFIX = "kubevirt-render.dev/"


def chosen(settings: Config) -> Any:
    """The module of the config's mode. A run has one; the others are not loaded."""
    name = f"{__name__}.{settings.mode}"
    __import__(name)
    return sys.modules[name]


def apply(items: Sequence[Any], facts: BundleFacts) -> list[Any]:
    """The items that the config's mode returns."""
    written: list[Any] = chosen(facts.config).apply(items, facts)
    if not facts.config.pod_size or facts.config.mode == "validate":
        return written
    from krm_fn.pipeline.modes import annotate  # few runs size pods

    return annotate.added(written, facts)


def replaced(items: Sequence[Any], changes: Iterable[tuple[Entry, Path, Object]]) -> list[Any]:
    """The items with new values at some places: each change is an entry, a path inside its object, and the new value.

    Only the maps and lists on the path of a change are copied.
    """
    changed = list(items)
    for entry, path, new in changes:
        changed[entry.item] = put_in(value_of(changed[entry.item]), (*entry.path, *path), new)
    return changed


def referring(each: VmFacts, facts: BundleFacts) -> Object:
    """The VM with its references, including inferred ones, and with `defaults: pinned` with the fields that admission adds."""
    return each.admitted if facts.config.defaults == "pinned" else each.resolution.vm


def annotated(vm: Object, notes: dict[str, str]) -> Object:
    """The VM with annotations added, or `vm` itself if it has them all; new ones come last."""
    given = annotations_of(vm)
    if all(given.get(key) == value for key, value in notes.items()):
        return vm
    return {**vm, "metadata": {**metadata(vm), "annotations": {**given, **notes}}}


def names(each: VmFacts) -> dict[str, str]:
    """Annotations with the objects that a VM's matchers refer to: `Kind/name`, `Kind/namespace/name` for namespaced kinds."""
    notes = {}
    for matcher, found in (("instancetype", each.resolution.instancetype), ("preference", each.resolution.preference)):
        if found:
            notes[PREFIX + matcher] = _name(found)
            if found.revision:
                notes[f"{PREFIX}{matcher}-revision"] = found.revision.name
    return notes


def _name(found: Found) -> str:
    return "/".join(filter(None, (found.ref.kind, found.ref.namespace, found.ref.name)))
