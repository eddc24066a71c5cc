"""The table of changes. Each row has the objects to which it applies, and the function that changes them.

A function gets the object after the rows before, its entry, and the migration. It returns a new object, or the same one if
nothing changes. HELD means that the object must stay as it is.
"""

from __future__ import annotations

from krm_fn.base.objects import group_of, kind_of
from krm_fn.base.value import Value
from krm_fn.kubevirt.api_versions import FLAVOR, INSTANCETYPE, KINDS, SUCCESSORS
from krm_fn.kubevirt.fields.topology import NAMED_SINCE
from krm_fn.kubevirt.removed_fields import TEMPLATES, VMS
from krm_fn.migrate.firmware import choose_efi
from krm_fn.migrate.flavors import follow_flavor, hold_flavor
from krm_fn.migrate.forms import (
    HELD,
    hold_namesake,
    lower_keys,
    match_disks,
    name_topology,
    rename_exclusion,
    rename_kind,
    rename_volumes,
    report_removed,
    set_run_strategy,
    unset_idle_preferences,
)
from krm_fn.migrate.revisions import rewrite_revision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.kubevirt.releases import Version
    from krm_fn.migrate.migration import Migration

    Step = Callable[[Object, Entry, Migration], Object]


class Rewrite(Value):
    """One row: `of` has the API groups and kinds of the objects to which `step` applies; releases before `since` do not know
    the new form.
    """

    of: Collection[tuple[str, str]]
    step: Step
    since: Version = ()


FLAVORS = ((FLAVOR, "VirtualMachineFlavor"), (FLAVOR, "VirtualMachineClusterFlavor"))
OLD_PREFERENCES = ((FLAVOR, "VirtualMachinePreference"), (FLAVOR, "VirtualMachineClusterPreference"))
PREFERENCES = (
    *OLD_PREFERENCES,
    (INSTANCETYPE, "VirtualMachinePreference"),
    (INSTANCETYPE, "VirtualMachineClusterPreference"),
)

REWRITES = (
    Rewrite(of=VMS, step=lower_keys),  # Running and Template, of 0.3
    Rewrite(of=VMS, step=set_run_strategy),  # running
    Rewrite(of=TEMPLATES, step=match_disks),  # disks[].volumeName
    Rewrite(of=TEMPLATES, step=rename_volumes),  # volumes[].registryDisk
    Rewrite(of=TEMPLATES, step=rename_exclusion),  # the annotation that excludes presets
    Rewrite(of=VMS, step=follow_flavor),  # spec.flavor
    Rewrite(of=(("apps", "ControllerRevision"),), step=rewrite_revision),
    Rewrite(of=SUCCESSORS, step=hold_namesake),
    Rewrite(of=FLAVORS, step=hold_flavor),
    Rewrite(of=OLD_PREFERENCES, step=unset_idle_preferences),
    Rewrite(of=PREFERENCES, step=name_topology, since=NAMED_SINCE),  # preferCores and similar values
    Rewrite(of=PREFERENCES, step=choose_efi, since=(1, 4)),  # preferredUseEfi, preferredUseSecureBoot
    Rewrite(of=TEMPLATES, step=report_removed),
    Rewrite(of=(*KINDS, *SUCCESSORS), step=rename_kind),
)


def rewritten(entry: Entry, migration: Migration) -> Object:
    """The object of an entry after all rows that apply to it; the same object if no row changes it."""
    obj, key = entry.obj, (group_of(entry.obj), kind_of(entry.obj))
    for row in REWRITES:
        if key in row.of and migration.release.within(since=row.since):
            new = row.step(obj, entry, migration)
            if new is HELD:
                break
            obj = new
    return obj
