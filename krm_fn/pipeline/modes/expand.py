"""Mode `expand`: applies instancetype and preference to every VM that can be rendered, and removes its matchers.

An instance without an owner gets its presets. With `instances: include`, the instance that each VM would start as comes last,
with a mark so that hosts do not apply it.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator, Sequence
from krm_fn.base.bundle import Entry, effective_namespace
from krm_fn.base.objects import Object, kind_of, name_of
from krm_fn.base.paths import Path
from krm_fn.pipeline.modes import PREFIX, annotated, names, replaced
from krm_fn.rules.facts.bundles import BundleFacts


def apply(items: Sequence[Any], facts: BundleFacts) -> list[Any]:
    changed = replaced(items, _patched(facts) if facts.patched or facts.unpatched else changes(facts))
    return [*changed, *_previews(facts)]


def changes(facts: BundleFacts) -> Iterator[tuple[Entry, Path, Object]]:
    for each in facts.vms:
        vm = each.rendered
        if vm is not None and facts.config.provenance and each.expansion:
            vm = annotated(vm, {**names(each), f"{PREFIX}kubevirt-version": str(each.release)})
        if vm is not None and vm is not each.vm:
            yield each.entry, each.prefix, vm
    for one in facts.instances:
        if one.rendered is not one.entry.obj:
            yield one.entry, (), one.rendered


def _patched(facts: BundleFacts) -> Iterator[tuple[Entry, Path, Object]]:
    """The changes, with what patches make of some objects. An object to which a patch can't be applied does not change."""
    others = {*(id(each.entry) for each in facts.patched), *(id(each.entry) for each in facts.unpatched)}
    for entry, path, new in changes(facts):
        if id(entry) not in others:
            yield entry, path, new
    for each in facts.patched:
        yield each.entry, (), each.obj


def _previews(facts: BundleFacts) -> list[Object]:
    """The instances of the VMs, without those that the bundle already holds from an earlier run."""
    present = {
        (effective_namespace(entry.obj), name_of(entry.obj))
        for entry in facts.bundle.of_kind("VirtualMachineInstance", "kubevirt.io")
    }
    previews = []
    for each in facts.vms:
        instance = each.instance
        if instance is not None and (effective_namespace(instance), name_of(instance)) not in present:
            previews.append(annotated(instance, {f"{PREFIX}instance-of": kind_of(each.entry.obj)}))
    return previews
