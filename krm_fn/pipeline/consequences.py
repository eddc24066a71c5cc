"""Removes consequences: findings that disappear when the mistake of another finding is corrected.

There are four sorts. A value in a VM is wrong because its instancetype or preference has an error, which is a separate finding.
A reference of the VM cannot be resolved. A counterpart is missing only because its key is in the wrong place. Two rules
report the same value. Hosts and the command do not print consequences.
"""

from __future__ import annotations

from krm_fn.base.annotations import Collection, Iterable, Mapping
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_list, get, is_set
from krm_fn.base.placeholders import is_filled_key, placeholders
from krm_fn.findings.finding import UNSET, Finding
from krm_fn.kubevirt.admission.scope import Open
from krm_fn.kubevirt.holders import DOMAIN
from krm_fn.rules.facts.vms import VmFacts

Key = tuple[int, Path]  # item, and the place of the object in it
Parts = dict[Key, set[str]]


NO_OBJECTS: Mapping[Key, Object] = {}
# Rules that compare a VM with both its instancetype and its preference, and the parts of these that they read.
MEASURED = ("unmet-requirement", "indivisible-vcpus")
SIZES = frozenset(("cpu", "memory", "requirements"))
# Parts of an instancetype's spec that have another name in the domain.
PARTS = {"gpus": "devices", "hostDevices": "devices"}
# Lists whose entries refer to each other by name. If the key of one list is in the wrong place, entries of the other have no
# counterpart.
COUNTERPARTS = {"networks": ("interfaces",), "interfaces": ("networks",), "volumes": ("disks", "filesystems")}
MISPLACED = "unknown-field"
# Fields of older releases, and the parts around them that are refused because the new field is missing.
OUTDATED: dict[str, tuple[Path, ...]] = {"volumeName": (("name",),), "registryDisk": ((),)}
# It judges what the rest of the object comes to.
STOPPED = "never-starts"
# The size that an instance lacks, and the parts of the domain that can state it.
GUEST, STATED_IN = ("memory", "guest"), ("memory", "resources")
PLACEHOLDER = "unfilled-placeholder"
# Parts of a VM that others refer to. If a placeholder stands for one of them, nobody knows what it has.
STRUCTURES = frozenset(("spec", "template", "domain", "devices", "disks", "interfaces", "networks", "volumes", "filesystems"))
# Rules of the schema about the form of a value. The check of a webhook about the same value is more specific.
FORMS = ("value-not-allowed", "value-out-of-range")
# Both report a missing field of an owner reference; the second one has the fix.
MISSING, METADATA = "missing-field", "invalid-metadata"
# For a matcher that is not a map the first is more specific, for a field in it that is not a string the second.
MATCHER, TYPE = "bad-matcher", "wrong-type"
MATCHERS = frozenset(("instancetype", "preference"))
# For a template without storage, the refusal also names a null value.
CLAIMS, TEMPLATE = ("pvc", "storage"), "refused-data-volume-template"
# Where a volume names what a DataVolume template makes.
CLAIM_NAMES = (("persistentVolumeClaim", "claimName"), ("dataVolume", "name"))


def roots(findings: list[Finding], vms: Iterable[VmFacts], objects: Mapping[Key, Object] = NO_OBJECTS) -> list[Finding]:
    """The findings without the consequences of other findings.

    `vms` are at least those with a MEASURED finding, `objects` those in which a placeholder is no mistake.
    """
    errors: dict[Key, list[Finding]] = {}
    for finding in findings:
        if finding.severity == "error":
            errors.setdefault((finding.item, finding.inside), []).append(finding)
    by_place = {(vm.entry.item, vm.entry.path): vm for vm in vms}
    lost = {key: _lost(found) for key, found in errors.items()}
    parts = {key: _parts(found) for key, found in errors.items()}
    reported = {key: {(error.rule, error.path) for error in found} for key, found in errors.items()}
    kept = []
    nameless: set[tuple[Key, Path]] = set()
    keys = {(each.item, each.inside) for each in findings}
    opened = {key: Open(objects[key]) for key in keys if key in objects}
    open_objects = {
        (finding.item, finding.inside)
        for finding in findings
        if finding.path[-1:]
        and finding.path[-1] in STRUCTURES
        and _of_placeholder(finding, opened.get((finding.item, finding.inside)))
    }
    for finding in findings:
        key = finding.item, finding.inside
        vm = by_place.get(key)
        follows = (
            _of_placeholder(finding, opened.get(key))
            or _is_named_by_placeholder(finding, objects.get(key))
            or (key in open_objects and finding.rule.startswith(("refused-", STOPPED)))
            or _is_stopped_by(finding, errors.get(key, ()))
            or _repeats(finding, (key, finding.path), nameless)
            or _lacks_counterpart(finding, lost.get(key, ()))
            or _lacks_successor(finding, reported.get(key, ()))
            or _is_repeated(finding, reported.get(key, ()))
            or (vm is not None and _inherited(finding, vm, parts))
        )
        if not follows:
            kept.append(finding)
    return kept


def _lost(errors: Iterable[Finding]) -> set[str]:
    """The lists that have no counterpart because of these errors of one object: the key of the other list is misplaced."""
    names = {str(error.path[-1]) for error in errors if error.rule == MISPLACED and error.path}
    return {step for name in names for step in COUNTERPARTS.get(name, ())}


def _lacks_counterpart(finding: Finding, lost: Iterable[str]) -> bool:
    return finding.rule.startswith("refused-") and any(step in finding.path for step in lost)


