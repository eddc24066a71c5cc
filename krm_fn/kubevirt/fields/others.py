"""Functions for fields outside the devices: CPU features, firmware, clock, annotations."""

from __future__ import annotations

from krm_fn.base.paths import as_list, as_map, is_set
from krm_fn.kubevirt.facts import Conflict
from krm_fn.kubevirt.fields.verbs import as_written, enter, enter_list, filled, reach
from krm_fn.kubevirt.holders import TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.fields.verbs import Application

FIRMWARE = ("domain", "firmware", "bootloader")
# The bootloader, its field, and the field of the preference that refines it.
REFINED = (("bios", "useSerial", "preferredUseBiosSerial"), ("efi", "secureBoot", "preferredUseSecureBoot"))


def add_cpu_features(application: Application, value: Any, _: Path) -> None:
    """Add the features that the VM does not set itself.

    upstream: pkg/instancetype/preference/apply/cpu.go:applyCPUPreferences; it crashes if the VM has no domain.cpu
    """
    features = enter_list(reach(application.spec, ("domain", "cpu")), "features")
    own = {_name(feature) for feature in features}
    features.extend(as_written(feature) for feature in as_list(value) if _name(feature) not in own)


def _name(feature: Any) -> Any:
    """The name of a feature; "" if there is none that Go can read."""
    name = as_map(feature).get("name")
    return name if isinstance(name, str) else ""


def set_up_firmware(application: Application, value: Any, _: Path) -> None:
    """Choose a bootloader if the VM has none, and complete it. preferredEfi has precedence over the two deprecated fields.

    upstream: pkg/instancetype/preference/apply/firmware.go:applyFirmwarePreferences
    """
    preferred, loader = as_map(value), reach(application.spec, FIRMWARE)
    _set_up_bios(preferred, loader)
    if is_set(preferred.get("preferredEfi")) and not _is_chosen(loader):
        loader["efi"] = as_written(preferred["preferredEfi"])
        return
    _set_up_efi(preferred, loader)


def set_up_earlier_firmware(application: Application, value: Any, _: Path) -> None:
    """The same without preferredEfi, which 1.4 added.

    upstream: pkg/instancetype/instancetype.go:applyFirmwarePreferences
    """
    preferred, loader = as_map(value), reach(application.spec, FIRMWARE)
    _set_up_bios(preferred, loader)
    _set_up_efi(preferred, loader)


def set_up_first_firmware(application: Application, value: Any, source: Path) -> None:
    """The same as in 1.0.0, which overwrites useSerial and secureBoot of the VM.

    upstream: pkg/instancetype/instancetype.go:applyFirmwarePreferences
    """
    set_up_earlier_firmware(application, value, source)
    for block, field, preferred in REFINED:
        chosen = reach(application.spec, FIRMWARE).get(block)
        if isinstance(chosen, dict) and is_set(as_map(value).get(preferred)):
            chosen[field] = as_written(value[preferred])


def _set_up_bios(preferred: dict[str, Any], loader: dict[str, Any]) -> None:
    if preferred.get("preferredUseBios") is True and not _is_chosen(loader):
        loader["bios"] = {}
    _refine(loader, "bios", "useSerial", preferred.get("preferredUseBiosSerial"))


def _set_up_efi(preferred: dict[str, Any], loader: dict[str, Any]) -> None:
    if preferred.get("preferredUseEfi") is True and not _is_chosen(loader):
        loader["efi"] = {}
    _refine(loader, "efi", "secureBoot", preferred.get("preferredUseSecureBoot"))


def _is_chosen(loader: dict[str, Any]) -> bool:
    return is_set(loader.get("bios")) or is_set(loader.get("efi"))


def _refine(loader: dict[str, Any], kind: str, field: str, value: Any) -> None:
    chosen = loader.get(kind)
    if isinstance(chosen, dict) and is_set(value) and not is_set(chosen.get(field)):
        chosen[field] = as_written(value)


def set_clock_offset(application: Application, value: Any, _: Path) -> None:
    """Set the complete offset, but only if the VM sets neither a timezone nor UTC.

    upstream: pkg/instancetype/preference/apply/clock.go:applyClockPreferences
    """
    clock = reach(application.spec, ("domain", "clock"))
    if clock.get("utc") is None and clock.get("timezone") is None:
        clock.update({key: as_written(below) for key, below in as_map(value).items() if below is not None})


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


def default_annotations(application: Application, value: Any, _: Path) -> None:
    """Annotate the template with the annotations that it does not have.

    upstream: pkg/instancetype/preference/apply/annotations.go:applyPreferenceAnnotations
    """
    if filled(value):
        annotations = enter(enter(application.template, "metadata"), "annotations")
        for key, text in value.items():
            annotations.setdefault(key, as_written(text))
