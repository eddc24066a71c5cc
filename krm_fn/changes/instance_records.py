"""The records of what makes instances without a VM: replica sets, and instances that nobody owns."""

from __future__ import annotations

from krm_fn.base.objects import Object, labels_of, metadata
from krm_fn.base.paths import as_map, get
from krm_fn.changes.causes import side_of_template
from krm_fn.changes.effects import LIVE, NEW, NEXT_START, changes_between, guest_change
from krm_fn.changes.records import NOTHING, refused_record
from krm_fn.changes.scaling import RELEASED, counts, scaled
from krm_fn.kubevirt.admission.selectors import missed
from krm_fn.kubevirt.holders import TEMPLATE
from krm_fn.kubevirt.updates import lone_instances
from krm_fn.kubevirt.updates.admission import SELECTOR, VALIDATING
from krm_fn.kubevirt.updates.admission import update_causes as causes_of_set
from krm_fn.kubevirt.updates.machine import World
from krm_fn.kubevirt.updates.starting import Start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.changes.pairs import Pair


NEW_ONLY, AT_NEXT_START = "newOnly", "atNextStart"


def replica_set_record(pair: Pair) -> Object:
    """The keys of a replica set's record: a changed template reaches only the instances that it creates from now on.

    upstream: pkg/virt-controller/watch/replicaset/replicaset.go:scale
    """
    old, new = pair.old.obj, pair.new.obj
    causes = causes_of_set(new if pair.how.new else old, new, pair.world) if pair.is_edited else ()
    if causes:
        return refused_record(causes, VALIDATING)
    paused = get(pair.new.obj, ("spec", "paused")) is True
    word = scaled(pair) if not paused else ""
    said = _of_templates(pair, *(as_map(get(each.obj, TEMPLATE)) for each in (pair.old, pair.new)))
    first = [RELEASED] if _is_released(pair) and not pair.how.new else [word] if word else []
    differs = "changes" in said or "startError" in said
    effect = [*first, *([AT_NEXT_START if pair.how.new else NEW_ONLY] if differs else [])]
    return {"effect": effect or [NOTHING], **_update(pair), **counts(pair), **said}


def _is_released(pair: Pair) -> bool:
    """True where the selector no longer finds the instances that exist: they stay, without an owner.

    upstream: pkg/controller/controller_ref_manager.go:ClaimVirtualMachineInstances
    """
    labels = labels_of(as_map(get(pair.old.obj, TEMPLATE)))
    before, after = (as_map(get(each.obj, SELECTOR)) for each in (pair.old, pair.new))
    return before != after and missed(after, labels) is not None


def instance_record(pair: Pair) -> Object:
    """The keys of an instance's record: its spec is fixed, labels and annotations are not."""
    old, new = pair.old.obj, pair.new.obj
    if pair.how.new:
        said = _of_templates(pair, old, new)
        differs = "changes" in said or "startError" in said
        return {"effect": [AT_NEXT_START] if differs else [NOTHING], **_update(pair), **said}
    live = _start(old, pair, pair.origin).running
    if live is None or not pair.is_edited:
        return {"effect": [NOTHING], **_update(pair)}
    causes = lone_instances.update_causes(old, new, live, apply=pair.how.apply)
    if causes:
        return refused_record(causes, VALIDATING)
    named = {**old, "metadata": metadata(new)}
    now = _start(named, pair, pair.origin).running
    sides = tuple(side_of_template(each, pair.origin, pair.owner) for each in (old, named))
    found = changes_between(live, now, (sides[0], sides[1]), LIVE) if now else []
    return {"effect": [LIVE] if found else [NOTHING], **_update(pair), **({"changes": found} if found else {})}


def _update(pair: Pair) -> Object:
    return {"update": {"sent": pair.is_sent, "allowed": True}}


def _of_templates(pair: Pair, old: Object, new: Object) -> Object:
    """What instances of both templates differ in."""
    was, now = _start(old, pair, pair.origin), _start(new, pair, pair.world)
    said: Object = {"startError": now.error} if now.error and now.error != was.error else {}
    if was.running and now.running:
        worlds = ((old, pair.origin), (new, pair.world))
        base, head = (side_of_template(template, world, pair.owner) for template, world in worlds)
        when = NEXT_START if pair.how.new else NEW
        found: Object = {"changes": changes_between(was.running, now.running, (base, head), when)}
        found["guest"] = guest_change(was.running, now.running)
        said = {**said, **{key: value for key, value in found.items() if value}}
    return {**said, **pair.sizes.of_instances(pair.new.obj, (was.running, pair.origin), (now.running, pair.world))}


def _start(template: Object, pair: Pair, world: World) -> Start:
    owner = pair.owner
    return lone_instances.start_of(template, owner.name, owner.namespace, world)