def _of_placeholder(finding: Finding, obj: Open | None) -> bool:
    """True for a finding of another rule about a value with a placeholder, because the value is not known yet.

    The value that a VM gets from its instancetype or preference is only in the finding.
    """
    if finding.rule == PLACEHOLDER:
        return False
    if any(map(is_filled_key, finding.path[-1:])):
        return True
    return obj is not None and obj.decides(finding.path, finding.current)


def _is_named_by_placeholder(finding: Finding, obj: Object | None) -> bool:
    """True for a whole DataVolume template whose name, or that of a volume, has a placeholder: both may become equal."""
    if obj is None or finding.rule != TEMPLATE or finding.path[-2:-1] != ("dataVolumeTemplates",):
        return False
    volumes = as_list(get(obj, (*finding.path[:-2], "template", "spec", "volumes")))
    claims = (get(volume, claim) for volume in volumes for claim in CLAIM_NAMES)
    return any(map(placeholders, (get(obj, (*finding.path, "metadata", "name")), *claims)))


def _repeats(finding: Finding, place: tuple[Key, Path], nameless: set[tuple[Key, Path]]) -> bool:
    """True for all but the first refusal of an empty name; it is noted in `nameless`."""
    if not finding.rule.startswith("refused-") or finding.path[-1:] != ("name",) or finding.current != "":
        return False
    repeated = place in nameless
    nameless.add(place)
    return repeated


def _is_stopped_by(finding: Finding, errors: Iterable[Finding]) -> bool:
    """True for a fault of the instance beside an error of the object, around or below one, or at a misplaced key.

    The guest's memory can also be stated by the resources, so that it is missing for an error in these.
    """
    if finding.rule != STOPPED:
        return False
    around = finding.path[:-1]
    others = [error for error in errors if error.rule != STOPPED and error.path]
    is_size = finding.path[-2:] == GUEST and finding.current is UNSET
    if is_size and any(error.path[: len(around)] in _stating(around) for error in others):
        return True
    return any(
        error.path[:-1] == around or finding.path[: len(error.path)] == error.path or _has_misplaced(error, around)
        for error in others
    )


def _stating(memory: Path) -> list[Path]:
    """The parts of a domain that can state the memory of the guest, by the path of one of them."""
    return [(*memory[:-1], part) for part in STATED_IN]


def _has_misplaced(error: Finding, path: Path) -> bool:
    return error.rule == MISPLACED and error.path[-1] in path


def _lacks_successor(finding: Finding, reported: Collection[tuple[str, Path]]) -> bool:
    """True if the refused part has the old form, which another finding reports."""
    if not finding.rule.startswith("refused-"):
        return False
    for old, parts in OUTDATED.items():
        for part in parts:
            around = finding.path[: len(finding.path) - len(part)]
            if around + part == finding.path and (MISPLACED, (*around, old)) in reported:
                return True
    return False


def _is_repeated(finding: Finding, reported: Collection[tuple[str, Path]]) -> bool:
    """True if another rule reports the same value, or the same entries of a list, more specifically."""
    if finding.rule in FORMS:
        entry = finding.path[:-1] if finding.path and isinstance(finding.path[-1], int) else None
        return any(rule.startswith("refused-") and (path == finding.path or path[:-1] == entry) for rule, path in reported)
    if finding.rule.startswith("refused-"):
        # the field is missing, so its value can't be wrong, or it has no value of its type
        return (MISSING, finding.path) in reported or (TYPE, finding.path) in reported
    if finding.rule == MISSING:
        return (METADATA, finding.path) in reported
    if finding.rule == TYPE and finding.path[-1] in CLAIMS and (TEMPLATE, finding.path[:-1]) in reported:
        return True
    better = {TYPE: MATCHER, MATCHER: TYPE}.get(finding.rule)
    at_matcher = not MATCHERS.isdisjoint(finding.path[-1:])
    return better is not None and at_matcher == (better == MATCHER) and (better, finding.path) in reported


def _inherited(finding: Finding, vm: VmFacts, parts: Parts) -> bool:
    """True if the value comes from an instancetype or preference that has an error there, or that is not found."""
    if finding.rule not in MEASURED and not finding.rule.startswith(("refused-", STOPPED)):
        return False
    path = finding.path[len(vm.prefix) :]
    wrong = _parts_in_error(vm, parts)
    if finding.rule in MEASURED:
        return path[-1:] != ("architecture",) and bool(vm.resolution.errors or wrong & SIZES)
    if path[: len(DOMAIN)] != DOMAIN or path[len(DOMAIN) :][:1] == ():
        return False
    expanded = vm.expansion.vm if vm.expansion else None
    own, given = get(vm.vm, path), get(expanded, path) if expanded else None
    return path[len(DOMAIN)] in wrong and not is_set(own) and (is_set(given) or finding.rule == STOPPED)


def _parts(errors: Iterable[Finding]) -> set[str]:
    """The parts of a domain that come from the parts of an instancetype's or preference's spec with these errors."""
    inner = {str(error.path[1]) for error in errors if error.path[:1] == ("spec",) and len(error.path) > 1}
    return {PARTS.get(step, step) for step in inner}


def _parts_in_error(vm: VmFacts, parts: Parts) -> set[str]:
    """The parts of the VM's domain that come from a part of an instancetype or preference with an error."""
    sources = (vm.resolution.instancetype, vm.resolution.preference)
    entries = [source.entry for source in sources if source and source.entry]
    return {part for entry in entries for part in parts.get((entry.item, entry.path), ())}
