"""What of an object rendering doesn't read: two objects that differ in nothing else are rendered alike, with nothing said.

This holds in the modes `expand` and `annotate`, without presets, for a VM that nothing is inferred for, and where defaults
are not `pinned`.
"""

from __future__ import annotations

from krm_fn.base.fleets import KEY, TEXTS
from krm_fn.fast_path.alike import NAMES
from krm_fn.fast_path.stencil import ANY, BOUND, TEXT
from krm_fn.kubevirt.removed_fields import TEMPLATES, VMS
from krm_fn.pipeline.modes import PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.base.paths import Path
    from krm_fn.fast_path.alike import Uses

OF_VMS: frozenset[Path] = frozenset(path for path, _ in TEXTS)
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
