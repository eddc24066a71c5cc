"""What Flux sends to the API server for an object that it has built, and how it applies it.

Objects of Kubernetes' own kinds pass through Go's types. Here are the kinds that repositories with VMs have most: what Go
writes in any case, and what it does not know at the top. Below that, unknown and empty fields are kept here.
upstream: fluxcd/pkg ssa/normalize/normalize.go, ssa/manager_apply.go; kustomize-controller apply
"""

from __future__ import annotations

import base64
from typing import Any

from krm_fn.base.objects import Object, annotations_of, kind_of, labels_of, metadata, text
from krm_fn.base.paths import as_list, as_map
from krm_fn.flux.shapes import ANY, LABELS, NUMBER, TEXT, TEXTS, TRUTH, Shape, WrongTypeError, shaped

GROUP = "kustomize.toolkit.fluxcd.io"
# The ways of applying an object, by its labels and annotations. The first one that holds counts; values may be in any case.
ACTIONS = (
    (f"{GROUP}/reconcile", "disabled", "skip"),
    (f"{GROUP}/ssa", "ignore", "skip"),
    (f"{GROUP}/ssa", "ifnotpresent", "ifNotPresent"),
    (f"{GROUP}/ssa", "merge", "merge"),
    (f"{GROUP}/force", "enabled", "force"),
)

METADATA: dict[str, Shape] = {
    **dict.fromkeys(("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion"), TEXT),
    **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), TEXT),
    **dict.fromkeys(("generation", "deletionGracePeriodSeconds"), NUMBER),
    **dict.fromkeys(("labels", "annotations"), LABELS),
    "ownerReferences": [ANY],
    "finalizers": TEXTS,
    "managedFields": [ANY],
}
HEAD: dict[str, Shape] = {"apiVersion": TEXT, "kind": TEXT, "metadata": METADATA}
DATA = {**HEAD, "data": LABELS, "immutable": TRUTH}
WITH_SPEC: dict[str, Shape] = {**HEAD, "spec": ANY}
# What stands at the top of a kind.
TYPES: dict[tuple[str, str], dict[str, Shape]] = {
    ("v1", "ConfigMap"): {**DATA, "binaryData": LABELS},
    ("v1", "Secret"): {**DATA, "stringData": LABELS, "type": TEXT},
    **{("v1", kind): WITH_SPEC for kind in ("Namespace", "Service", "Pod", "PersistentVolumeClaim")},
    **{("apps/v1", kind): WITH_SPEC for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")},
    ("batch/v1", "Job"): WITH_SPEC,
}
# The keys of a spec that Go writes in any case.
ALWAYS = {
    "Deployment": ("strategy",),
    "StatefulSet": ("updateStrategy",),
    "DaemonSet": ("updateStrategy",),
    "PersistentVolumeClaim": ("resources",),
}
POD, TEMPLATES = "Pod", ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job")
CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
PROTOCOL = {"protocol": "TCP"}


def action(obj: Object) -> str:
    """How Flux applies an object: `skip`, `ifNotPresent`, `merge`, `force`; "" for a plain server-side apply.

    `force`: an object that the API server refuses to change is deleted and created anew.
    """
    own = (labels_of(obj), annotations_of(obj))
    return next((done for key, word, done in ACTIONS if any(text(each.get(key)).lower() == word for each in own)), "")


def applied(obj: Object) -> Object:
    """An object as it is sent, without the labels that name its owner: without status, and in Go's form where Go has a type."""
    sent = {key: value for key, value in _typed(obj).items() if key != "status" or kind_of(obj) == "CustomResourceDefinition"}
    names = {key: value for key, value in metadata(sent).items() if key != "creationTimestamp"}
    if "labels" in names:
        names["labels"] = added_to(names["labels"])
    return {**sent, "metadata": names}


def added_to(given: Any) -> Object:
    """The labels or annotations that are left when Flux adds some: null is empty, and one that is no text costs all of them."""
    texts = {key: "" if value is None else value for key, value in as_map(given).items()}
    return texts if all(isinstance(value, str) for value in texts.values()) else {}


def _typed(obj: Object) -> Object:
    """An object that passed through Go's type; one whose values do not fit stays as it is."""
    kind = kind_of(obj)
    shape = TYPES.get((text(obj.get("apiVersion")), kind))
    if shape is None:
        return obj
    try:
        made: Object = shaped(obj, shape)
    except WrongTypeError:
        return obj
    if kind == "Secret":
        return _without_text(made)
    return {**made, "spec": _spec(kind, as_map(made.get("spec")))} if shape is WITH_SPEC else made


def _without_text(secret: Object) -> Object:
    """A Secret whose texts are data."""
    texts = as_map(secret.get("stringData"))
    data = {key: base64.b64encode(value.encode()).decode() for key, value in texts.items()}
    left = {key: value for key, value in secret.items() if key != "stringData"}
    return {**left, "data": {**as_map(secret.get("data")), **data}} if data else left


def _spec(kind: str, spec: Object) -> Object:
    made = {**{key: {} for key in ALWAYS.get(kind, ())}, **_without_nulls(spec)}
    if kind == POD:
        return _pod(made)
    if kind in TEMPLATES and "template" in made:
        template = as_map(made["template"])
        return {**made, "template": {**template, "spec": _pod(as_map(template.get("spec")))}}
    if kind == "Service" and "ports" in made:
        return {**made, "ports": [{"targetPort": 0, **PROTOCOL, **as_map(each)} for each in as_list(made["ports"])]}
    return made


def _pod(spec: Object) -> Object:
    """The spec of a pod, whose containers have resources, and the ports of its main ones a protocol."""
    made = dict(spec)
    for key in CONTAINERS:
        if key in made:
            made[key] = [_container(as_map(each), is_main=key == "containers") for each in as_list(made[key])]
    return made


def _container(given: Object, *, is_main: bool) -> Object:
    made = {"resources": {}, **given}
    if is_main and "ports" in made:
        made["ports"] = [{**PROTOCOL, **as_map(each)} for each in as_list(made["ports"])]
    return made


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value
