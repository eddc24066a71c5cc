"""The ControllerRevisions with an instancetype or a preference, as KubeVirt's VM controller stores them.

upstream: pkg/instancetype/revision/store.go:Store, pkg/instancetype/upgrade/handler.go:Upgrade
"""

from __future__ import annotations

from krm_fn.base.objects import Object, labels_of, metadata, name_of, namespace_of, text
from krm_fn.base.paths import Path, as_map, copy, get, is_set
from krm_fn.kubevirt.facts import Found
from krm_fn.kubevirt.releases import Release, Version
from krm_fn.kubevirt.resolve.matcher import API_VERSION, GROUP, Matcher
from krm_fn.kubevirt.resolve.revision import canonical_spec

KIND = "ControllerRevision"
VERSION = "v1beta1"
VERSION_LABEL = f"{GROUP}/object-version"
# The release since which the name of a revision has the version of the API.
VERSION_NAMED_SINCE: Version = (1, 3)
# The namespace of the uids that are derived from the content of a revision.
CONTENT_NAMESPACE = "b6d52a3c-2f0e-5c53-9a3f-0f3d6f1a7e55"
# The controller drops these from a stored object's metadata.
METADATA_DROPPED = ("labels", "annotations", "finalizers", "ownerReferences", "managedFields")
# The longest name of an object, and the longest value of a label, that the API server accepts.
LONGEST_NAME, LONGEST_LABEL = 253, 63


def status_path(matcher: Matcher) -> Path:
    return "status", matcher.status, "controllerRevisionRef", "name"


def is_current(revision: Object) -> bool:
    """True if KubeVirt considers the form of a revision current; it checks only the label.

    upstream: pkg/instancetype/upgrade/handler.go:IsObjectLatestVersion
    """
    return labels_of(revision).get(VERSION_LABEL) == VERSION


def status_counts(vm: Object, matcher: Matcher) -> bool:
    """True if the controller considers the VM's status to name a revision of this matcher, and so stores nothing.

    It checks no label, and not even whether there is a name.
    upstream: pkg/instancetype/revision/store.go:syncStatusWithMatcher
    """
    status, written = as_map(get(vm, ("status", matcher.status))), vm["spec"][matcher.field]
    return status.get("controllerRevisionRef") is not None and not any(
        is_set(written.get(key)) and written[key] != status.get(key) for key in ("name", "kind", "inferFromVolume")
    )


def revision_of(data: Object, *, owner: Object, release: Release) -> Object:
    """The ControllerRevision that holds an instancetype or preference for `owner`, a VM or a pool.

    upstream: pkg/instancetype/revision/store.go:CreateControllerRevision
    """
    meta = data["metadata"]
    uid, generation = text(meta.get("uid")), str(meta.get("generation", 0))
    name = name_of(owner) or text(metadata(owner).get("generateName")).rstrip("-.")
    version = VERSION if release.within(since=VERSION_NAMED_SINCE) else ""
    about: Object = {
        "name": "-".join(filter(None, (name, meta["name"], version))) + f"-{uid}-{generation}",
        "labels": {
            f"{GROUP}/object-generation": generation,
            f"{GROUP}/object-kind": data["kind"],
            f"{GROUP}/object-name": meta["name"],
            f"{GROUP}/object-uid": uid,
            VERSION_LABEL: VERSION,
        },
    }
    if namespace_of(owner):
        about["namespace"] = namespace_of(owner)
    return {"apiVersion": "apps/v1", "kind": KIND, "metadata": about, "data": data, "revision": 0}


def upgraded(revision: Object, matcher: Matcher, *, kind: str, spec: Object) -> Object:
    """The content of an older revision in the present form: `kind` and `spec` were read from it. The oldest have no metadata.

    upstream: pkg/instancetype/compatibility/compatibility.go:Decode
    """
    meta: Object = _kept(metadata(as_map(revision.get("data"))))
    if not text(meta.get("name")):
        meta, kind = {"name": f"old-version-of-{matcher.field}-object"}, matcher.kind
    if not meta.get("uid"):
        meta.pop("uid", None)
    if type(meta.get("generation")) is not int or not meta["generation"]:
        meta.pop("generation", None)  # Go does not write a zero
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": meta, "spec": canonical_spec(spec)}


def live(found: Found, *, owner: Object) -> Object:
    """The object as the controller stores it, with its uid there."""
    meta: Object = _kept(metadata(found.entry.obj)) if found.entry else {"name": found.ref.name}
    uid = meta.pop("uid", None)
    if type(meta.get("generation")) is not int:
        meta["generation"] = 1
    data = {"apiVersion": API_VERSION, "kind": found.ref.kind, "metadata": meta, "spec": canonical_spec(found.spec)}
    from_cluster = _is_uid(uid) and metadata(owner).get("uid")
    meta["uid"] = uid if from_cluster else content_uid(data)
    return data


def _kept(meta: Object) -> Object:
    return {key: copy(value) for key, value in meta.items() if key not in METADATA_DROPPED and value is not None}


def _is_uid(value: object) -> bool:
    """True for a uid that can be part of a name."""
    return isinstance(value, str) and value.isascii() and value.replace("-", "").isalnum() and value == value.lower()


def content_uid(data: Object) -> str:
    """A uid that depends on all parts of the data, and on nothing else."""
    from json import dumps

    from krm_fn.base.uuids import uuid_of

    return uuid_of(CONTENT_NAMESPACE, dumps(data, sort_keys=True, separators=(",", ":")))
