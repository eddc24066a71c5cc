"""The kinds of parameters: which of them a cluster knows, and whether their objects are in namespaces."""

from __future__ import annotations

from krm_fn.base.objects import kind_of, namespace_of
from krm_fn.base.paths import as_list, as_map
from krm_fn.policies.matching import CLUSTER_WIDE, KINDS, VERSIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krm_fn.base.objects import Object

CRD = "CustomResourceDefinition"
# The kinds of the group "" that every cluster has, by whether their objects are in namespaces.
CORE = {
    **dict.fromkeys(("ConfigMap", "Secret", "Service", "ServiceAccount", "LimitRange", "ResourceQuota", "Pod"), True),
    **dict.fromkeys(("PersistentVolumeClaim", "Endpoints", "PodTemplate", "ReplicationController"), True),
    **dict.fromkeys(("Namespace", "Node", "PersistentVolume"), False),
}


def has_kind(obj: Object, kind: Object) -> bool:
    """True for an object of a kind, which is given by `apiVersion` and `kind`."""
    return (obj.get("apiVersion"), obj.get("kind")) == (kind.get("apiVersion"), kind.get("kind"))


def scope_of(kind: Object, of_kind: Sequence[Object], objects: Iterable[Object]) -> bool | None:
    """True if objects of a kind are in namespaces, None if nothing says whether the cluster knows the kind.

    `of_kind` are those of the bundle, `objects` all objects of the bundle: it may have the definition of the kind.
    """
    group, _, version = str(kind.get("apiVersion")).rpartition("/")
    name = str(kind.get("kind"))
    if not group and version == "v1" and name in CORE:
        return CORE[name]
    if name in KINDS.get(group, ()) and version in VERSIONS[group]:
        return name not in CLUSTER_WIDE
    for each in objects:
        if kind_of(each) == CRD and _defines(as_map(each.get("spec")), group, version, name):
            return as_map(each.get("spec")).get("scope") != "Cluster"
    return any(namespace_of(each) for each in of_kind) if of_kind else None


def _defines(spec: Object, group: str, version: str, name: str) -> bool:
    """True if the spec of a definition defines a kind in a version."""
    served = [each.get("name") for each in map(as_map, as_list(spec.get("versions"))) if each.get("served") is not False]
    return spec.get("group") == group and as_map(spec.get("names")).get("kind") == name and version in served
