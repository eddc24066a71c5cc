"""What of an object rendering doesn't read: two objects that differ in nothing else are rendered alike, with nothing said.

This holds in the modes `expand` and `annotate`, without presets, for a VM that nothing is inferred for, and where defaults
are not `pinned`.
"""

from __future__ import annotations

from krm_fn.modes import PREFIX
from krm_fn.removed import TEMPLATES, VMS
from krm_fn.yamlio.plain.alike import NAMES
from krm_fn.yamlio.plain.stencil import ANY, BOUND, EACH, TEXT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.paths import Path
    from krm_fn.yamlio.plain.alike import Uses

KEY = ""  # at the end of a row, any key of a map
SPEC = ("spec", "template", "spec")
VOLUME = (*SPEC, "volumes", EACH)

# Texts of a VM.
OF_VMS: frozenset[Path] = frozenset(
    (
        ("metadata", "name"),
        ("metadata", "labels", KEY),
        ("metadata", "annotations", KEY),
        ("spec", "dataVolumeTemplates", EACH, "metadata", "name"),
        ("spec", "template", "metadata", "labels", KEY),
        (*SPEC, "hostname"),
        (*SPEC, "domain", "devices", "interfaces", EACH, "macAddress"),
        (*VOLUME, "dataVolume", "name"),
        (*VOLUME, "persistentVolumeClaim", "claimName"),
        (*VOLUME, "cloudInitNoCloud", "userData"),
        (*VOLUME, "cloudInitNoCloud", "networkData"),
        (*VOLUME, "cloudInitConfigDrive", "userData"),
        (*VOLUME, "cloudInitConfigDrive", "networkData"),
    )
)

HOLDERS = {kind for _, kind in (*TEMPLATES, *VMS)}


def uses_of(kind: str) -> Uses | None:
    """What the values of an object of a kind are used for, by their paths; None for kinds that hold a VM or an instance."""
    if kind == "VirtualMachine":
        return _of_vm
    return None if kind in HOLDERS else _of_other


def _of_vm(path: Path) -> int:
    named = path in OF_VMS or ((*path[:-1], KEY) in OF_VMS and not str(path[-1]).startswith(PREFIX))
    return TEXT if named else BOUND


def _of_other(path: Path) -> int:
    """Of what holds no VM only the keys are looked at, until a VM refers to it; then it is read."""
    return BOUND if len(path) == 1 else TEXT if path in NAMES else ANY
