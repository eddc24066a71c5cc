"""The owners of templates that instances are made from, without a VirtualMachine between them: replica sets and their like.

upstream: pkg/virt-controller/watch/replicaset.go:scale; up to 0.6 pkg/virt-controller/watch/ovm.go:startVMRun
"""

from __future__ import annotations

from krm_fn.kubevirt.holders import holder_of, template_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.holders import Holder


def template_of(obj: Object) -> tuple[Holder, Path] | None:
    """What owns a template here, and where that stands; None for other objects and where no template is.

    A VM that is rendered is none of them. An OfflineVirtualMachine, which no release serves, is one.
    """
    holder, path = holder_of(obj), template_path(obj)
    rendered = holder is not None and holder.is_served and holder.vm is not None
    return (holder, path) if holder and path and not rendered else None
