"""The origin of a value of an expanded VM: the field of its instancetype or preference without which the value differs."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.bundle import Bundle
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, get, is_set
from krm_fn.kubevirt.admission.expansion import expand_for_admission
from krm_fn.kubevirt.facts import Found, Resolution
from krm_fn.rules.facts.admission import Origin
from krm_fn.rules.facts.vms import VmFacts

Key = tuple[int, int, Path]  # the instancetype's spec, that of the preference, and a place of VMs with any indices


MOST_VALUES = 200  # of one spec; each needs one more expansion
ANY = -1


class FieldOrigins:
    """The origins of VMs' values. VMs with the same instancetype and preference get the same place from the same field."""

    def __init__(self) -> None:
        self._known: dict[Key, Origin | None] = {}

    def of(self, vm: VmFacts, path: Path) -> Origin | None:
        """The field that sets the value at `path` of the expanded VM; None if the VM itself sets it, or if it is not set."""
        expanded = vm.expansion.vm if vm.expansion else None
        if expanded is None or is_set(get(vm.vm, path)) or not is_set(get(expanded, path)):
            return None
        place = tuple(ANY if isinstance(step, int) else step for step in path)
        key = _number(vm.resolution.instancetype), _number(vm.resolution.preference), place
        if key not in self._known:
            self._known[key] = _origin(vm, path, get(expanded, path))
        return self._known[key]


def _number(source: Found | None) -> int:
    return id(source.spec) if source else 0


def _origin(vm: VmFacts, path: Path, value: Any) -> Origin | None:
    sources: dict[str, Found | None] = {"preference": vm.resolution.preference, "instancetype": vm.resolution.instancetype}
    for matcher, source in sources.items():
        if source is None or source.values > MOST_VALUES:
            continue
        for field in _fields(source.spec):
            rest = vm.resolution.but(**{matcher: source.but(spec=_without(source.spec, field))})
            if _value(rest, vm, path) != value:
                return Origin(source=source, field=field, matcher=matcher)
    return None


def _value(resolution: Resolution, vm: VmFacts, path: Path) -> Any:
    expansion = expand_for_admission(resolution, namespace="default", bundle=Bundle([]), cluster=vm.cluster, release=vm.release)
    return get(expansion.vm, path) if expansion.vm else None


def _fields(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of all values of a spec, except maps with keys."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from _fields(below, (*path, key))
    elif path:
        yield path


def _without(spec: Object, path: tuple[str, ...]) -> Object:
    """The spec without one field; the maps on the way are copied."""
    key, rest = path[0], path[1:]
    if not rest:
        return {name: value for name, value in spec.items() if name != key}
    return {**spec, key: _without(spec[key], rest)}
