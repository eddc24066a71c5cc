"""ControllerRevisions that hold an instancetype or a preference in an old form, which only older releases read.

upstream: pkg/instancetype/upgrade, pkg/instancetype/compatibility/compatibility.go
"""

from __future__ import annotations

from krm_fn.base.objects import labels_of, name_of, text
from krm_fn.base.paths import as_map
from krm_fn.kubevirt.resolve import decode
from krm_fn.kubevirt.resolve.flavors import READS_REVISIONS
from krm_fn.kubevirt.resolve.matcher import API_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.kubevirt.resolve import Payload
    from krm_fn.migrate.migration import Migration

VERSION_LABEL = "instancetype.kubevirt.io/object-version"


def rewrite_revision(obj: Object, entry: Entry, migration: Migration) -> Object:
    """The revision with its payload as a v1beta1 object; the same object if it holds none of an older form."""
    data = as_map(obj.get("data"))
    if data.get("apiVersion") == API_VERSION:
        return obj
    payload = decode(data, READS_REVISIONS)
    if isinstance(payload, str):
        return obj
    rewritten = {**obj, "data": _stored(data, payload, *_meant(entry, payload, migration))}
    if VERSION_LABEL in labels_of(obj):
        labels = {**labels_of(obj), VERSION_LABEL: API_VERSION.rpartition("/")[2]}
        rewritten["metadata"] = {**obj["metadata"], "labels": labels}
    return rewritten


def _stored(data: Object, payload: Payload, kind: str, name: str) -> Object:
    if payload.kind:
        return {**data, "apiVersion": API_VERSION, "spec": payload.spec}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": payload.spec}


def _meant(entry: Entry, payload: Payload, migration: Migration) -> tuple[str, str]:
    """Kind and name of the object that a spec without them was stored for, from the first VM that refers to it."""
    pointer = migration.pointer(name_of(entry.obj), payload.matcher.field)
    if pointer:
        matcher, written = pointer
        number = matcher.kinds.index(matcher.kind_named(text(written.get("kind"))) or matcher.cluster_kind)
        return payload.matcher.kinds[number], text(written.get("name"))
    # the names that upstream's own upgrade uses if no VM refers to it
    return payload.matcher.cluster_kind, f"old-version-of-{payload.matcher.field}-object"
