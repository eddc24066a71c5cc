"""The form in which the API server returns a VM: what Go leaves out is gone, quantities are written as Go writes them.

Two objects in this form are equal where KubeVirt takes them for equal.
upstream: k8s.io/apimachinery/pkg/api/equality:Semantic
"""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.objects import Object
from krm_fn.base.paths import SCALARS, as_map
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
