"""Functions for fields outside the devices: CPU features, firmware, clock, annotations."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_list, as_map, is_set
from krm_fn.kubevirt.facts import Conflict
from krm_fn.kubevirt.fields.verbs import Application, as_written, enter, enter_list, fill, filled, reach
from krm_fn.kubevirt.holders import TEMPLATE

FIRMWARE = ("domain", "firmware", "bootloader")
# The bootloaders, each with the field of the preference that chooses it, its own field, and the preferred value for that.
BOOTLOADERS = {
    "bios": ("preferredUseBios", "useSerial", "preferredUseBiosSerial"),
    "efi": ("preferredUseEfi", "secureBoot", "preferredUseSecureBoot"),
}


def add_cpu_features(application: Application, value: Any, source: Path) -> None:
    """Add the features that the VM does not set itself.

    upstream: pkg/instancetype/preference/apply/cpu.go:applyCPUPreferences; it crashes if the VM has no domain.cpu
    """
    features = enter_list(reach(application.spec, ("domain", "cpu")), "features")
    own = {_name(feature) for feature in features}
    for feature in as_list(value):
        if _name(feature) not in own:
            features.append(as_written(feature))
            if application.trace:
                application.trace.note(("domain", "cpu", "features", len(features) - 1), source, features[-1])


def _name(feature: Any) -> Any:
    """The name of a feature; "" if there is none that Go can read."""
    name = as_map(feature).get("name")
    return name if isinstance(name, str) else ""


def set_up_firmware(application: Application, value: Any, source: Path) -> None:
    """Choose a bootloader if the VM has none, and complete it. preferredEfi has precedence over the two deprecated fields.

    upstream: pkg/instancetype/preference/apply/firmware.go:applyFirmwarePreferences
    """
    preferred, loader = as_map(value), reach(application.spec, FIRMWARE)
    _set_up(application, "bios", preferred, source)
    if is_set(preferred.get("preferredEfi")) and not _is_chosen(loader):
        fill(application, (*FIRMWARE, "efi"), loader, preferred["preferredEfi"], (*source, "preferredEfi"))
        if application.trace and preferred.get("preferredUseEfi") is True:
            application.trace.note((*FIRMWARE, "efi"), (*source, "preferredUseEfi"), {}, kept=True)
        return
    _set_up(application, "efi", preferred, source)


def set_up_earlier_firmware(application: Application, value: Any, source: Path) -> None:
    """The same without preferredEfi, which 1.4 added.

    upstream: pkg/instancetype/instancetype.go:applyFirmwarePreferences until 1.4
    """
    for kind in BOOTLOADERS:
        _set_up(application, kind, as_map(value), source)


def set_up_first_firmware(application: Application, value: Any, source: Path) -> None:
    """The same as in 1.0.0, which overwrites useSerial and secureBoot of the VM.

    upstream: pkg/instancetype/instancetype.go:applyFirmwarePreferences until 1.4
    """
    set_up_earlier_firmware(application, value, source)
    for kind, (_, field, preferred) in BOOTLOADERS.items():
        chosen = reach(application.spec, FIRMWARE).get(kind)
        if isinstance(chosen, dict) and is_set(as_map(value).get(preferred)):
            chosen.pop(field, None)
            fill(application, (*FIRMWARE, kind, field), chosen, value[preferred], (*source, preferred))


def _set_up(application: Application, kind: str, preferred: Object, source: Path) -> None:
    """Choose a bootloader, if it is preferred and the VM has none, and complete it if it is the one that the VM has."""
    use, field, wanted = BOOTLOADERS[kind]
    loader = reach(application.spec, FIRMWARE)
    if preferred.get(use) is True and not _is_chosen(loader):
        fill(application, (*FIRMWARE, kind), loader, {}, (*source, use))
    chosen = loader.get(kind)
    if isinstance(chosen, dict) and is_set(preferred.get(wanted)):
        fill(application, (*FIRMWARE, kind, field), chosen, preferred[wanted], (*source, wanted))


def _is_chosen(loader: Object) -> bool:
    return is_set(loader.get("bios")) or is_set(loader.get("efi"))


def set_clock_offset(application: Application, value: Any, source: Path) -> None:
    """Set the complete offset, but only if the VM sets neither a timezone nor UTC.

    upstream: pkg/instancetype/preference/apply/clock.go:applyClockPreferences
    """
    clock = reach(application.spec, ("domain", "clock"))
    kept = clock.get("utc") is not None or clock.get("timezone") is not None
    for key, below in as_map(value).items():
        if below is not None and not kept:
            clock[key] = as_written(below)
        if below is not None and application.trace:
            application.trace.note(("domain", "clock", key), (*source, key), as_written(below), kept=kept)


def claim_annotations(application: Application, value: Any, source: Path) -> None:
    """Annotate the template; an annotation that the VM sets to another value conflicts.

    upstream: pkg/instancetype/apply/annotations.go:applyInstanceTypeAnnotations
    """
    own = as_map(as_map(application.template.get("metadata")).get("annotations"))
    for key, text in as_map(value).items():
        if key in own and own[key] != text:
            application.conflicts.append(
                Conflict(
                    path=(*TEMPLATE, "metadata", "annotations", key),
                    current=own[key],
                    source_path=(*source, key),
                    value=text,
                    upstream_path=f"annotations.{key}",
                )
            )
    default_annotations(application, value, source)


def default_annotations(application: Application, value: Any, source: Path) -> None:
    """Annotate the template with the annotations that it does not have.

    upstream: pkg/instancetype/preference/apply/annotations.go:applyPreferenceAnnotations
    """
    if filled(value):
        annotations = enter(enter(application.template, "metadata"), "annotations")
        for key, text in value.items():
            if application.trace:
                at = ("metadata", "annotations", key)
                application.trace.note(at, (*source, key), as_written(text), root=TEMPLATE, kept=key in annotations)
            annotations.setdefault(key, as_written(text))
