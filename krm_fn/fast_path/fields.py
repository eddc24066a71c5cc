"""How rendering uses each field of an object.

        FIXED   the field decides what the object is: another value makes another shape
        READ    the value matters: objects that differ in it are rendered separately
        TEXT    nobody interprets the value: it may be any other text
        ANY     the value may be any scalar: for most kinds only the keys are checked, until a VM refers to an object

Two VMs that differ only in values of the use TEXT are rendered in the same way, and neither has a finding. This holds in the
modes `expand` and `annotate`, without presets, for a VM that nothing is inferred for, and where defaults are not `pinned`.
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable
from krm_fn.base.paths import Path
from krm_fn.kubevirt.removed_fields import TEMPLATES, VMS
from krm_fn.pipeline.modes import PREFIX
from krm_fn.pipeline.own_texts import KEY, TEXTS

Uses = Callable[[Path], int]


FIXED, READ, TEXT, ANY = range(4)
TYPE: tuple[Path, ...] = (("apiVersion",), ("kind",))
NAMES: tuple[Path, ...] = (("metadata", "name"), ("metadata", "namespace"))
OPAQUE: frozenset[Path] = frozenset(path for path, _ in TEXTS)
HOLDERS = {kind for _, kind in (*TEMPLATES, *VMS)}


def uses_of(kind: str) -> Uses | None:
    """The use of each value of an object of a kind, by its path; None for kinds that hold a VM or an instance."""
    if kind == "VirtualMachine":
        return _of_vm
    return None if kind in HOLDERS else _of_other


def _of_vm(path: Path) -> int:
    if path in TYPE:
        return FIXED
    opaque = path in OPAQUE or ((*path[:-1], KEY) in OPAQUE and not str(path[-1]).startswith(PREFIX))
    return TEXT if opaque else READ


def _of_other(path: Path) -> int:
    return FIXED if path in TYPE else TEXT if path in NAMES else ANY
