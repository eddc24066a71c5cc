"""Changes that need only one object: kinds, API versions, keys, names."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object, kind_of, text
from krm_fn.base.paths import Path, as_list, copy, get, put
from krm_fn.kubevirt.api_versions import FIRST_API_VERSION, present_form
from krm_fn.kubevirt.fields.topology import DEPRECATED
from krm_fn.kubevirt.holders import template_path, vm_path
from krm_fn.kubevirt.presets.era import EXCLUDE, FIRST_EXCLUDE
from krm_fn.kubevirt.removed_fields import removed_fields
from krm_fn.kubevirt.resolve.flavors import present_preference

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.migrate.migration import Migration


HELD: Object = {}  # compared by identity

# Keys that were renamed, with their new names.
CAPITALS = {"Running": "running", "Template": "template"}
RUNNING = {"running": "runStrategy"}
DISKS = {"volumeName": "name"}
VOLUMES = {"registryDisk": "containerDisk"}
EXCLUSION = {FIRST_EXCLUDE: EXCLUDE}
TOPOLOGY: Path = ("spec", "cpu", "preferredCPUTopology")


def renamed(value: Object, names: dict[str, str]) -> Object:
    """The map with renamed keys, in the same order. A new name that exists is not used. The same map if nothing changes."""
    wanted = {old: new for old, new in names.items() if old in value and new not in value}
    return {wanted.get(key, key): below for key, below in value.items()} if wanted else value


def with_value(obj: Object, path: Path, value: Any) -> Object:
    """The object with a new value at a path; the same object if it has that value."""
    if get(obj, path) is value:
        return obj
    if not path:
        new: Object = value
        return new
    new = copy(obj)
    put(new, path, value)
    return new


def lower_keys(obj: Object, _entry: Entry, _migration: Migration) -> Object:
    """Version 0.3 wrote the keys of an OfflineVirtualMachine's spec with a capital letter."""
    path = vm_path(obj)
    spec = None if path is None else get(obj, (*path, "spec"))
    return with_value(obj, (*(path or ()), "spec"), renamed(spec, CAPITALS)) if isinstance(spec, dict) else obj


def set_run_strategy(obj: Object, entry: Entry, migration: Migration) -> Object:
    """`running` has been deprecated since 1.4; `runStrategy` replaces it. An OfflineVirtualMachine without either was off."""
    path = vm_path(obj)
    spec = None if path is None else get(obj, (*path, "spec"))
    if path is None or not isinstance(spec, dict):
        return obj
    running = spec.get("running")
    if running is None:
        off = kind_of(obj) == "OfflineVirtualMachine" and "runStrategy" not in spec
        return with_value(obj, (*path, "spec"), {**spec, "runStrategy": "Halted"}) if off else obj
    if not isinstance(running, bool) or spec.get("runStrategy") is not None:
        migration.add_leftover(entry, "running", (*path, "spec", "running"), current=running, strategy=spec.get("runStrategy"))
        return obj
    new = renamed({key: value for key, value in spec.items() if key != "runStrategy"}, RUNNING)
    return with_value(obj, (*path, "spec"), {**new, "runStrategy": "Always" if running else "Halted"})


def match_disks(obj: Object, _entry: Entry, _migration: Migration) -> Object:
    """Up to 0.12 a disk named its volume; later its own name does. Disks that would get the same name do not change."""
    path = (*(template_path(obj) or ()), "spec", "domain", "devices", "disks")
    disks = get(obj, path)
    names = [_disk_name(disk) for disk in as_list(disks)]
    numbers: dict[str, int] = {}
    for name in names:
        numbers[name] = numbers.get(name, 0) + 1
    matched = [_matched(disk) if numbers[name] == 1 else disk for disk, name in zip(as_list(disks), names, strict=True)]
    changed = any(new is not old for new, old in zip(matched, as_list(disks), strict=True))
    return with_value(obj, path, matched) if changed else obj


def _disk_name(disk: Any) -> str:
    """The present or future name of a disk; "" if it is not text."""
    return text(get(disk, ("volumeName",)) or get(disk, ("name",)))


def _matched(disk: Any) -> Any:
    volume = get(disk, ("volumeName",))
    if not volume or not isinstance(volume, str):
        return disk
    named = {key: value for key, value in disk.items() if key != "volumeName"} if "name" in disk else renamed(disk, DISKS)
    return {**named, "name": volume}


def rename_volumes(obj: Object, _entry: Entry, _migration: Migration) -> Object:
    path = (*(template_path(obj) or ()), "spec", "volumes")
    volumes = as_list(get(obj, path))
    new = [renamed(volume, VOLUMES) if isinstance(volume, dict) else volume for volume in volumes]
    changed = any(one is not other for one, other in zip(new, volumes, strict=True))
    return with_value(obj, path, new) if changed else obj


def rename_exclusion(obj: Object, _entry: Entry, _migration: Migration) -> Object:
    """The annotation that excludes an instance from presets was renamed together with the kind."""
    path = (*(template_path(obj) or ()), "metadata", "annotations")
    notes = get(obj, path)
    if obj.get("apiVersion") != FIRST_API_VERSION or not isinstance(notes, dict):
        return obj
    return with_value(obj, path, renamed(notes, EXCLUSION))


def unset_idle_preferences(obj: Object, _entry: Entry, _migration: Migration) -> Object:
    """Remove preferences that had no effect when they were false, but would have one now."""
    spec = obj.get("spec")
    return with_value(obj, ("spec",), present_preference(spec)) if isinstance(spec, dict) else obj


def name_topology(obj: Object, _entry: Entry, _migration: Migration) -> Object:
    written = get(obj, TOPOLOGY)
    return with_value(obj, TOPOLOGY, DEPRECATED[written]) if isinstance(written, str) and written in DEPRECATED else obj


def report_removed(obj: Object, entry: Entry, migration: Migration) -> Object:
    """Report fields that were removed from the API and have no replacement with the same effect."""
    for path, value, row in removed_fields(obj, migration.release):
        if path[-1] != "flavor":  # `follow_flavor` reports it
            migration.add_leftover(entry, "removed-field", path, current=value, gone=row.gone, instead=row.instead)
    return obj


def hold_namesake(obj: Object, entry: Entry, migration: Migration) -> Object:
    if migration.is_taken(entry):
        form = present_form(obj, migration.release)
        migration.add_leftover(
            entry, "name-taken", ("metadata", "name"), current=obj["metadata"]["name"], kind=form and form[1]
        )
        return HELD
    return obj


def rename_kind(obj: Object, entry: Entry, migration: Migration) -> Object:
    """The object with the apiVersion and kind that the release serves."""
    form = present_form(obj, migration.release)
    if form is None:
        migration.add_leftover(entry, "no-successor", ("kind",), current=kind_of(obj))
        return obj
    if form == (obj.get("apiVersion"), kind_of(obj)):
        return obj
    return {**obj, "apiVersion": form[0], "kind": form[1]}
