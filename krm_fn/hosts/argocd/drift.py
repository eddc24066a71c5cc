"""Differences between applied and stored objects, for which Argo CD will report an application as out of sync.

Argo CD compares what is in git. A key that the cluster adds to a map is no difference. A key that it adds inside a list is one,
because lists are compared as one value. Both sides are known here: the applied object, and what KubeVirt's admission stores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from krm_fn.base.bundle import Bundle
from krm_fn.base.objects import Object, name_of, namespace_of
from krm_fn.base.paths import Path, as_list, copy, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.holders import DATA_VOLUMES, DOMAIN, INSTANCE_SPEC
from krm_fn.kubevirt.quantity import parse
from krm_fn.kubevirt.releases import Version
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline.facts import gather
from krm_fn.rules.facts.vms import VmFacts

# Stands for any entry of a list, or any key of a map, in a path.
ANY = "*"

# Up to 1.7, Go writes the creation time of an embedded object as null if there is none.
CREATION_TIME_UNTIL: Version = (1, 8)

QUANTITIES: tuple[Path, ...] = (
    (*DOMAIN, "memory", "guest"),
    (*DOMAIN, "memory", "maxGuest"),
    (*DOMAIN, "resources", "requests", ANY),
    (*DOMAIN, "resources", "limits", ANY),
    (*INSTANCE_SPEC, "volumes", ANY, "emptyDisk", "capacity"),
    (*INSTANCE_SPEC, "volumes", ANY, "hostDisk", "capacity"),
    (*DATA_VOLUMES, ANY, "spec", "storage", "resources", "requests", ANY),
    (*DATA_VOLUMES, ANY, "spec", "storage", "resources", "limits", ANY),
    (*DATA_VOLUMES, ANY, "spec", "pvc", "resources", "requests", ANY),
    (*DATA_VOLUMES, ANY, "spec", "pvc", "resources", "limits", ANY),
)


class Respelt(Value):
    """An amount that the cluster stores in another spelling: the VM, the place, the written and the stored amount."""

    vm: Object
    path: Path
    current: Any
    stored: str


def ignored(items: Sequence[Any], config: Config) -> list[Object]:
    """The smallest `ignoreDifferences` for the items that are sent to Argo CD, in its form.

    A place is ignored for all VMs if no VM has another value there, and otherwise by name.
    """
    drifts = [(each.vm, differing(each)) for each in _facts(items, config)]
    places = dict.fromkeys(path for _, paths in drifts for path in paths)
    common = [path for path in places if all(path in paths or not any(found(vm, path)) for vm, paths in drifts)]
    entries = [_entry(common)] if common else []
    for vm, paths in drifts:
        own = [path for path in paths if path not in common]
        if own:
            names = {"name": name_of(vm), "namespace": namespace_of(vm)}
            entries.append({**_entry(own), **{key: value for key, value in names.items() if value}})
    return entries


def respelt(items: Sequence[Any], config: Config) -> Iterator[Respelt]:
    """The amounts that the cluster stores in another spelling. Users should write that one, because ignoring hides changes."""
    for each in _facts(items, config):
        for pattern in QUANTITIES:
            for path, value in found(each.vm, pattern):
                amount = parse(value)
                if amount is not None and str(amount) != value:
                    yield Respelt(vm=each.vm, path=path, current=value, stored=str(amount))


def _facts(items: Sequence[Any], config: Config) -> Iterator[VmFacts]:
    """The VMs that admission stores, with the stored values. VMs of a pool are left out, because the pool creates them."""
    facts = gather(Bundle(items), config.but(mode="expand", defaults="pinned", instances="omit"))
    return (each for each in facts.vms if not each.prefix and not each.resolution.errors)


def differing(each: VmFacts) -> tuple[Path, ...]:
    """The places in the VM that the cluster will store differently. Entries of lists are ANY."""
    stored: Object = copy(each.rendered if each.rendered and _expands(each) else each.admitted)
    if each.release.within(until=CREATION_TIME_UNTIL):
        for template in as_list(get(stored, DATA_VOLUMES)):
            given = get(template, ("metadata",))
            if isinstance(given, dict):
                given.setdefault("creationTimestamp", None)
    return tuple(dict.fromkeys(_differences(each.vm, stored, ())))


def _expands(each: VmFacts) -> bool:
    """True if the controller expands VMs permanently, and removes their references."""
    return bool(each.cluster.expanding_policy(each.release))


def _differences(applied: Any, stored: Any, path: Path, *, listed: bool = False) -> Iterator[Path]:
    """The places that differ. Outside of lists (`listed`), keys that are only stored are skipped."""
    if isinstance(applied, dict) and isinstance(stored, dict):
        for key in applied:
            if key in stored:
                yield from _differences(applied[key], stored[key], (*path, key), listed=listed)
            else:
                yield *path, key
        if listed:
            yield from ((*path, key) for key in stored if key not in applied)
    elif isinstance(applied, list) and isinstance(stored, list) and len(applied) == len(stored):
        for ours, theirs in zip(applied, stored, strict=True):
            yield from _differences(ours, theirs, (*path, ANY), listed=True)
    elif type(applied) is not type(stored) or applied != stored:
        yield path


def found(value: Any, pattern: Path, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every place that a path with ANY matches, and the value there."""
    if not pattern:
        yield path, value
        return
    step, *rest = pattern
    if step != ANY:
        if isinstance(value, dict) and step in value:
            yield from found(value[step], tuple(rest), (*path, step))
        return
    below: Any = value.items() if isinstance(value, dict) else enumerate(as_list(value))
    for key, one in below:
        yield from found(one, tuple(rest), (*path, key))


def _entry(paths: Sequence[Path]) -> Object:
    plain = [_pointer(path) for path in paths if ANY not in path]
    listed = [_expression(path) for path in paths if ANY in path]
    forms: Mapping[str, list[str]] = {"jsonPointers": plain, "jqPathExpressions": listed}
    return {"group": "kubevirt.io", "kind": "VirtualMachine", **{form: found for form, found in forms.items() if found}}


def _pointer(path: Path) -> str:
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)


def _expression(path: Path) -> str:
    """The path for jq. It skips lists that do not exist."""
    text = ""
    for step in path:
        plain = isinstance(step, str) and step.isascii() and step.isidentifier()
        quoted = str(step).replace("\\", "\\\\").replace('"', '\\"')
        text += "[]?" if step == ANY else f".{step}" if plain else f'."{quoted}"'
    return text
