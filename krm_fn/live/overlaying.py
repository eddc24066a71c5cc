"""A cluster after git is applied to it: each object of git in the manner of what delivers it."""

from __future__ import annotations

from krm_fn.base.annotations import Iterable, Sequence
from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import Object, annotations_of, kind_of, labels_of, metadata, name_of, text
from krm_fn.base.paths import get, put_in
from krm_fn.base.placeholders import may_be_in, open_values
from krm_fn.base.value import Value
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.updates.stored_form import stored
from krm_fn.live.applying import CLIENT_SIDE, applied, body
from krm_fn.live.dumps import VM, Key, is_machine, key_of
from krm_fn.live.merging import compared, is_same, place_of
from krm_fn.live.owners import (
    BEFORE,
    CLIENT_SIDE_APPLY,
    LAST_APPLIED,
    ApplyConflictError,
    ApplyRefusedError,
    owners_of,
    text_of,
)

REFUSED = "the API server refuses this value once the manifest is applied; correct it in git"
# What Argo CD writes into objects to know them again.
ARGOCD = "argocd-controller"
TRACKED = ("app.kubernetes.io/instance", "argocd.argoproj.io/instance", "argocd.argoproj.io/tracking-id")
# The managers that are people: nothing changes their fields back.
BY_HAND = ("kubectl", BEFORE)


class Manner(Value):
    """How something applies objects: see `applying.applied`. `labels` are what it adds to each object.

    `prunes` is the name of the delivery, if it deletes objects that it has applied and git no longer has.
    """

    manner: str = CLIENT_SIDE
    manager: str = CLIENT_SIDE_APPLY
    migrate: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    prunes: str = ""
    force: bool = False


class Overlay(Value):
    """The objects of a cluster after git is applied to it.

    `refused` says at which stage an apply fails and why: `update` of a record of `diff`. `contested` are the fields that git
    sets and another manager holds. Both are by key. `unmanaged` are the machines that git does not have. `ownerless`: the dump
    was made without managed fields, so it is not known what git no longer names.
    """

    items: list[Object]
    refused: dict[Key, Object]
    contested: dict[Key, list[Object]]
    unmanaged: list[Object]
    ownerless: bool = False


def overlaid(live: Sequence[Object], units: Iterable[tuple[Manner, Sequence[Object]]], release: Release) -> Overlay:
    """The cluster after the objects of some units are applied to it, each unit in its manner.

    An object that stays as it is stays the same value.
    """
    there = {key_of(obj): obj for obj in live}
    after, refused, contested, given = dict(there), {}, {}, set()
    pruning: dict[Manner, None] = {}
    for manner, items in units:
        pruning.setdefault(manner)
        for obj in items:
            key = key_of(obj)
            given.add(key)
            old = there.get(key)
            try:
                after[key] = _stored(old, _filled(obj, old), manner, release) if old else obj
            except ApplyRefusedError as error:
                refused[key] = _refused("schema", (_cause(each["field"], REFUSED) for each in error.causes))
            except ApplyConflictError as error:
                refused[key] = _refused("conflict", (_cause(each["field"], _held(each["manager"])) for each in error.conflicts))
            if old and after[key] is not old and (found := _contested(old, after[key], manner, release)):
                contested[key] = found
    pruned = {key for key, obj in there.items() if key not in given and any(_prunes(manner, obj) for manner in pruning)}
    return Overlay(
        items=[obj for key, obj in after.items() if key not in pruned],
        refused=refused,
        contested=contested,
        unmanaged=[_named(obj) for key, obj in there.items() if key not in {*given, *pruned} and is_machine(obj)],
        ownerless=any(key in there and not metadata(there[key]).get("managedFields") for key in given),
    )


def _prunes(manner: Manner, obj: Object) -> bool:
    """True for an object that the tool has applied, and deletes once git no longer has it."""
    if not manner.prunes:
        return False
    if manner.labels:
        return all(labels_of(obj).get(key) == value for key, value in manner.labels)
    marks = {**annotations_of(obj), **labels_of(obj)}
    return any(text(marks.get(key)).partition(":")[0] == manner.prunes for key in TRACKED)


def _named(obj: Object) -> Object:
    return {"kind": kind_of(obj), "namespace": effective_namespace(obj), "name": name_of(obj)}


def _refused(stage: str, causes: Iterable[Object]) -> Object:
    return {"sent": True, "allowed": False, "stage": stage, "causes": list(causes)}


def _cause(field: str, message: str) -> Object:
    return {"field": field.lstrip("."), "path": field.lstrip("."), "message": message}


def _held(manager: str) -> str:
    return f"{manager} holds this field and has another value; agree on one, or apply by force"


def _sent(obj: Object, live: Object, manner: Manner) -> Object:
    """The object with what the tool adds to it: its own labels, and the marks by which it knows the live one."""
    added: dict[str, Object] = {"labels": dict(manner.labels)}
    if manner.manager == ARGOCD:
        for key, given in (("labels", labels_of(live)), ("annotations", annotations_of(live))):
            added[key] = {**added.get(key, {}), **{name: given[name] for name in TRACKED if name in given}}
    own = {"labels": labels_of(obj), "annotations": annotations_of(obj)}
    marks = {key: {**each, **own[key]} for key, each in added.items() if each}
    return {**obj, "metadata": {**metadata(obj), **marks}} if marks else obj


def _filled(obj: Object, live: Object) -> Object:
    """The object with the live value in place of a placeholder: nobody knows another one."""
    for path, _ in open_values(obj) if may_be_in(obj) else ():
        if (value := get(live, path)) is not None and isinstance(get(obj, path), str):
            obj = put_in(obj, path, value)
    return obj


def _stored(live: Object, obj: Object, manner: Manner, release: Release) -> Object:
    """The live object after the apply, with the managed fields and the annotation of kubectl that it has now."""
    ownerless = not metadata(live).get("managedFields")
    made = applied(
        live,
        _sent(obj, live, manner),
        manner=manner.manner,
        manager=manner.manager,
        force=manner.force or ownerless,
        migrate="" if ownerless else manner.migrate,
        release=release,
    )
    if is_same(_written(live), _written(made)):
        return live
    kept = {"annotations": {key: each for key, each in annotations_of(made).items() if key != LAST_APPLIED}}
    if LAST_APPLIED in annotations_of(live):
        kept["annotations"][LAST_APPLIED] = annotations_of(live)[LAST_APPLIED]
    named = {key: each for key, each in {**metadata(made), **kept}.items() if key != "managedFields" and each != {}}
    fields = {} if ownerless else {"managedFields": metadata(live)["managedFields"]}
    return {**made, "metadata": {**named, **fields}}


def _written(obj: Object) -> Object:
    """What users write of an object, as the API server has it; empty parts of the metadata are none."""
    found = body(stored(obj) if kind_of(obj) == VM else obj)
    named: dict[str, Object] = found.pop("metadata", {})
    texts = {
        key: {name: each for name, each in given.items() if name != LAST_APPLIED}
        for key, given in named.items()
        if isinstance(given, dict)
    }
    return {**found, "metadata": {key: each for key, each in {**named, **texts}.items() if each}}


def _contested(live: Object, after: Object, manner: Manner, release: Release) -> list[Object]:
    """The fields that the apply changes and that another program holds, which may change them back."""
    written = compared(body(live), body(after), place_of(after, release)).written
    return [
        {"manager": owner.manager, "field": text_of(path).lstrip(".")}
        for owner in owners_of(live)
        if not (owner.subresource or owner.manager == manner.manager or owner.manager.startswith(BY_HAND))
        for path in sorted(owner.fields & written)
    ]
