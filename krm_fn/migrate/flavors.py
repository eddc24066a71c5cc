"""VMs with a flavor become VMs with an instancetype.

An instancetype needs memory. A flavor without memory, as up to 0.53, cannot become one: its values are written into the VMs
that refer to it.
"""

from __future__ import annotations

from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import as_map, copy, get
from krm_fn.kubevirt.expand import apply
from krm_fn.kubevirt.facts import Found, ResolutionError
from krm_fn.kubevirt.holders import TEMPLATE
from krm_fn.kubevirt.resolve import INSTANCETYPE
from krm_fn.kubevirt.resolve.flavors import FLAVOR
from krm_fn.migrate.forms import HELD, renamed, with_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.migrate.migration import Migration, User


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
