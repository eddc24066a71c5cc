"""Migration: objects of kinds and forms that a release no longer serves become objects that it serves.

Each change is a row of REWRITES: the objects to which it applies, and the function that changes them. The rows apply to one
object at a time, in this order. A function gets the object after the rows before, its entry, and the migration. It returns a
new object, or the same one if nothing changes. HELD means that the object must stay as it is. Presets concern several objects
and come last. A part that cannot be migrated becomes a finding. A second migration changes nothing more.
A text that is written with `RENAMED_KEYS` as its `successors` keeps the lines and comments of renamed keys.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Collection, Iterator, Mapping, Sequence
from krm_fn.base.bundle import Bundle, Entry
from krm_fn.base.objects import Object, group_of, kind_of, labels_of, name_of, text
from krm_fn.base.paths import Path, as_map, get, is_set
from krm_fn.base.value import Value
from krm_fn.findings import results
from krm_fn.findings.finding import Finding
from krm_fn.kubevirt.api_versions import FLAVOR, INSTANCETYPE, KINDS, SUCCESSORS
from krm_fn.kubevirt.fields.topology import NAMED_SINCE
from krm_fn.kubevirt.holders import template_path
from krm_fn.kubevirt.presets.domain import DOMAIN
from krm_fn.kubevirt.releases import Release, Version
from krm_fn.kubevirt.removed_fields import TEMPLATES, VMS
from krm_fn.kubevirt.resolve import Payload, decode
from krm_fn.kubevirt.resolve.flavors import READS_REVISIONS
from krm_fn.kubevirt.resolve.matcher import API_VERSION
from krm_fn.migrate.forms import (
    CAPITALS,
    DISKS,
    EXCLUSION,
    HELD,
    MATCHER,
    RUNNING,
    VOLUMES,
    Migration,
    follow_flavor,
    hold_flavor,
    hold_namesake,
    lower_keys,
    match_disks,
    name_topology,
    rename_exclusion,
    rename_kind,
    rename_volumes,
    renamed,
    report_removed,
    set_run_strategy,
    unset_idle_preferences,
    with_value,
)
from krm_fn.migrate.presets import migrate_presets
from krm_fn.pipeline.modes import replaced
from krm_fn.rules import registry
from krm_fn.rules.facts.migrations import Leftover, MigrationFacts

TYPE_CHECKING = False

if TYPE_CHECKING:
    from krm_fn.migrate.forms import User

    Step = Callable[[Object, Entry, Migration], Object]


# The two deprecated preferences for EFI become one `preferredEfi`, if that has the same effect.
# upstream: pkg/instancetype/preference/apply/firmware.go:applyFirmwarePreferences
FIRMWARE: Path = ("spec", "firmware")
OLD = ("preferredUseEfi", "preferredUseSecureBoot")
CHOICE = {"preferredUseEfi": "preferredEfi"}
EFI: Path = (*DOMAIN, "firmware", "bootloader", "efi")


def choose_efi(obj: Object, entry: Entry, migration: Migration) -> Object:
    """The preference with `preferredEfi`. The old secure boot also applies to a VM's own EFI, but the new field does not."""
    written = as_map(get(obj, FIRMWARE))
    if not any(is_set(written.get(field)) for field in OLD):
        return obj
    secure, efi = written.get("preferredUseSecureBoot"), written.get("preferredEfi")
    chooses = written.get("preferredUseEfi") is True
    unexpressed = is_set(secure) and (
        (not chooses and not is_set(efi)) or any(map(_chooses_efi, migration.users_of_preference(entry)))
    )
    if unexpressed:
        migration.add_leftover(entry, "secure-boot", (*FIRMWARE, "preferredUseSecureBoot"), current=secure)
        return obj
    if is_set(secure):
        migration.add_leftover(entry, "secure-boot-chosen", (*FIRMWARE, "preferredUseSecureBoot"), current=secure)
    new = written
    if chooses and not is_set(efi):
        new = {**renamed(written, CHOICE), "preferredEfi": {"secureBoot": secure} if is_set(secure) else {}}
    return with_value(obj, FIRMWARE, {key: value for key, value in new.items() if key not in OLD})


