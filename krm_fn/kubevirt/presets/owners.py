"""The owners of templates that instances are made from, without a VirtualMachine between them: replica sets and their like.

upstream: pkg/virt-controller/watch/replicaset.go:scale; up to 0.6 pkg/virt-controller/watch/ovm.go:startVMRun
"""

from __future__ import annotations

from krm_fn.base.objects import group_of, kind_of
from krm_fn.base.paths import get
from krm_fn.base.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path


class Owner(Value):
    """A kind of owner: where its template may stand, and whether its instances take a preset's firmware.

    An instance made for an OfflineVirtualMachine or VirtualMachine has a firmware uuid before presets are looked at.
    """

    kind: str
    templates: tuple[Path, ...] = (("spec", "template"),)
    firmware: bool = False


OWNERS = {
    row.kind: row
    for row in (
        Owner(kind="OfflineVirtualMachine", templates=(("spec", "template"), ("spec", "Template"))),  # in 0.3 with a capital
        Owner(kind="VirtualMachineReplicaSet", firmware=True),
        Owner(kind="VirtualMachineInstanceReplicaSet", firmware=True),
    )
}


def template_of(obj: Object) -> tuple[Owner, Path] | None:
    """What owns a template here, and where that stands; None for other objects and where no template is."""
    owner = OWNERS.get(kind_of(obj)) if group_of(obj) == "kubevirt.io" else None
    if owner is None:
        return None
    return next(((owner, path) for path in owner.templates if isinstance(get(obj, path), dict)), None)
