"""The form in which the API server returns a VM: what Go leaves out is gone, quantities are written as Go writes them.

Two objects in this form are equal where KubeVirt takes them for equal.

A new manifest reaches the VM that is in the cluster applied on the client's side, or put in its place.

upstream: k8s.io/apimachinery/pkg/api/equality:Semantic
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable
from krm_fn.base.objects import Object
from krm_fn.base.paths import SCALARS, as_map, copy
from krm_fn.base.quantity import canonical
from krm_fn.kubevirt.holders import TEMPLATE

# Plain fields of Go, of which a zero is left out: the key, and the key above it where the name alone does not tell.
PLAIN = frozenset(
    (
        "cores",
        "sockets",
        "threads",
        "maxSockets",
        "dedicatedCpuPlacement",
        "isolateEmulatorThread",
        "overcommitGuestOverhead",
        "disableHotplug",
        "logical",
        "physical",
        "reservation",
        "hotpluggable",
        "endOfInterrupt",
        "hidden",
        "acpiIndex",
    )
)
PLAIN_BELOW = frozenset(
    (("disk", "readonly"), ("lun", "readonly"), ("multus", "default"), ("persistentVolumeClaim", "readOnly"))
)
QUANTITIES = frozenset((("memory", "guest"), ("memory", "maxGuest"), ("emptyDisk", "capacity"), ("hostDisk", "capacity")))
AMOUNTS = ("requests", "limits")
# The last keys of fields whose scalars are not kept as they are.
OF_GO = PLAIN | {key for _, key in (*PLAIN_BELOW, *QUANTITIES)}
# Maps of any keys, of which an empty one is none.
MAPS = ("nodeSelector", "labels", "annotations", *AMOUNTS)


def stored(vm: Object) -> Object:
    """A copy of a VM in the form in which the API server returns it."""
    copied: Object = _without_unset(vm, "")
    spec = as_map(as_map(as_map(copied.get("spec")).get("template")).get("spec"))
    if spec:
        domain = spec.setdefault("domain", {})
        for key in ("devices", "resources") if isinstance(domain, dict) else ():
            domain.setdefault(key, {})
    return copied


def stored_spec(spec: Object) -> Object:
    """A copy of an instance's spec in the same form."""
    inside: Object = stored({"spec": {TEMPLATE[1]: {"spec": spec}}})
    found: Object = inside["spec"]["template"]["spec"]
    return found


def _without_unset(value: Any, above: str) -> Any:
    if isinstance(value, list):
        return [_without_unset(each, above) for each in value]
    if not isinstance(value, dict):
        return value
    if above in AMOUNTS:
        return {key: canonical(amount) for key, amount in value.items() if amount is not None}
    found = {}
    for key, each in value.items():
        if each.__class__ not in SCALARS:
            kept = _without_unset(each, key)
            if kept or (kept == {} and key not in MAPS):
                found[key] = kept
        elif each is not None and each != "" and (key not in OF_GO or _is_kept(key, each, above)):
            found[key] = canonical(each) if (above, key) in QUANTITIES else each
    return found


def _is_kept(key: str, value: Any, above: str) -> bool:
    """False for a zero of a plain field."""
    return bool(value) or not (key in PLAIN or (above, key) in PLAIN_BELOW)


# What becomes of the VM in the cluster, from the old manifest, the new one, and that VM. None if nothing is sent.
Writer = Callable[[Object, Object, Object], Object | None]


# The parts of a manifest that an update writes; `status` is written by the controller alone.
PARTS = ("metadata", "spec")


def merge_patch(old: Object, new: Object, live: Object) -> Object:
    """The JSON merge patch of a three-way apply: `old` is the manifest applied last. {} where nothing is sent.

    What neither manifest names stays as it is in `live`; a list is replaced as a whole.
    upstream: k8s.io/apimachinery/pkg/util/jsonmergepatch:CreateThreeWayJSONMergePatch
    """
    patch: Object = {}
    for key, value in new.items():
        here, before = live.get(key), old.get(key)
        if isinstance(value, dict) and isinstance(here, dict):
            below = merge_patch(before if isinstance(before, dict) else {}, value, here)
            if below:
                patch[key] = below
        elif value != here or type(value) is not type(here) or (value is None and old.get(key, patch) is not None):
            patch[key] = copy(value)
    return {**patch, **{key: None for key in old if key not in new}}


def patched(live: Any, patch: Any) -> Any:
    """The value after a JSON merge patch; neither is changed. Nulls of lists go, too."""
    if not isinstance(patch, dict):
        return without_nulls(patch)
    result = {**live} if isinstance(live, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = patched(result.get(key), value)
    return result


def without_nulls(value: Any) -> Any:
    """A copy of a value without the nulls in it."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value if each is not None] if isinstance(value, list) else value


def applied(old: Object, new: Object, live: Object) -> Object | None:
    """The VM after the new manifest is applied, None where the apply sends nothing."""
    patch = merge_patch(_parts(old), _parts(new), _parts(live))
    return patched(live, patch) if patch else None


def by_replacement(_: Object, new: Object, __: Object) -> Object:
    """The VM after the new manifest is put in its place, as a writer."""
    return replaced(new)


def not_at_all(_: Object, __: Object, ___: Object) -> None:
    """Nothing is written."""


def replaced(new: Object) -> Object:
    """The VM after the new manifest is put in its place: what only the cluster has written is gone, but for the status."""
    result: Object = copy(new)
    result.pop("status", None)
    return result


def _parts(vm: Object) -> Object:
    return {key: vm[key] for key in PARTS if key in vm}