def _chooses_efi(user: User) -> bool:
    """True for a VM that sets EFI itself, but not secure boot."""
    efi = get(user.entry.obj, (*(template_path(user.entry.obj) or ()), *EFI))
    return isinstance(efi, dict) and not is_set(efi.get("secureBoot"))


# ControllerRevisions that hold an instancetype or a preference in an old form, which only older releases read.
# upstream: pkg/instancetype/upgrade/handler.go:Upgrade, pkg/instancetype/compatibility/compatibility.go:Decode
VERSION_LABEL = "instancetype.kubevirt.io/object-version"


def rewrite_revision(obj: Object, entry: Entry, migration: Migration) -> Object:
    """The revision with its payload as a v1beta1 object; the same object if it holds none of an older form."""
    data = as_map(obj.get("data"))
    if data.get("apiVersion") == API_VERSION:
        return obj
    payload = decode(data, READS_REVISIONS)
    if isinstance(payload, str):
        return obj
    rewritten = {**obj, "data": _stored(data, payload, *_meant(entry, payload, migration))}
    if VERSION_LABEL in labels_of(obj):
        labels = {**labels_of(obj), VERSION_LABEL: API_VERSION.rpartition("/")[2]}
        rewritten["metadata"] = {**obj["metadata"], "labels": labels}
    return rewritten


def _stored(data: Object, payload: Payload, kind: str, name: str) -> Object:
    if payload.kind:
        return {**data, "apiVersion": API_VERSION, "spec": payload.spec}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": payload.spec}


def _meant(entry: Entry, payload: Payload, migration: Migration) -> tuple[str, str]:
    """Kind and name of the object that a spec without them was stored for, from the first VM that refers to it."""
    pointer = migration.pointer(name_of(entry.obj), payload.matcher.field)
    if pointer:
        matcher, written = pointer
        number = matcher.kinds.index(matcher.kind_named(text(written.get("kind"))) or matcher.cluster_kind)
        return payload.matcher.kinds[number], text(written.get("name"))
    # the names that upstream's own upgrade uses if no VM refers to it
    return payload.matcher.cluster_kind, f"old-version-of-{payload.matcher.field}-object"


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


Way = tuple[Release, Mapping[str, str]]


__all__ = ["RENAMED_KEYS", "migrate"]

RENAMED_KEYS = {**CAPITALS, **RUNNING, **DISKS, **VOLUMES, **EXCLUSION, **MATCHER, **CHOICE}


def migrate(
    items: Sequence[Any],
    release: Release,
    *,
    places: Sequence[tuple[str, int]] = (),
    ways: Sequence[Way] = (),
) -> tuple[list[Any], tuple[Finding, ...]]:
    """All items, and the findings. Items that do not change are the same objects as before; new items come last.

    `places` has file and index of each item, if the caller knows them. `ways` has release and severities of rules of each item,
    where these differ; presets, which concern several items, are then migrated for `release`.
    """
    bundle = Bundle(items, places)
    same: Way = (release, {})
    migrations = {each: Migration(bundle, each) for each in dict.fromkeys((release, *(way[0] for way in ways)))}
    released = ((entry, migrations[ways[entry.item][0] if ways else release]) for entry in bundle.entries)
    changes = ((entry, (), rewritten(entry, migration)) for entry, migration in released)
    changed = replaced(items, [change for change in changes if change[2] is not change[0].obj])
    again = Migration(Bundle(changed, places), release)
    changed = migrate_presets(changed, again)
    left: dict[tuple[Release, int], tuple[Way, list[Leftover]]] = {}
    for leftover in (each for migration in (*migrations.values(), again) for each in migration.leftovers):
        way = ways[leftover.entry.item] if ways else same
        left.setdefault((way[0], id(way[1])), (way, []))[1].append(leftover)
    return changed, results.ordered(finding for way, found in left.values() for finding in _placed(way, found, bundle))


def _placed(way: Way, leftovers: Sequence[Leftover], bundle: Bundle) -> Iterator[Finding]:
    release, severity = way
    facts = MigrationFacts(release=release, leftovers=tuple(leftovers))
    for finding in registry.judge_bundle(facts, severity, "migration"):
        file, index = bundle.place(finding.item)
        yield finding.but(file=file, index=index) if file else finding
