"""Applies presets to an instance, or to the template of instances.

upstream: pkg/virt-api/webhooks/mutating-webhook/mutators/preset.go:applyPresets;
until 0.9 pkg/virt-controller/watch/preset.go:applyPresets
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator, Sequence
from krm_fn.base.bundle import Entry, effective_namespace
from krm_fn.base.objects import Object, annotations_of, labels_of, metadata, name_of
from krm_fn.base.paths import Path, as_map, copy, drop, get, is_set, put
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.fields.preset import sections
from krm_fn.kubevirt.holders import TEMPLATE
from krm_fn.kubevirt.presets.domain import DOMAIN, Domain, Preset, domain_of
from krm_fn.kubevirt.presets.facts import MAX_NAME, Applied, Disagreement, OrderMatters, PresetConflict
from krm_fn.kubevirt.presets.index import PresetGroup
from krm_fn.kubevirt.presets.merge import Era, SeenValues, agree, clashes, era_of, group_version_of, merge, release_for
from krm_fn.kubevirt.releases import Release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.trace import Trace


# KubeVirt did not rename the prefix when it renamed the kind.
APPLIED_PREFIX = "virtualmachinepreset.kubevirt.io/"

_FIRMWARE = (*DOMAIN, "firmware")
# One disagreement stops the instance. Nobody reads more than these, and there may be one for each pair of presets.
MOST_DISAGREEMENTS = 10
_DRAWN = "<drawn when the VM is created>"


def apply_presets(
    instance: Object,
    presets: PresetGroup | Sequence[Entry | Object],
    *,
    release: Release,
    namespace: str = "",
    owned: bool = False,
    trace: Trace | None = None,
) -> Applied:
    """The instance with the matching presets applied, in the given order, and the facts about them.

    `instance` has metadata and spec.domain; `namespace` is its namespace, if it does not name it itself. `presets` are those
    that can apply to it; presets of other namespaces are skipped. A preset may have its place in the bundle, which findings
    need. An instance of an API version that the release no longer serves is treated as in the last release that served it.
    `owned`: the instance represents a template, which never has the marker of the preset controller.
    """
    release = release_for(instance, release)
    era = era_of(release)
    notes = annotations_of(instance)
    if not _sound(instance) or (era.marker and era.marker in notes):
        return Applied(instance=instance)
    if era.exclude and notes.get(era.exclude) == "true":
        found = Applied(instance=instance, excluded=True)
    else:
        seen = presets if isinstance(presets, PresetGroup) else _seen(presets, namespace or effective_namespace(instance))
        found = _matched(instance, seen, release=release, era=era, trace=trace)
    if owned or not era.marker:
        return found
    return found.but(instance=_annotated(found.instance, {era.marker: group_version_of(release)}))


def fold_presets(
    owner: Object,
    presets: PresetGroup | Sequence[Entry | Object],
    *,
    release: Release,
    namespace: str,
    at: Path = TEMPLATE,
    firmware_too: bool = False,
    trace: Trace | None = None,
) -> Applied:
    """The owner of a template with the presets merged into it; the result's `instance` is the owner.

    Labels and annotations are those of the template, never of the owner; the names of the presets are written there. The
    firmware of a preset is merged only with `firmware_too`, for replica sets: an instance of a VM has its firmware uuid before
    presets are applied, so it never gets a preset's firmware.

    upstream: pkg/virt-controller/watch/vm/vm.go:SetupVMIFromVM
    """
    template = get(owner, at)
    if not isinstance(template, dict):
        return Applied(instance=owner)
    instance = {**template, "apiVersion": owner.get("apiVersion")}
    if not firmware_too:
        instance = _with_firmware(instance)
    found = apply_presets(instance, presets, release=release, namespace=namespace, owned=True, trace=trace)
    firmware = get(template if not firmware_too else found.instance, _FIRMWARE)
    found = found.but(conflicts=tuple(_without_drawn(conflict, firmware) for conflict in found.conflicts))
    if not found.applied:
        return found.but(instance=owner)
    folded = copy(owner)
    put(folded, (*at, "metadata"), copy(found.instance["metadata"]))
    put(folded, (*at, *DOMAIN), copy(found.instance["spec"]["domain"]))
    if firmware is None:
        drop(folded, (*at, *_FIRMWARE))
    else:
        put(folded, (*at, *_FIRMWARE), copy(firmware))
    return found.but(instance=folded)


def _entry(preset: Entry | Object) -> Entry:
    """The preset with its place in the bundle, if it has one."""
    return preset if isinstance(preset, Entry) else Entry(obj=preset, item=-1)


def _seen(presets: Sequence[Entry | Object], namespace: str) -> PresetGroup:
    return PresetGroup([entry for entry in map(_entry, presets) if effective_namespace(entry.obj) == namespace])


def _matched(instance: Object, presets: PresetGroup, *, release: Release, era: Era, trace: Trace | None) -> Applied:
    """The instance after the presets whose selector matches it, unless the era refuses it."""
    invalid = presets.invalid
    if invalid and era.refuses_selectors:
        return Applied(instance=instance, invalid=invalid, refused="selector")
    matching = presets.matching(labels_of(instance), release)
    disagreements = tuple(_disagreements(matching, release)) if era.compares_presets else ()
    if disagreements:
        return Applied(instance=instance, invalid=invalid, disagreements=disagreements, refused="disagreement")
    return _merged(instance, matching, release=release, era=era, trace=trace).but(invalid=invalid)


def _merged(instance: Object, matching: Sequence[Preset], *, release: Release, era: Era, trace: Trace | None) -> Applied:
    domain = Domain(copy(domain_of(instance)))
    order = tuple(_order(matching, domain, release))
    applied: list[Entry] = []
    conflicts: list[PresetConflict] = []
    idle: list[Entry] = []
    for preset in matching:
        clashing = tuple(clashes(preset, domain, release))
        credited = merge(preset, domain, release, era, trace=trace)
        if credited:
            applied.append(preset.entry)
            if trace:
                trace.giver = preset.entry
                at = ("metadata", "annotations", APPLIED_PREFIX + name_of(preset.entry.obj))
                trace.note(at, DOMAIN, group_version_of(release), root=TEMPLATE)
        if clashing:
            conflicts.append(PresetConflict(preset=preset.entry, clashes=clashing, partial=credited))
        elif not credited and era.reports_idle:
            idle.append(preset.entry)
    names = tuple(name_of(entry.obj) for entry in applied)
    return Applied(
        instance=_with_presets(instance, domain.value, names, group_version_of(release)) if names else instance,
        applied=names,
        conflicts=tuple(conflicts),
        order=order,
        idle=tuple(idle),
        too_long=tuple(entry for entry in applied if len(name_of(entry.obj)) > MAX_NAME),
    )


def _disagreements(matching: Sequence[Preset], release: Release) -> Iterator[Disagreement]:
    """The pairs of presets that clash, even if the instance sets the part itself; only the first ones of many."""
    earlier_values, count = SeenValues(release), 0
    for number, later in enumerate(matching):
        for earlier in matching[:number] if earlier_values.otherwise(later) else ():
            clashing = tuple(clashes(later, earlier.domain, release))
            if clashing:
                count += 1
                yield Disagreement(preset=later.entry, other=earlier.entry, clashes=clashing)
            if count == MOST_DISAGREEMENTS:
                return
        earlier_values.add(later)


def _order(matching: Sequence[Preset], domain: Domain, release: Release) -> Iterator[OrderMatters]:
    """The sections whose result depends on the order of presets. Since 0.4 these are only the requests."""
    setting: dict[Path, list[Preset]] = {}
    for preset in matching:
        for section, _ in preset.offers(release):
            setting.setdefault(section.path, []).append(preset)
    for section in sections(release):
        presets = setting.get(section.path, [])
        if len(presets) > 1 and domain.is_fillable(section) and not agree(presets, section):
            yield OrderMatters(path=(*DOMAIN, *section.path), presets=tuple(preset.entry for preset in presets))


def _with_presets(instance: Object, domain: Object, names: Sequence[str], group_version: str) -> Object:
    spec = {**as_map(instance.get("spec")), "domain": domain}
    return _annotated({**instance, "spec": spec}, {APPLIED_PREFIX + name: group_version for name in names})


def _annotated(instance: Object, notes: Object) -> Object:
    around = metadata(instance)
    return {**instance, "metadata": {**around, "annotations": {**as_map(around.get("annotations")), **notes}}}


def _with_firmware(instance: Object) -> Object:
    """The instance with a firmware uuid, as the controller creates it, if it can have one."""
    firmware = get(instance, _FIRMWARE)
    if not _sound(instance) or not (firmware is None or isinstance(firmware, dict)) or is_set(get(firmware, ("uuid",))):
        return instance
    spec = as_map(instance.get("spec"))
    domain = {**domain_of(instance), "firmware": {**as_map(firmware), "uuid": _DRAWN}}
    return {**instance, "spec": {**spec, "domain": domain}}


def _without_drawn(conflict: PresetConflict, firmware: Object | None) -> PresetConflict:
    """The conflict with the template's own firmware instead of the one with the generated uuid."""
    current = UNSET if firmware is None else firmware
    clashing = (clash.but(current=current) if clash.path == _FIRMWARE else clash for clash in conflict.clashes)
    return conflict.but(clashes=tuple(clashing))


def _sound(instance: Object) -> bool:
    """False if presets cannot be written, for example if the spec is a string."""
    places: tuple[Path, ...] = (("metadata",), ("metadata", "annotations"), ("spec",), DOMAIN)
    return all(get(instance, place) is None or isinstance(get(instance, place), dict) for place in places)
