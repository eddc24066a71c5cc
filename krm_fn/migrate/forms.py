"""One migration, and the changes that need only one object: kinds, API versions, keys, names, and VMs with a flavor.

These become VMs with an instancetype, which needs memory. A flavor without memory, as up to 0.53, cannot become one: its values
are written into the VMs that refer to it.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product

from krm_fn.base.annotations import Any, Sequence
from krm_fn.base.bundle import Bundle, Entry, effective_namespace, is_cluster_kind
from krm_fn.base.objects import Object, kind_of, name_of, text
from krm_fn.base.paths import Path, as_list, as_map, copy, get, put_in
from krm_fn.base.value import Value
from krm_fn.kubevirt.api_versions import FIRST_API_VERSION, present_form
from krm_fn.kubevirt.expand import apply
from krm_fn.kubevirt.facts import Found, Resolution, ResolutionError
from krm_fn.kubevirt.fields.topology import DEPRECATED
from krm_fn.kubevirt.holders import TEMPLATE, template_path, vm_path
from krm_fn.kubevirt.presets.merge import EXCLUDE, FIRST_EXCLUDE
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.removed_fields import removed_fields
from krm_fn.kubevirt.resolve import INSTANCETYPE, MATCHERS, Matcher, Resolver
from krm_fn.kubevirt.resolve.flavors import FLAVOR, present_preference
from krm_fn.rules.facts.migrations import Leftover


class User(Value):
    """A VM of the bundle: its object's entry, its path there, and the objects that its matchers refer to."""

    entry: Entry
    path: Path
    vm: Object
    resolution: Resolution


class Migration:
    """The data that the changes read, and the list of parts that they cannot migrate."""

    def __init__(self, bundle: Bundle, release: Release) -> None:
        self.bundle, self.release = bundle, release
        self.leftovers: list[Leftover] = []
        self._resolver = Resolver(bundle=bundle, release=release, catalogue=None)
        self._named: dict[tuple[str, str], dict[tuple[str, str], list[Entry]]] = {}

    def add_leftover(self, entry: Entry, reason: str, path: Path = (), **more: Any) -> None:
        """Note that a part stays as it is. `more`: `current`, and the values that the reason needs."""
        known = {"current": more.pop("current")} if "current" in more else {}
        self.leftovers.append(Leftover(entry=entry, reason=reason, path=path, detail=tuple(more.items()), **known))

    @cached_property
    def users(self) -> dict[int, User]:
        """All VMs of the bundle, including those in pools, with the objects that their matchers refer to, by their entries."""
        found = {}
        for entry, path in ((entry, vm_path(entry.obj)) for entry in self.bundle.entries):
            if path is not None:
                vm = get(entry.obj, path)
                resolution = self._resolver.resolve(vm, namespace=effective_namespace(entry.obj))
                found[id(entry)] = User(entry=entry, path=path, vm=vm, resolution=resolution)
        return found

    def user(self, entry: Entry) -> User | None:
        """The VM of an entry; None if it holds no VM."""
        return self.users.get(id(entry))

    def users_of_preference(self, entry: Entry) -> Sequence[User]:
        """The VMs that refer to this preference of the bundle."""
        return self._by_preference.get(id(entry), ())

    @cached_property
    def _by_preference(self) -> dict[int, list[User]]:
        found: dict[int, list[User]] = {}
        for user in self.users.values():
            preference = user.resolution.preference
            if preference and preference.entry:
                found.setdefault(id(preference.entry), []).append(user)
        return found

    def pointer(self, revision: str, field: str) -> tuple[Matcher, Object] | None:
        """The first matcher of a VM, as written, that names a revision with an object for `field`; None if there is none."""
        return self._pointers.get((revision, field)) if revision else None

    @cached_property
    def _pointers(self) -> dict[tuple[str, str], tuple[Matcher, Object]]:
        found: dict[tuple[str, str], tuple[Matcher, Object]] = {}
        for user, matcher in product(self.users.values(), (*MATCHERS, FLAVOR)):
            written = as_map(get(user.vm, ("spec", matcher.field)))
            found.setdefault((text(written.get("revisionName")), matcher.payload or matcher.field), (matcher, written))
        return found

    def is_taken(self, entry: Entry) -> bool:
        """True if another object has the kind and the name that this object would get."""
        form = present_form(entry.obj, self.release)
        if form is None or not name_of(entry.obj):  # the cluster generates different names for these
            return False
        group, kind = form[0].partition("/")[0], form[1]
        if (group, kind) not in self._named:
            self._named[group, kind] = {}
            for other in self.bundle.of_kind(kind, group):
                self._named[group, kind].setdefault(_name(other, kind), []).append(other)
        return any(other is not entry for other in self._named[group, kind].get(_name(entry, kind), ())[:2])


