"""What a VM keeps of its instancetype and preference although these have changed, and what an expanding policy does instead."""

from __future__ import annotations

from krm_fn.base.objects import Object
from krm_fn.base.paths import as_map, get
from krm_fn.base.redaction import redact
from krm_fn.base.value import Value
from krm_fn.changes.effects import differing
from krm_fn.kubevirt.facts import Found, Resolution
from krm_fn.kubevirt.resolve import MATCHERS, Matcher
from krm_fn.kubevirt.updates.machine import Machine, World
from krm_fn.kubevirt.updates.references import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.updates.transition import Transition


EDITED, REMOVED = "edited", "removed"

MOVE = "to move it, refer to an object of another name, or name a ControllerRevision of the new one in revisionName"
KEEPS = {
    EDITED: "keeps {object} as stored, also after a restart; new VMs get the new one; " + MOVE,
    REMOVED: "keeps {object} as stored, also after a restart; the object is gone, so new VMs do not start",
}
BY_NAME = "is pinned by revisionName, so the edit of {object} does not reach it; to move it, change or remove revisionName"
# What an expanding policy comes to, by whether the update is refused.
EXPANDED = {
    True: "has {object} written into it by the policy {policy}; the update is refused, because the manifest names it again;"
    " write the expanded VM into the manifest",
    False: "has {object} written into it by the policy {policy}; the cluster expands it again, with the object of today",
}


class KeptReferences(Value):
    """A VM's references on both sides: the manifests, the clusters, and what the VM refers to in the end.

    `refused`: admission refuses the update. `expanded`: the references are written into the VM.
    """

    old: Object
    new: Object
    origin: World
    world: World
    vm: Object
    resolution: Resolution
    refused: bool = False
    expanded: bool = False


def kept_by(found: Transition) -> KeptReferences:
    """What a VM keeps that went through an update."""
    return KeptReferences(
        old=found.old,
        new=found.new,
        origin=found.origin,
        world=found.world,
        vm=found.after.vm,
        resolution=find(found.after, found.world),
        refused=not found.verdict.allowed,
        expanded=not found.after.pins,
    )


def kept_untouched(vm: Object, origin: World, world: World) -> KeptReferences:
    """What a VM keeps that no update reaches."""
    return KeptReferences(old=vm, new=vm, origin=origin, world=world, vm=vm, resolution=find(Machine(vm=vm), origin))


def keeps(found: KeptReferences) -> list[Object]:
    """One entry for each reference whose object has changed and does not reach the VM as one may expect."""
    entries = (_entry(found, matcher) for matcher in MATCHERS)
    return [entry for entry in entries if entry]


def _entry(found: KeptReferences, matcher: Matcher) -> Object | None:
    old, new = (_by_name(vm, matcher, world) for vm, world in ((found.old, found.origin), (found.new, found.world)))
    if old is None or _named(found.old, matcher) != _named(found.new, matcher):
        return None
    change = REMOVED if new is None else EDITED if new.spec != old.spec else ""
    policy = found.world.cluster.expanding_policy(found.world.release)
    if not change or (policy and change == REMOVED):
        return None
    entry: Object = {"matcher": matcher.field, "kind": old.ref.kind, "name": old.ref.name, "change": change}
    if policy and found.expanded:
        return {**entry, "policy": policy, "message": _worded(EXPANDED[found.refused], old, policy)}
    kept = getattr(found.resolution, matcher.field)
    if kept is None or (new is not None and not differing(kept.spec, new.spec)):
        return None
    return {**entry, **_kept(kept, new, found.vm, matcher)}


def _kept(kept: Found, new: Found | None, vm: Object, matcher: Matcher) -> Object:
    """What is kept: the fields with both values, and what that means."""
    fields = [
        {
            "field": f"spec{each.pointer.replace('/', '.')}",
            **{
                key: redact(value, each.steps)
                for key, value in (("kept", each.before), ("new", each.after))
                if value is not None
            },
        }
        for each in (differing(kept.spec, new.spec) if new else ())
    ]
    pinned = as_map(get(vm, ("spec", matcher.field))).get("revisionName")
    words = BY_NAME if pinned and new else KEEPS[EDITED if new else REMOVED]
    entry: Object = {"fields": fields} if fields else {}
    if pinned:
        entry["revisionName"] = pinned
    return {**entry, "message": _worded(words, kept)}


def _worded(words: str, found: Found, policy: str = "") -> str:
    return words.format(object=f"{found.ref.kind} {found.ref.name}", policy=policy)


def _named(vm: Object, matcher: Matcher) -> tuple[object, ...]:
    written = as_map(get(vm, ("spec", matcher.field)))
    return tuple(written.get(key) for key in ("name", "inferFromVolume"))


def _by_name(vm: Object, matcher: Matcher, world: World) -> Found | None:
    """What a manifest names today, whatever revision it is pinned to."""
    written = get(vm, ("spec", matcher.field))
    if not isinstance(written, dict):
        return None
    bare = {key: value for key, value in written.items() if key != "revisionName"}
    found = find(Machine(vm={**vm, "spec": {**vm["spec"], matcher.field: bare}}), world)
    named: Found | None = getattr(found, matcher.field)
    return named
