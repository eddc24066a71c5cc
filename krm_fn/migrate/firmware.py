"""The two deprecated preferences for EFI become one `preferredEfi`, if that has the same effect.

upstream: pkg/instancetype/preference/apply/firmware.go:applyFirmwarePreferences
"""

from __future__ import annotations

from krm_fn.base.paths import as_map, get, is_set
from krm_fn.kubevirt.holders import template_path
from krm_fn.kubevirt.presets.domain import DOMAIN
from krm_fn.migrate.forms import renamed, with_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.migrate.migration import Migration, User

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
