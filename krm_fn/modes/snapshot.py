"""Mode `snapshot`: what a VM refers to is stored in a ControllerRevision beside it, and its matchers point there.

Rendering a snapshotted bundle gives the same VM after the instancetype or preference was changed or deleted. Names, labels and
payload are those that the VM controller writes (releases from 1.3 on), so that the cluster reads them too. An object without a
uid, as all are in git, gets a stable one derived from its content: the same bundle gives the same bytes.

upstream: pkg/instancetype/revision/store.go:CreateControllerRevision
"""

from __future__ import annotations

from krm_fn.bundle import effective_namespace
from krm_fn.modes import referring, replaced
from krm_fn.paths import copy, put
from krm_fn.resource import Ref, metadata, name_of, namespace_of, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from krm_fn.facts import BundleFacts, Found
    from krm_fn.resource import Object

GROUP, VERSION = "instancetype.kubevirt.io", "v1beta1"
# The namespace of the uids derived from an object's content.
CONTENT_NAMESPACE = "b6d52a3c-2f0e-5c53-9a3f-0f3d6f1a7e55"
# What a stored object's metadata keeps: the controller drops the rest.
METADATA_DROPPED = ("labels", "annotations", "finalizers", "ownerReferences", "managedFields")


def leave(items: Sequence[Any], facts: BundleFacts) -> list[Any]:
    present = {(effective_namespace(item), name_of(item)) for item in items if _is_revision(item)}
    added: list[Object] = []
    changes = []
    for each in facts.vms:
        if each.resolution.errors:
            continue
        vm = referring(each, facts)
        for matcher, found in (("instancetype", each.resolution.instancetype), ("preference", each.resolution.preference)):
            if found and not found.revision and found.ref.api_version.startswith(f"{GROUP}/"):
                revision = revision_of(found, owner=each.entry.obj)
                vm = _pointed(vm, matcher, name_of(revision))
                key = effective_namespace(revision), name_of(revision)
                if key not in present:
                    present.add(key)
                    added.append(revision)
        if vm is not each.vm:
            changes.append((each.entry, each.prefix, vm))
    return [*replaced(items, changes), *added]


def _is_revision(item: object) -> bool:
    return isinstance(item, dict) and item.get("kind") == "ControllerRevision"


def _pointed(vm: Object, matcher: str, revision: str) -> Object:
    pointed = {**vm, "spec": {**vm["spec"], matcher: dict(vm["spec"][matcher])}}
    pointed["spec"][matcher]["revisionName"] = revision
    return pointed


def revision_of(found: Found, *, owner: Object) -> Object:
    """The ControllerRevision that holds what a matcher resolved to. `owner` is the VM, or the pool that makes VMs."""
    stored = _stored(found)
    meta = stored["metadata"]
    revision: Object = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": f"{name_of(owner)}-{meta['name']}-{VERSION}-{meta['uid']}-{meta['generation']}",
            "labels": {
                f"{GROUP}/object-generation": str(meta["generation"]),
                f"{GROUP}/object-kind": stored["kind"],
                f"{GROUP}/object-name": meta["name"],
                f"{GROUP}/object-uid": meta["uid"],
                f"{GROUP}/object-version": VERSION,
            },
        },
        "data": stored,
        "revision": 0,
    }
    if namespace_of(owner):
        revision["metadata"]["namespace"] = namespace_of(owner)
    if text(metadata(owner).get("uid")):
        put(revision, ("metadata", "ownerReferences"), [_owner_reference(owner)])
    return revision


def _owner_reference(owner: Object) -> Object:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": metadata(owner)["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _stored(found: Found) -> Object:
    """The object as the controller stores it: v1beta1, its metadata without what doesn't matter for expansion."""
    given = metadata(found.entry.obj) if found.entry else {"name": found.ref.name}
    meta = {key: copy(value) for key, value in given.items() if key not in METADATA_DROPPED}
    meta["uid"] = text(meta.get("uid")) or stable_uid(found.ref, found.spec)
    generation = meta.get("generation")
    meta["generation"] = generation if isinstance(generation, int) and not isinstance(generation, bool) else 1
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": found.ref.kind, "metadata": meta, "spec": copy(found.spec)}


def stable_uid(ref: Ref, spec: Object) -> str:
    """A uid that only the object's kind, name, namespace and content decide."""
    from json import dumps
    from uuid import UUID, uuid5

    content = dumps([ref.kind, ref.namespace, ref.name, spec], sort_keys=True, separators=(",", ":"))
    return str(uuid5(UUID(CONTENT_NAMESPACE), content))
