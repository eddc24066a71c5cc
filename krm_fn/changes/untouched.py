"""VMs that a change does not reach, which is known without following them through an update: most VMs of a repository.

Nothing is sent for a manifest that stays as it is, and the controller finds the revisions that it has stored. So such a VM
stays as it is, unless the cluster around it changes.
"""

from __future__ import annotations

from krm_fn.base.objects import Object
from krm_fn.base.paths import as_map, get
from krm_fn.kubevirt.facts import Found, Resolution
from krm_fn.kubevirt.resolve import MATCHERS
from krm_fn.kubevirt.updates.machine import Machine, World
from krm_fn.kubevirt.updates.references import find
from krm_fn.kubevirt.updates.transition import pins_of

# What a VM reads of the cluster beside its objects.
SETTINGS = ("cluster", "release", "update_methods")


def is_untouched(old: Object, new: Object, origin: World, world: World) -> bool:
    """True where applying a manifest changes nothing for its VM, whatever else the change does."""
    if old != new or any(getattr(origin, name) != getattr(world, name) for name in SETTINGS):
        return False
    if pins_of(old) or origin.presets or world.presets or world.cluster.expanding_policy(world.release):
        return False
    written = [as_map(get(new, ("spec", matcher.field))) for matcher in MATCHERS]
    return not any(each.get("inferFromVolume") for each in written) and _finds_the_same(new, origin, world)


def starts_the_same(old: Object, new: Object, origin: World, world: World) -> bool:
    """True where a VM that is created starts the same on both sides: all that it is made of is the same."""
    if old != new or any(getattr(origin, name) != getattr(world, name) for name in SETTINGS):
        return False
    if pins_of(old) or origin.presets or world.presets:
        return False
    before, after = (find(Machine(vm=new), each) for each in (origin, world))
    same = (before.errors, before.vm) == (after.errors, after.vm)
    return same and all(_spec(before, matcher.field) == _spec(after, matcher.field) for matcher in MATCHERS)


def _spec(found: Resolution, field: str) -> tuple[object, ...] | None:
    source: Found | None = getattr(found, field)
    return (source.spec, source.table) if source else None


def _finds_the_same(vm: Object, origin: World, world: World) -> bool:
    """True where the references lead somewhere, and revisions that the manifest names hold the same on both sides."""
    machine = Machine(vm=vm)
    before = find(machine, origin)
    if before.errors:
        return False
    if not any(get(vm, ("spec", matcher.field, "revisionName")) for matcher in MATCHERS):
        return True
    after = find(machine, world)
    return not after.errors and all(
        _spec(before, matcher.field) == _spec(after, matcher.field)
        for matcher in MATCHERS
        if get(vm, ("spec", matcher.field, "revisionName"))
    )
