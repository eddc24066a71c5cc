"""A manifest of a VM, a merge patch of one, and a list of JSON Patch operations, changed as the VM is converted. Pure.

To instancetypes: the manifest and each patch lose what the instancetype gives; a patch whose VM gets another instancetype than
the manifest says so. To flat VMs: the manifest gets the values, each patch loses its matchers, and a patch of a VM with other
values says these.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator, Self
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import Path, as_map, canonical, copy, get, put
from krm_fn.base.value import Value
from krm_fn.converting.conversion import SIZED, WORDS, freed, matchers_of, tidied, with_matchers
from krm_fn.kubevirt.configuration import Cluster, merged
from krm_fn.kubevirt.expand import apply, apply_autoattach_preferences, expand, without_matchers
from krm_fn.kubevirt.expand.admitted import with_storage_classes
from krm_fn.kubevirt.facts import Found
from krm_fn.kubevirt.holders import INSTANCE_SPEC, TEMPLATE
from krm_fn.kubevirt.releases import Release

UNSET = object()
CONFLICT = "the manifest sets values that the instancetype or the preference gives"


def without_sizes(vm: Object, instancetype: Object, release: Release) -> Object:
    """The VM, or a part of one, without what an instancetype with this spec gives; the same object where it has none of it."""
    was = get(vm, TEMPLATE)
    made = freed(was, instancetype, None, release) if isinstance(get(vm, INSTANCE_SPEC), dict) else None
    if made is None or not made[1]:
        return vm
    template = tidied(made[0], was, (*SIZED, ("domain",)))
    left = template.get("spec") or len(template) > 1
    spec = {**vm["spec"], "template": template} if left else {key: vm["spec"][key] for key in vm["spec"] if key != "template"}
    return {**vm, "spec": spec} if spec else {key: value for key, value in vm.items() if key != "spec"}


class Rewriting(Value):
    """How the documents of one VM are changed. `at` is the path of the VM in its object."""

    at: Path
    release: Release

    @property
    def key(self) -> Any:
        """What is equal for VMs that one manifest can be changed for."""
        raise NotImplementedError

    def manifest(self, written: Object) -> Object | str:
        """The manifest of the VM afterwards, or why there is none."""
        raise NotImplementedError

    def patch(self, written: Any, over: Self | None = None, base: Object | None = None) -> Any:
        """A patch of the VM afterwards, the same object where it is not concerned; a text says why there is none.

        With `over`, the manifest `base` is changed as that says, and the patch has to say what differs from it.
        """
        raise NotImplementedError

    def _inside(self, part: Object, new: Object) -> Object:
        """A document with another VM."""
        if not self.at:
            return new
        changed: Object = copy(part)
        put(changed, self.at, new)
        return changed


class ToInstancetype(Rewriting):
    """A VM gets these matchers; `spec` is that of the instancetype."""

    matchers: Object
    spec: Object

    @property
    def key(self) -> Any:
        return canonical(self.matchers)

    def manifest(self, written: Object) -> Object | str:
        vm = as_map(get(written, self.at))
        return self._inside(written, with_matchers(without_sizes(vm, self.spec, self.release), self.matchers))

    def patch(self, written: Any, over: Self | None = None, base: Object | None = None) -> Any:  # noqa: ARG002
        before = over.matchers if over else self.matchers
        names = {**before, **self.matchers}
        matchers = {key: self.matchers.get(key) for key in names if before.get(key) != self.matchers.get(key)}
        if isinstance(written, list):
            return _operations(written, self.at, self.spec, self.release, matchers)
        vm = get(written, self.at)
        if not isinstance(vm, dict):
            return written
        new = without_sizes(vm, self.spec, self.release)
        new = with_matchers(new, matchers) if matchers else new
        return written if new is vm else self._inside(written, new)


class ToFlat(Rewriting):
    """A VM gets the values of what it refers to."""

    instancetype: Found | None
    preference: Found | None
    cluster: Cluster

    @property
    def key(self) -> Any:
        return canonical([each and each.spec for each in (self.instancetype, self.preference)])

    def manifest(self, written: Object) -> Object | str:
        vm = as_map(get(written, self.at))
        new = self._with_all(vm) if self.preference else self._with_sizes(vm)
        return self._inside(written, new) if new is not None else CONFLICT

    def _with_sizes(self, vm: Object) -> Object | None:
        """The VM with what the instancetype gives; None where it has some of that itself."""
        size, template = self.instancetype, copy(get(vm, TEMPLATE))
        if not isinstance(template, dict) or size is None:
            return None
        found = apply(template, instancetype=size.spec, preference=None, release=self.release, table=size.table)
        return None if found else without_matchers(vm, template)

    def _with_all(self, vm: Object) -> Object | None:
        """The VM as it is rendered, with its default devices: the preference is for these, too.

        As where an instance starts, the preference says first which of these there are.
        """
        size, preference, template = self.instancetype, self.preference, copy(get(vm, TEMPLATE))
        spec = preference.spec if preference else {}
        if isinstance(template, dict):
            apply_autoattach_preferences(template, spec, self.release)
            vm = {**vm, "spec": {**vm["spec"], "template": template}}
        return expand(
            with_storage_classes(vm, spec, self.release),
            instancetype=size.spec if size else None,
            preference=spec,
            cluster=self.cluster,
            release=self.release,
            defaults=False,
            table=size.table if size else "instancetype",
        ).vm

    def patch(self, written: Any, over: Self | None = None, base: Object | None = None) -> Any:
        more: Object = {}
        if over and base:
            old, own = over.manifest(base), self.manifest(base)
            if isinstance(old, str) or isinstance(own, str):
                return CONFLICT
            more = _merge_patch(get(old, self.at), get(own, self.at))
        if isinstance(written, list):
            start = tuple(_pointer((*self.at, "spec", key)) for key in WORDS)
            kept = [each for each in written if not text(as_map(each).get("path")).startswith(start)]
            return written if len(kept) == len(written) else [*kept, *_setting_all(more, self.at)]
        vm = get(written, self.at)
        if not isinstance(vm, dict) or not matchers_of(vm):
            return written
        new = {**vm, "spec": {key: value for key, value in vm["spec"].items() if key not in WORDS}}
        return self._inside(written, merged(new, more))


class _KeptMap(dict[str, Any]):
    """A part of a merge patch in a map that is there already."""


def _merge_patch(old: Object, new: Object) -> Object:
    """What a merge patch has to say to make one map of another."""
    found: Object = _KeptMap({key: None for key in old if key not in new})
    for key, value in new.items():
        before = old.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            if below := _merge_patch(before, value):
                found[key] = below
        elif before != value:
            found[key] = value
    return found


def _operations(operations: list[Any], at: Path, instancetype: Object, release: Release, matchers: Object) -> list[Any]:
    kept = [(each, _operation(each, at, instancetype, release)) for each in operations]
    if not matchers and all(old is new for old, new in kept):
        return operations
    more = [_setting((*at, "spec", key), value) for key, value in matchers.items()]
    return [*more, *(new for _, new in kept if new is not None)]


def _setting(path: Path, value: object) -> Object:
    operation = {"path": _pointer(path)}
    return {"op": "remove", **operation} if value is None else {"op": "add", **operation, "value": value}


def _setting_all(patch: Object, at: Path) -> Iterator[Object]:
    """The operations that do what a merge patch does."""
    for key, value in patch.items():
        if isinstance(value, _KeptMap):
            yield from _setting_all(value, (*at, key))
        else:
            yield _setting((*at, key), value)


def _pointer(path: Path) -> str:
    return "/" + "/".join(str(step).replace("~", "~0").replace("/", "~1") for step in path)


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
