"""A manifest of a VM, a patch of one, and a list of JSON Patch operations, changed as the VM was converted. Pure.

The base and each patch lose what the instancetype gives. A patch whose VM gets another instancetype than the base says that.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import Path, as_map, copy, drop, get, put
from krm_fn.converting.conversion import SIZED
from krm_fn.kubevirt.expand import apply
from krm_fn.kubevirt.holders import INSTANCE_SPEC, TEMPLATE
from krm_fn.kubevirt.releases import Release

MATCHERS = ("instancetype", "preference")
UNSET = object()


def without_sizes(vm: Object, instancetype: Object, release: Release) -> Object:
    """The VM, or a part of one, without what an instancetype with this spec gives; the same object where it has none of it."""
    if not isinstance(get(vm, INSTANCE_SPEC), dict):
        return vm
    template = copy(get(vm, TEMPLATE))
    changed = False
    while conflicts := apply(copy(template), instancetype=instancetype, preference=None, release=release):
        for each in conflicts:
            drop(template, each.path[len(TEMPLATE) :])
        changed = True
    if not changed:
        return vm
    for path in (*SIZED, ("domain",)):
        if get(template, ("spec", *path)) == {} and get(vm, (*INSTANCE_SPEC, *path)):
            drop(template, ("spec", *path))
    spec = {**vm["spec"], "template": template} if template.get("spec") or len(template) > 1 else _without_template(vm["spec"])
    return {**vm, "spec": spec} if spec else {key: value for key, value in vm.items() if key != "spec"}


def _without_template(spec: Object) -> Object:
    return {key: value for key, value in spec.items() if key != "template"}


def matchers_of(vm: Object) -> Object:
    """The matchers that a VM has."""
    return {key: value for key, value in as_map(vm.get("spec")).items() if key in MATCHERS}


def with_matchers(vm: Object, matchers: Object) -> Object:
    """The VM with these matchers, before its template; None takes one away."""
    spec: Object = {}
    for key, value in as_map(vm.get("spec")).items():
        if key == "template":
            spec |= matchers
        if key not in matchers or key in spec:
            spec.setdefault(key, value)
    return {**vm, "spec": spec | {key: value for key, value in matchers.items() if key not in spec}}


def rewritten(part: Any, at: Path, instancetype: Object, release: Release, matchers: Object) -> Any:
    """A manifest, a merge patch or a list of operations whose VM stands at a path, without sizes and with these matchers.

    The same object where nothing changes.
    """
    if isinstance(part, list):
        return _operations(part, at, instancetype, release, matchers)
    vm = get(part, at)
    if not isinstance(vm, dict):
        return part
    new = without_sizes(vm, instancetype, release)
    if matchers:
        new = with_matchers(new, matchers)
    if new is vm:
        return part
    if not at:
        return new
    changed = copy(part)
    put(changed, at, new)
    return changed


def has_sizes(part: Any, at: Path, instancetype: Object, release: Release) -> bool:
    """True for a part that says something that the instancetype gives."""
    return rewritten(part, at, instancetype, release, {}) is not part


def _operations(operations: list[Any], at: Path, instancetype: Object, release: Release, matchers: Object) -> list[Any]:
    kept = [(each, _operation(each, at, instancetype, release)) for each in operations]
    if not matchers and all(old is new for old, new in kept):
        return operations
    more = [_setting(key, value, at) for key, value in matchers.items()]
    return [*more, *(new for _, new in kept if new is not None)]


def _setting(key: str, value: object, at: Path) -> Object:
    path = "/" + "/".join(map(str, (*at, "spec", key)))
    return {"op": "remove", "path": path} if value is None else {"op": "add", "path": path, "value": value}


def _operation(operation: Any, at: Path, instancetype: Object, release: Release) -> Any:
    """The operation without sizes, None where nothing is left of it."""
    steps = tuple(_steps(text(as_map(operation).get("path"))))
    if steps[: len(at)] != at:
        return operation
    path = steps[len(at) :]
    if path[: len(TEMPLATE)] != TEMPLATE[: len(path)] or not path:
        return operation
    vm: Object = {"spec": {"template": {"spec": {}}}}
    value = operation.get("value", 1)
    put(vm, path, copy(value))
    if not isinstance(get(vm, INSTANCE_SPEC), dict):
        return operation
    new = without_sizes(vm, instancetype, release)
    if new is vm:
        return operation
    left = get(new, path, UNSET)
    return None if left is UNSET else {**operation, "value": left}


def _steps(pointer: str) -> Iterator[str]:
    return (each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:])
