"""Parameters: which of their kinds a cluster knows, and which objects a binding names."""

from __future__ import annotations

from krm_fn.base.objects import kind_of, labels_of, name_of, namespace_of, text
from krm_fn.base.paths import as_list, as_map
from krm_fn.policies.matching import CLUSTER_WIDE, KINDS, VERSIONS, selects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krm_fn.base.objects import Object
    from krm_fn.policies.matching import Resource

CRD = "CustomResourceDefinition"
# The kinds of the group "" that every cluster has, by whether their objects are in namespaces.
CORE = {
    **dict.fromkeys(("ConfigMap", "Secret", "Service", "ServiceAccount", "LimitRange", "ResourceQuota", "Pod"), True),
    **dict.fromkeys(("PersistentVolumeClaim", "Endpoints", "PodTemplate", "ReplicationController"), True),
    **dict.fromkeys(("Namespace", "Node", "PersistentVolume"), False),
}


class Parameters:
    """The objects of a kind, which is given by `apiVersion` and `kind`, as parameters of policies.

    `namespaced`: whether they are in namespaces, None if nothing says whether the cluster knows the kind. `count`: how many.
    """

    def __init__(self, kind: Object, objects: Sequence[Object]) -> None:
        wanted = kind.get("apiVersion"), kind.get("kind")
        of_kind = [each for each in objects if (each.get("apiVersion"), each.get("kind")) == wanted]
        self.count, self.namespaced = len(of_kind), _scope_of(kind, of_kind, objects)
        self._near: dict[str, list[Object]] = {}  # by namespace
        for each in sorted(of_kind, key=lambda each: (namespace_of(each), name_of(each))):
            self._near.setdefault((namespace_of(each) or "default") if self.namespaced else "", []).append(each)

    def chosen(self, ref: Object, obj: Object, resource: Resource) -> list[Object | str | None]:
        """The parameters that a `paramRef` names for an object, by their names, or a text for what is wrong with it."""
        if not self.namespaced and ref.get("namespace"):
            return ["paramRef.namespace must not be provided for a cluster-scoped paramKind"]
        if self.namespaced and not ref.get("namespace") and not resource.namespaced:
            return ["a namespaced paramKind needs paramRef.namespace for a cluster-scoped object"]
        namespace = text(ref.get("namespace")) or namespace_of(obj) or "default"
        found, selector = self._near.get(namespace if self.namespaced else "", []), as_map(ref.get("selector"))
        if ref.get("name"):
            found = [each for each in found if name_of(each) == ref["name"]]
        elif selector:
            found = [each for each in found if selects(selector, labels_of(each))]
        if not found and ref.get("parameterNotFoundAction") != "Allow":
            return ["no params found for the binding, and Deny is its action then"]
        return [*found]


def _scope_of(kind: Object, of_kind: Sequence[Object], objects: Iterable[Object]) -> bool | None:
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
