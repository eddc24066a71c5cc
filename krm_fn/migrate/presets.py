"""Presets become instancetypes and preferences, and the VMs that they match refer to these.

A preset is migrated completely or not at all. It is migrated only if the two can express everything that it sets, and every VM
that it matches can use them. Other presets stay: all releases serve them.

The fields of presets, and what they become in an instancetype or a preference.

A preset's firmware is skipped. It never reaches the instance of a VM, which has a firmware before presets are applied.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.objects import Object, annotations_of, labels_of, metadata, name_of
from krm_fn.base.paths import Path, as_map, copy, get, is_set, put
from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.expand import apply
from krm_fn.kubevirt.fields.preset import sections
from krm_fn.kubevirt.fields.topology import counts
from krm_fn.kubevirt.holders import template_path, vm_path
from krm_fn.kubevirt.presets import Presets
from krm_fn.kubevirt.presets.domain import DOMAIN, SELECTOR, Preset, domain_of, offered, offers
from krm_fn.kubevirt.presets.facts import problems
from krm_fn.kubevirt.presets.index import KIND
from krm_fn.kubevirt.presets.merge import EXCLUDE
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.resolve.matcher import API_VERSION
from krm_fn.kubevirt.schema.checking import check
from krm_fn.kubevirt.schema.flaws import NULL
from krm_fn.migrate.forms import with_value
from krm_fn.pipeline.modes import replaced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.migrate.forms import Migration

Misfit = tuple[str, Path, Any]


class Becomes(Value):
    """A field of a domain, and its place in the spec of an instancetype or a preference (`to`)."""

    field: Path
    to: str
    place: Path


FIELDS = (
    Becomes(field=("resources", "requests", "memory"), to="instancetype", place=("memory", "guest")),
    Becomes(field=("cpu", "model"), to="instancetype", place=("cpu", "model")),
    Becomes(field=("cpu", "dedicatedCpuPlacement"), to="instancetype", place=("cpu", "dedicatedCPUPlacement")),
    Becomes(field=("cpu", "isolateEmulatorThread"), to="instancetype", place=("cpu", "isolateEmulatorThread")),
    Becomes(field=("cpu", "numa"), to="instancetype", place=("cpu", "numa")),
    Becomes(field=("cpu", "realtime"), to="instancetype", place=("cpu", "realtime")),
    Becomes(field=("cpu", "maxSockets"), to="instancetype", place=("cpu", "maxSockets")),
    Becomes(field=("ioThreadsPolicy",), to="instancetype", place=("ioThreadsPolicy",)),
    Becomes(field=("cpu", "features"), to="preference", place=("cpu", "preferredCPUFeatures")),
    Becomes(field=("clock", "utc"), to="preference", place=("clock", "preferredClockOffset", "utc")),
    Becomes(field=("clock", "timezone"), to="preference", place=("clock", "preferredClockOffset", "timezone")),
    Becomes(field=("clock", "timer"), to="preference", place=("clock", "preferredTimer")),
    Becomes(field=("features", "acpi"), to="preference", place=("features", "preferredAcpi")),
    Becomes(field=("features", "apic"), to="preference", place=("features", "preferredApic")),
    Becomes(field=("features", "hyperv"), to="preference", place=("features", "preferredHyperv")),
    Becomes(field=("features", "kvm"), to="preference", place=("features", "preferredKvm")),
    Becomes(field=("features", "pvspinlock"), to="preference", place=("features", "preferredPvspinlock")),
    Becomes(field=("features", "smm"), to="preference", place=("features", "preferredSmm")),
)
KNOWN = {row.field: row for row in FIELDS}
TOPOLOGY = tuple(("cpu", part) for part in ("sockets", "cores", "threads"))
PASSED_OVER = (("firmware",),)
UNDIVIDED = (("clock", "timer"), ("devices", "watchdog"))


def translated(domain: Object, release: Release) -> tuple[dict[str, Object], list[Misfit]]:
    """The specs for a preset's domain, by `instancetype` and `preference`, and the misfits, which these cannot express.

    A misfit is a reason, the place in the domain, and the value there.
    """
    specs: dict[str, Object] = {}
    misfits: list[Misfit] = []
    given = _given(domain, release)
    for path, value in given:
        row = KNOWN.get(path)
        if row:
            put(specs.setdefault(row.to, {}), row.place, copy(value))
        elif path not in TOPOLOGY:
            misfits.append(("preset-field", path, value))
    if any(path in TOPOLOGY for path, _ in given):
        misfits += _lay_out(as_map(domain.get("cpu")), specs)
    instancetype = specs.get("instancetype")
    if instancetype is not None:
        if get(instancetype, ("memory", "guest")) is None:
            misfits.append(("preset-without-memory", (), UNSET))
        if get(instancetype, ("cpu", "guest")) is None:
            put(instancetype, ("cpu", "guest"), 1)  # the value of a VM that sets none
    return dict(sorted(specs.items())), misfits


def _given(domain: Object, release: Release) -> list[tuple[Path, Any]]:
    """The fields that a preset sets, two levels deep, without fields that presets never apply."""
    found: list[tuple[Path, Any]] = []
    for section in sections(release):
        value = offered(domain, section)
        if section.path in PASSED_OVER or value is UNSET:
            continue
        if isinstance(value, dict) and section.path not in UNDIVIDED:
            found += [((*section.path, key), below) for key, below in value.items() if below is not None]
        else:
            found.append((section.path, value))
    return found


def _lay_out(cpu: Object, specs: dict[str, Object]) -> list[Misfit]:
    """Write the number of vCPUs, and the topology if it is not the usual one. A layout with several kinds is a misfit."""
    layout = {part: count or 1 for part, count in counts(cpu).items()}
    several = [part for part, count in layout.items() if count > 1]
    if len(several) > 1:
        return [("preset-topology", ("cpu",), cpu)]
    put(specs.setdefault("instancetype", {}), ("cpu", "guest"), layout["sockets"] * layout["cores"] * layout["threads"])
    if several and several != ["sockets"]:
        put(specs.setdefault("preference", {}), ("cpu", "preferredCPUTopology"), several[0])
    return []


GROUP = "kubevirt.io"
API_VERSION_OF_PRESETS = f"{GROUP}/v1"
KINDS = {"instancetype": "VirtualMachineInstancetype", "preference": "VirtualMachinePreference"}


class MigratablePreset(Value):
    """A preset that can be migrated: its specs by the field of the VM that will refer to them, and the VMs that it matches."""

    preset: Entry
    specs: dict[str, Object]
    vms: tuple[Entry, ...]


class Matches:
    """The presets that apply to each VM, instance and similar object."""

    def __init__(self, bundle: Bundle, release: Release) -> None:
        presets = Presets(bundle)
        self._matched: dict[int, list[Entry]] = {}
        self._shared: set[int] = set()
        for entry in bundle.entries:
            taken = _seen(entry, presets, release)
            for preset in taken:
                self._matched.setdefault(id(preset.entry), []).append(entry)
            if len(taken) > 1:
                self._shared.add(id(entry))

    def of(self, preset: Entry) -> list[Entry]:
        """All objects to which a preset applies, or whose instances it applies to."""
        return self._matched.get(id(preset), [])

    def are_several(self, entry: Entry) -> bool:
        """True if several presets apply to the entry."""
        return id(entry) in self._shared


def migrate_presets(items: list[Any], migration: Migration) -> list[Any]:
    """The items with instancetypes and preferences instead of the presets that can be migrated. A second object comes last.

    Raises: InputError if presets match too often.
    """
    presets = migration.bundle.of_kind(KIND, GROUP)
    if not presets:
        return items
    found = Matches(migration.bundle, migration.release)
    taken = []
    for preset in presets:
        wanted = _taken(preset, found, migration)
        if wanted:
            taken.append(wanted)
        else:
            _keep(preset, migration)
    changes: list[tuple[Entry, Path, Object]] = []
    added: list[Object] = []
    for each in taken:
        first, *more = (_object(each.preset.obj, field, spec) for field, spec in each.specs.items())
        changes.append((each.preset, (), first))
        changes += [(vm, (), _referring(vm.obj, each)) for vm in each.vms]
        added += map(_without_host_notes, more)
        migration.add_leftover(each.preset, "preset-taken", current=len(each.vms), names=tuple(each.specs))
    return [*replaced(items, changes), *added]


def _keep(preset: Entry, migration: Migration) -> None:
    """Report why the release refuses a preset that stays, if it does: earlier releases accepted presets without devices."""
    for flaw in check(preset.obj, migration.release):
        if flaw.kind != NULL:
            migration.add_leftover(preset, "preset-refused", flaw.path, flaw=flaw, release=migration.release)


def _seen(entry: Entry, presets: Presets, release: Release) -> list[Preset]:
    """The presets that apply to the instance that the entry is, or creates."""
    path = template_path(entry.obj)
    template = None if path is None else as_map(get(entry.obj, path))
    if template is None or annotations_of(template).get(EXCLUDE) == "true":
        return []
    return presets.seen_by(API_VERSION_OF_PRESETS, effective_namespace(entry.obj)).matching(labels_of(template), release)


def _taken(preset: Entry, found: Matches, migration: Migration) -> MigratablePreset | None:
    """The result of the preset's migration; None if it stays. Then `migration` has the reason."""
    specs, misfits = translated(domain_of(preset.obj), migration.release)
    for reason, path, value in misfits:
        migration.add_leftover(preset, reason, (*DOMAIN, *path), current=value)
    if misfits:
        return None
    for reason, other in _reasons(preset, specs, found, migration):
        migration.add_leftover(preset, reason, SELECTOR, other=str(name_of(other.obj)), kind=other.obj["kind"])
        return None
    return MigratablePreset(preset=preset, specs=specs, vms=tuple(found.of(preset)))


