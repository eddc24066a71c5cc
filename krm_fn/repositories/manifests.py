"""The objects for the cluster. Argo CD applies everything that it gets, so objects that only tools read are removed here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from krm_fn.base.bundle import Bundle, is_cluster_kind, is_list
from krm_fn.base.objects import Object, annotations_of, group_of, kind_of, metadata, namespace_of
from krm_fn.flux.steps import CLUSTER_KINDS
from krm_fn.kubevirt.holders import SERVED
from krm_fn.pipeline.modes import PREFIX, replaced
from krm_fn.pipeline.stages import POLICY
from krm_fn.sources import steps
from krm_fn.sources.source import TOOL_GROUPS

INTERNAL = (
    "internal.config.kubernetes.io/",
    "config.kubernetes.io/",
    "config.k8s.io/",
    "kustomize.config.k8s.io/",
)
FUNCTION_CONFIG = ("config.kubernetes.io/function", "config.k8s.io/function", "config.kubernetes.io/container")

# The namespaced kinds that rendering reads. Argo CD puts objects without a namespace into the application's namespace.
NAMESPACED = {
    *SERVED,
    ("", "PersistentVolumeClaim"),
    ("apps", "ControllerRevision"),
    ("cdi.kubevirt.io", "DataSource"),
    ("cdi.kubevirt.io", "DataVolume"),
    ("instancetype.kubevirt.io", "VirtualMachineInstancetype"),
    ("instancetype.kubevirt.io", "VirtualMachinePreference"),
    ("kubevirt.io", "VirtualMachineInstancePreset"),
    ("snapshot.storage.k8s.io", "VolumeSnapshot"),
}

# Kinds without a namespace that repositories with VMs have, beside Kubernetes' own.
MORE = frozenset(
    ("CDI", "ClusterIssuer", "ClusterPolicy", "MigrationPolicy", "NodeNetworkConfigurationPolicy", "StorageProfile")
)


def in_namespace(items: Sequence[Any], namespace: str, *, every: bool = False) -> list[Any]:
    """The items. The objects that matter for rendering get the namespace that Argo CD will put them in.

    `every`: all others do, too, unless they are of a kind that has surely no namespace.
    """
    if not namespace:
        return list(items)
    entries = (entry for entry in Bundle(items).entries if _lacks_namespace(entry.obj, every=every))
    return replaced(items, ((entry, (), _placed(entry.obj, namespace)) for entry in entries))


def _lacks_namespace(obj: Object, *, every: bool) -> bool:
    if not isinstance(obj.get("metadata"), dict) or namespace_of(obj):
        return False
    return (every and not _is_cluster_wide(kind_of(obj))) or (group_of(obj), kind_of(obj)) in NAMESPACED


def _is_cluster_wide(kind: str) -> bool:
    return is_cluster_kind(kind) or kind in CLUSTER_KINDS or kind in MORE or kind.endswith("Class")


def _placed(obj: Object, namespace: str) -> Object:
    return {**obj, "metadata": {**metadata(obj), "namespace": namespace}}


def leaving(item: Any, *, notes: bool) -> Any:
    """The item for the cluster: None if only tools read it, the same object if no part of it is for tools.

    `notes`: keep the renderer's annotations.
    """
    if not isinstance(item, dict):
        return None
    if is_list(item):
        return _list(item, notes=notes)
    if is_local(item):
        return None
    given = annotations_of(item)
    unwanted = INTERNAL if notes or group_of(item) == POLICY[1] else (*INTERNAL, PREFIX)  # an annotation is part of a policy
    kept = {key: value for key, value in given.items() if not str(key).startswith(unwanted)}
    if len(kept) == len(given):
        return item
    rest = {key: value for key, value in metadata(item).items() if key != "annotations"}
    return {**item, "metadata": {**rest, "annotations": kept} if kept else rest}


def _list(item: Object, *, notes: bool) -> Object | None:
    below = [leaving(one, notes=notes) for one in item["items"]]
    kept = [one for one in below if one is not None]
    if not kept:
        return None
    same = len(kept) == len(below) and all(old is new for old, new in zip(item["items"], kept, strict=True))
    return item if same else {**item, "items": kept}


def is_local(obj: Object) -> bool:
    """True for objects that only tools read: kustomizations, Kptfiles, function configs, and objects marked as local."""
    return steps.is_local(obj) or group_of(obj) in TOOL_GROUPS or any(key in annotations_of(obj) for key in FUNCTION_CONFIG)
