"""Presets: parts of a domain that KubeVirt copies into instances whose labels match a selector.

The owners of templates that create instances without a VirtualMachine: replica sets and similar kinds.

upstream: pkg/virt-controller/watch/replicaset/replicaset.go:scale; until 0.7 pkg/virt-controller/watch/vm.go:startVMI
"""

from __future__ import annotations

from krm_fn.base.objects import Object
from krm_fn.base.paths import Path
from krm_fn.kubevirt.holders import Holder, holder_of, template_path
from krm_fn.kubevirt.presets.apply import apply_presets, fold_presets
from krm_fn.kubevirt.presets.facts import Applied, PresetFacts
from krm_fn.kubevirt.presets.index import PresetGroup, Presets


def template_of(obj: Object) -> tuple[Holder, Path] | None:
    """The kind that owns a template, and the template's path; None for other objects and without a template.

    A VM that is rendered does not count. An OfflineVirtualMachine, which no release serves, does.
    """
    holder, path = holder_of(obj), template_path(obj)
    rendered = holder is not None and holder.is_served and holder.vm is not None
    return (holder, path) if holder and path and not rendered else None


__all__ = ["Applied", "PresetFacts", "PresetGroup", "Presets", "apply_presets", "fold_presets", "template_of"]