def _name(entry: Entry, kind: str) -> tuple[str, str]:
    """Namespace and name of an object of that kind; "" is the namespace of cluster kinds."""
    return "" if is_cluster_kind(kind) else effective_namespace(entry.obj), name_of(entry.obj)


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
    new: Object = obj if get(obj, path) is value else put_in(obj, path, value)
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


GUEST = ("memory", "guest")
MATCHER = {"flavor": "instancetype"}


def hold_flavor(obj: Object, entry: Entry, migration: Migration) -> Object:
    """Keep a flavor without memory as it is."""
    if "spec" in obj and get(obj, ("spec", *GUEST)) is not None and get(obj, ("spec", "cpu", "guest")) is not None:
        return obj
    migration.add_leftover(entry, "flavor-without-memory", ("spec",) if "spec" in obj else ("profiles",))
    return HELD


def follow_flavor(obj: Object, entry: Entry, migration: Migration) -> Object:
    """The object with an instancetype instead of its VM's flavor, or with the flavor's values."""
    user = migration.user(entry)
    if user is None or get(user.vm, ("spec", "flavor")) is None:
        return obj
    path = (*user.path, "spec")
    spec = get(obj, path)
    if spec.get("instancetype") is not None:
        migration.add_leftover(entry, "flavor-outdone", (*path, "flavor"), current=spec["flavor"])
        return with_value(obj, path, {key: value for key, value in spec.items() if key != "flavor"})
    found = user.resolution.instancetype
    if found is None:
        return _unresolved(obj, user, migration)
    if found.origin == "bundle" and found.entry is not None and migration.is_taken(found.entry):
        migration.add_leftover(entry, "flavor-name-taken", (*path, "flavor"), current=spec["flavor"], flavor=found.ref)
        return obj
    if get(found.spec, GUEST) is not None and get(found.spec, ("cpu", "guest")) is not None:
        _report_conflicts(obj, user, found, migration)
        return with_value(obj, path, _referring(spec))
    return _written_out(obj, user, found, migration)


def _unresolved(obj: Object, user: User, migration: Migration) -> Object:
    """A flavor that is not in the bundle may be an instancetype elsewhere; a profile may not."""
    path = (*user.path, "spec")
    spec = get(obj, path)
    errors = [error for error in user.resolution.errors if error.matcher == "flavor"]
    if any(_is_elsewhere(error) for error in errors) and not as_map(spec["flavor"]).get("profile"):
        migration.add_leftover(
            user.entry, "flavor-elsewhere", (*path, "flavor"), current=spec["flavor"], flavor=errors[0].wanted
        )
        return with_value(obj, path, _referring(spec))
    migration.add_leftover(user.entry, "flavor-unresolved", (*path, "flavor"), current=spec["flavor"])
    return obj


def _is_elsewhere(error: ResolutionError) -> bool:
    return error.reason in ("unknown-name", "wrong-namespace", "revision-missing")


def _referring(spec: Object) -> Object:
    """The VM's spec with a matcher for an instancetype instead of the matcher for a flavor."""
    flavor = spec["flavor"]
    kind = FLAVOR.kind_named(text(flavor.get("kind")))
    named = {**flavor, "kind": dict(zip(FLAVOR.kinds, INSTANCETYPE.kinds, strict=True))[kind]} if "kind" in flavor else flavor
    matcher = {key: value for key, value in named.items() if key != "profile"}
    return renamed({**spec, "flavor": matcher}, MATCHER)


def _report_conflicts(obj: Object, user: User, found: Found, migration: Migration) -> None:
    """Report fields that a VM may set together with a flavor, but not together with an instancetype."""
    template = copy(get(obj, (*user.path, *TEMPLATE)))
    if not isinstance(template, dict):
        return
    for conflict in apply(template, instancetype=found.spec, preference=None, release=migration.release):
        migration.add_leftover(user.entry, "conflict", (*user.path, *conflict.path), current=conflict.current, flavor=found.ref)


def _written_out(obj: Object, user: User, found: Found, migration: Migration) -> Object:
    path = (*user.path, "spec")
    spec = get(obj, path)
    template = copy(spec.get("template"))
    topology = get(user.resolution.preference.spec, ("cpu",)) if user.resolution.preference else None
    topology_preference = {"cpu": {"preferredCPUTopology": as_map(topology).get("preferredCPUTopology")}}
    conflicts = not isinstance(template, dict) or apply(
        template, instancetype=found.spec, preference=topology_preference, release=migration.release, table=found.table
    )
    if conflicts:
        migration.add_leftover(user.entry, "flavor-unresolved", (*path, "flavor"), current=spec["flavor"])
        return obj
    kept = {key: value for key, value in spec.items() if key != "flavor"}
    return with_value(obj, path, {**kept, "template": template})