def _reasons(preset: Entry, specs: dict[str, Object], found: Matches, migration: Migration) -> Iterator[tuple[str, Entry]]:
    """The reasons why the preset stays, and the object that causes each."""
    if not specs:
        yield "preset-without-effect", preset
    if not name_of(preset.obj):
        yield "preset-without-name", preset
    if any(problems(get(preset.obj, SELECTOR))):
        yield "preset-selector", preset
    for field in specs:
        if _is_named(preset, KINDS[field], migration.bundle):
            yield "preset-name-taken", preset
    for entry in found.of(preset):
        for reason in _obstacles(entry, preset, specs, found, migration):
            yield reason, entry


def _is_named(preset: Entry, kind: str, bundle: Bundle) -> bool:
    return bundle.find(kind, effective_namespace(preset.obj), name_of(preset.obj)) is not None


def _obstacles(entry: Entry, preset: Entry, specs: dict[str, Object], found: Matches, migration: Migration) -> Iterator[str]:
    """The reasons why an object that the preset matches cannot use the result."""
    at = vm_path(entry.obj)
    if at is None:
        yield "preset-of-instances"
        return
    vm, template = get(entry.obj, at), as_map(get(entry.obj, template_path(entry.obj) or ()))
    spec = as_map(vm.get("spec"))
    if any(spec.get(field) is not None for field in ("instancetype", "preference", "flavor")):
        yield "preset-beside-matchers"
    if found.are_several(entry):
        yield "preset-among-several"
    domain = as_map(get(template, DOMAIN))
    given = [row for row in sections(migration.release) if offers(domain_of(preset.obj), row) and row.path != ("firmware",)]
    conflicts = apply(copy(template), instancetype=specs.get("instancetype"), preference=None, release=migration.release)
    if conflicts or any(is_set(get(domain, row.path)) for row in given):
        yield "preset-conflict"


def _object(preset: Object, field: str, spec: Object) -> Object:
    """The instancetype or preference that replaces a preset, with its name."""
    kept = {key: copy(value) for key, value in metadata(preset).items()}
    return {"apiVersion": API_VERSION, "kind": KINDS[field], "metadata": kept, "spec": copy(spec)}


def _without_host_notes(obj: Object) -> Object:
    """A second object without the annotations that say where the first one comes from."""
    notes = {key: value for key, value in annotations_of(obj).items() if "config.k" not in str(key).partition("/")[0]}
    meta = {key: value for key, value in metadata(obj).items() if key != "annotations"}
    return {**obj, "metadata": {**meta, "annotations": notes} if notes else meta}


def _referring(obj: Object, found: MigratablePreset) -> Object:
    """The object, whose VM now refers to the result of the preset."""
    path = (*(vm_path(obj) or ()), "spec")
    matchers = {field: {"kind": KINDS[field], "name": name_of(found.preset.obj)} for field in found.specs}
    return with_value(obj, path, {**get(obj, path), **matchers})
