"""Differences between applied and stored objects, for which Argo CD will report an application as out of sync.

Argo CD compares what is in git. A key that the cluster adds to a map is no difference. A key that it adds inside a list is one,
because lists are compared as one value. Both sides are known here: the applied object, and what KubeVirt's admission stores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from krm_fn.base.bundle import Bundle
from krm_fn.base.expressions import expression
from krm_fn.base.objects import Object, group_of, kind_of, name_of, namespace_of, text
from krm_fn.base.paths import Path, as_list, as_map, copy, get
from krm_fn.base.quantity import parse
from krm_fn.kubevirt.holders import DATA_VOLUMES, DOMAIN, INSTANCE_SPEC
from krm_fn.kubevirt.releases import Version
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline.facts import gather
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.completed import DriftFacts, Respelling
from krm_fn.rules.facts.vms import VmFacts

# Stands for any entry of a list, or any key of a map, in a path.
ANY = "*"

# The expressions of jq that only lead to a place, and their steps. A word is never cut: that would take exponential time.
PLAIN = expression(r'(?:\.?(?:"[^"]*"|\w+(?!\w)|\[\d*\])\??)+')
STEP = expression(r'"[^"]*"|\w+|\[\d*\]')

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


def respelt(items: Sequence[Any], config: Config) -> Iterator[tuple[Object, Respelling]]:
    """The amounts that the cluster stores in another spelling, each with its VM.

    Users should write that one, because ignoring hides changes.
    """
    return ((each.vm, one) for each in _facts(items, config) for one in _respellings(each.vm))


def with_drifts(facts: BundleFacts) -> BundleFacts:
    """The facts with the differences for which Argo CD reports VMs that one of its Applications applies as out of sync."""
    known = facts.surroundings.ignored or ()
    stored = gather(facts.bundle, _storing(facts.config), facts.surroundings)
    drifts = []
    for each in _sound(stored):
        if not facts.bundle.is_context(each.entry.item):
            own = [entry for entry in known if _is_about(entry, each.vm)]
            changed = tuple(path for path in differing(each) if not _covered(path, own))
            spelt = tuple(one for one in _respellings(each.vm) if not _covered(one.path, own))
            drifts += [DriftFacts(entry=each.entry, changed=changed, respelt=spelt)] if changed or spelt else []
    return facts.but(drifts=tuple(drifts))


def _is_about(entry: Any, vm: Object) -> bool:
    """Whether an entry of `ignoreDifferences` is about the VM: group and kind may be globs, an empty name is any."""
    wanted = as_map(entry)
    names = ("group", group_of(vm)), ("kind", kind_of(vm)), ("name", name_of(vm)), ("namespace", namespace_of(vm))
    empty = {"name": "*", "namespace": "*"}
    return all(fnmatchcase(name, text(wanted.get(key)) or empty.get(key, "")) for key, name in names)


def _covered(path: Path, entries: Sequence[Any]) -> bool:
    """Whether one of the entries ignores the path. What only jq or the cluster can tell is taken for ignored."""
    place = tuple(ANY if isinstance(step, int) else str(step) for step in path)
    return any(place[: len(start)] == start for entry in entries for start in _starts(entry))


def _starts(entry: Any) -> Iterator[tuple[str, ...]]:
    """The paths that an entry ignores, with all below them."""
    yield from [()] if as_list(entry.get("managedFieldsManagers")) else []
    for pointer in map(text, as_list(entry.get("jsonPointers"))):
        steps = (step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])
        yield tuple(ANY if step.isdecimal() else step for step in steps)
    for each in map(text, as_list(entry.get("jqPathExpressions"))):
        keys = STEP.findall(each) if PLAIN.fullmatch(each) else []
        yield tuple(ANY if step.startswith("[") else step.strip('"') for step in keys)


def _respellings(vm: Object) -> Iterator[Respelling]:
    for pattern in QUANTITIES:
        for path, value in found(vm, pattern):
            amount = parse(value)
            if amount is not None and str(amount) != value:
                yield Respelling(path=path, current=value, stored=str(amount))


def _facts(items: Sequence[Any], config: Config) -> Iterator[VmFacts]:
    """The VMs that admission stores, with the stored values."""
    return _sound(gather(Bundle(items), _storing(config)))


def _storing(config: Config) -> Config:
    """The config with which the facts hold what admission stores."""
    return config.but(mode="expand", defaults="pinned", instances="omit")


def _sound(facts: BundleFacts) -> Iterator[VmFacts]:
    """The VMs without errors. VMs of a pool are left out, because the pool creates them."""
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
