"""Presets become instancetypes and preferences, and the VMs that they match refer to these.

A preset is taken over as a whole or not at all: only where everything that it gives can be said by the two, and every VM that
it matches can take them. What a preset gives that nothing can take stays a preset: all releases serve these.
"""

from __future__ import annotations

from krm_fn.bundle import Bundle, Entry, effective_namespace
from krm_fn.expand import apply
from krm_fn.fields.preset import sections
from krm_fn.migrate.forms import with_value
from krm_fn.migrate.preset_fields import translated
from krm_fn.modes import replaced
from krm_fn.paths import as_map, copy, get, is_set
from krm_fn.presets.era import EXCLUDE
from krm_fn.presets.merge import domain_of, offers
from krm_fn.presets.selector import matches, problems
from krm_fn.removed import template_path, vm_path
from krm_fn.resolve.matcher import API_VERSION
from krm_fn.resource import annotations_of, labels_of, metadata, name_of
from krm_fn.schema.checking import check
from krm_fn.schema.flaws import NULL
from krm_fn.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from krm_fn.migrate.work import Work
    from krm_fn.paths import Path
    from krm_fn.resource import Object

GROUP, KIND = "kubevirt.io", "VirtualMachineInstancePreset"
KINDS = {"instancetype": "VirtualMachineInstancetype", "preference": "VirtualMachinePreference"}


class Taken(Value):
    """A preset that can be taken over: its specs by the field of the VM that will refer to them, and the VMs it matches."""

    preset: Entry
    specs: dict[str, Object]
    vms: tuple[Entry, ...]


def migrate_presets(items: list[Any], work: Work) -> list[Any]:
    """The items with the presets that can be taken over as instancetypes and preferences; a second object stands at the end."""
    presets = work.bundle.of_kind(KIND, GROUP)
    if not presets:
        return items
    taken = []
    for preset in presets:
        found = _taken(preset, presets, work)
        if found:
            taken.append(found)
        else:
            _leave(preset, work)
    changes: list[tuple[Entry, Path, Object]] = []
    added: list[Object] = []
    for found in taken:
        first, *more = (_object(found.preset.obj, field, spec) for field, spec in found.specs.items())
        changes.append((found.preset, (), first))
        changes += [(vm, (), _referring(vm.obj, found)) for vm in found.vms]
        added += map(_without_host_notes, more)
        work.leave(found.preset, "preset-taken", current=len(found.vms), names=tuple(found.specs))
    return [*replaced(items, changes), *added]


def _leave(preset: Entry, work: Work) -> None:
    """Note why the release refuses a preset that stays, if it does: earlier releases took presets without devices."""
    for flaw in check(preset.obj, work.release):
        if flaw.kind != NULL:
            work.leave(preset, "preset-refused", flaw.path, flaw=flaw, release=work.release)


def _taken(preset: Entry, presets: Sequence[Entry], work: Work) -> Taken | None:
    """What the preset becomes, None where it stays; then the work knows why."""
    specs, misfits = translated(domain_of(preset.obj), work.release)
    for reason, path, value in misfits:
        work.leave(preset, reason, ("spec", "domain", *path), current=value)
    if misfits:
        return None
    reasons = [] if specs else [("preset-without-effect", preset)]
    reasons += [] if name_of(preset.obj) else [("preset-without-name", preset)]
    selector = get(preset.obj, ("spec", "selector"))
    if list(problems(selector)):
        reasons.append(("preset-selector", preset))
    else:
        reasons += [("preset-name-taken", preset) for field in specs if _is_named(preset, KINDS[field], work.bundle)]
        matched = [entry for entry in work.bundle.entries if _matches(preset, entry)]
        reasons += [(reason, entry) for entry in matched for reason in _obstacles(entry, preset, specs, presets, work)]
    for reason, other in reasons[:1]:
        work.leave(preset, reason, ("spec", "selector"), other=str(name_of(other.obj)), kind=other.obj["kind"])
    return None if reasons else Taken(preset=preset, specs=specs, vms=tuple(matched))


def _is_named(preset: Entry, kind: str, bundle: Bundle) -> bool:
    return bundle.find(kind, effective_namespace(preset.obj), name_of(preset.obj)) is not None


def _matches(preset: Entry, entry: Entry) -> bool:
    """True where an instance that the entry is, or leads to, would take the preset."""
    path = template_path(entry.obj)
    if path is None or effective_namespace(entry.obj) != effective_namespace(preset.obj):
        return False
    template = as_map(get(entry.obj, path))
    excluded = annotations_of(template).get(EXCLUDE) == "true"
    return not excluded and matches(get(preset.obj, ("spec", "selector")), labels_of(template))


def _obstacles(entry: Entry, preset: Entry, specs: dict[str, Object], presets: Sequence[Entry], work: Work) -> Iterator[str]:
    """Why something that the preset matches can't take what becomes of it."""
    at = vm_path(entry.obj)
    if at is None:
        yield "preset-of-instances"
        return
    vm, template = get(entry.obj, at), as_map(get(entry.obj, template_path(entry.obj) or ()))
    spec = as_map(vm.get("spec"))
    if any(spec.get(field) is not None for field in ("instancetype", "preference", "flavor")):
        yield "preset-beside-matchers"
    others = [one for one in presets if one is not preset and not list(problems(get(one.obj, ("spec", "selector"))))]
    if any(_matches(one, entry) for one in others):
        yield "preset-among-several"
    domain = as_map(get(template, ("spec", "domain")))
    given = [row for row in sections(work.release) if offers(domain_of(preset.obj), row) and row.path != ("firmware",)]
    conflicts = apply(copy(template), instancetype=specs.get("instancetype"), preference=None, release=work.release)
    if conflicts or any(is_set(get(domain, row.path)) for row in given):
        yield "preset-conflict"


def _object(preset: Object, field: str, spec: Object) -> Object:
    """The instancetype or preference that says what a preset said, under its name."""
    kept = {key: copy(value) for key, value in metadata(preset).items()}
    return {"apiVersion": API_VERSION, "kind": KINDS[field], "metadata": kept, "spec": copy(spec)}


def _without_host_notes(obj: Object) -> Object:
    """An object that stands beside another without the annotations that say where that one comes from."""
    notes = {key: value for key, value in annotations_of(obj).items() if "config.k" not in str(key).partition("/")[0]}
    meta = {key: value for key, value in metadata(obj).items() if key != "annotations"}
    return {**obj, "metadata": {**meta, "annotations": notes} if notes else meta}


def _referring(obj: Object, found: Taken) -> Object:
    """The object whose VM refers to what became of the preset."""
    path = (*(vm_path(obj) or ()), "spec")
    matchers = {field: {"kind": KINDS[field], "name": name_of(found.preset.obj)} for field in found.specs}
    return with_value(obj, path, {**get(obj, path), **matchers})
