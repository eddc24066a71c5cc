"""How a new manifest reaches the VM that is in the cluster: applied on the client's side, or put in its place."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable
from krm_fn.base.objects import Object
from krm_fn.base.paths import copy

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
