"""Which policies and bindings concern an object; which kinds of parameters a cluster knows, and which objects a binding names.

upstream: k8s.io/apiserver/pkg/admission/plugin/policy/matching/matching.go, webhook/predicates/rules/rules.go
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable, Iterator, Mapping, Sequence
from krm_fn.base.objects import Object, group_of, kind_of, labels_of, name_of, namespace_of, text
from krm_fn.base.paths import as_list, as_map
from krm_fn.base.value import Value
from krm_fn.policies.errors import Unsupported

EVERY = "*"
CREATE, UPDATE = "CREATE", "UPDATE"
CORE, POOL, INSTANCETYPE = "kubevirt.io", "pool.kubevirt.io", "instancetype.kubevirt.io"
VERSIONS = {CORE: ("v1", "v1alpha3"), POOL: ("v1beta1", "v1alpha1"), INSTANCETYPE: ("v1beta1",)}
CLUSTER_WIDE = ("VirtualMachineClusterInstancetype", "VirtualMachineClusterPreference")
KINDS = {
    CORE: (
        "VirtualMachine",
        "VirtualMachineInstance",
        "VirtualMachineInstanceReplicaSet",
        "VirtualMachineInstancePreset",
        "VirtualMachineInstanceMigration",
        "KubeVirt",
    ),
    POOL: ("VirtualMachinePool",),
    INSTANCETYPE: ("VirtualMachineInstancetype", "VirtualMachinePreference", *CLUSTER_WIDE),
}


class Resource(Value):
    """An object as a request names it: group, version and plural of its kind."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool


class Request(Value):
    """A request to the API server: the object, what it replaces (None for CREATE), and the resource that it names."""

    obj: Object
    resource: Resource
    operation: str = CREATE
    old: Object | None = None


class KnownNamespaces(Value):
    """The namespaces that are known, by name: all of the bundle. `whole`: there are no others."""

    namespaces: Mapping[str, Object]

    @property
    def whole(self) -> bool:
        """True where the bundle has namespaces: then a missing one may be missing in the cluster."""
        return bool(self.namespaces)


def resource_of(obj: Object) -> Resource | None:
    """The resource of an object of KubeVirt; None for other kinds, and versions that no release serves."""
    group, kind = group_of(obj), kind_of(obj)
    version = str(obj.get("apiVersion")).rpartition("/")[2]
    if kind not in KINDS.get(group, ()) or version not in VERSIONS[group]:
        return None
    return Resource(group=group, version=version, plural=f"{kind.lower()}s", kind=kind, namespaced=kind not in CLUSTER_WIDE)


def matched(given: Object, asked: Request, cluster: KnownNamespaces, *, without_rules: bool = False) -> Resource | None:
    """The resource under which constraints match a request; None if they do not.

    Raises: Unsupported if that depends on a namespace that is not in the bundle.
    """
    obj, resource = asked.obj, asked.resource
    under = _named(given, asked, without_rules=without_rules)
    selector = as_map(given.get("objectSelector"))
    if under is None or not any(selects(selector, labels_of(each)) for each in (obj, asked.old) if each is not None):
        return None
    # Last, because it may not be known.
    return under if _in_namespace(as_map(given.get("namespaceSelector")), obj, resource, cluster) else None


def _named(given: Object, asked: Request, *, without_rules: bool) -> Resource | None:
    """The resource under which the rules of constraints name a request; None if they do not."""
    resource = asked.resource
    same_kind = [resource]
    if (given.get("matchPolicy") or "Equivalent") == "Equivalent":
        same_kind += [resource.but(version=each) for each in VERSIONS[resource.group] if each != resource.version]
    excluded = list(map(as_map, as_list(given.get("excludeResourceRules"))))
    if any(_is_named(rule, each, asked) for each in same_kind for rule in excluded):
        return None
    rules = list(map(as_map, as_list(given.get("resourceRules"))))
    if not rules:
        return resource if without_rules else None
    return next((each for each in same_kind if any(_is_named(rule, each, asked) for rule in rules)), None)


def _in_namespace(selector: Object, obj: Object, resource: Resource, cluster: KnownNamespaces) -> bool:
    if not resource.namespaced or not (selector.get("matchLabels") or selector.get("matchExpressions")):
        return True
    name = namespace_of(obj) or "default"
    if name not in cluster.namespaces:
        raise Unsupported(f"the namespace {name} is not in the bundle")
    return selects(selector, labels_of(cluster.namespaces[name]))


def _is_named(rule: Object, resource: Resource, asked: Request) -> bool:
    """True if a rule names a resource and the operation on it."""
    scope = rule.get("scope") or EVERY
    if scope not in (EVERY, "Namespaced" if resource.namespaced else "Cluster"):
        return False
    names = as_list(rule.get("resourceNames"))
    if names and name_of(asked.obj) not in names:
        return False
    plurals = as_list(rule.get("resources"))
    return (
        _has(rule, "operations", asked.operation)
        and _has(rule, "apiGroups", resource.group)
        and _has(rule, "apiVersions", resource.version)
        and not {resource.plural, f"{resource.plural}/*", EVERY, "*/*"}.isdisjoint(map(str, plurals))
    )


def _has(rule: Object, key: str, value: str) -> bool:
    values = as_list(rule.get(key))
    return EVERY in values or value in values


def selects(selector: Object, labels: Mapping[str, Any]) -> bool:
    """True if a selector of labels matches. Raises: Unsupported for an operator that is not known."""
    wanted = as_map(selector.get("matchLabels"))
    return all(labels.get(key) == value for key, value in wanted.items()) and all(_expressions(selector, labels))


def _expressions(selector: Object, labels: Mapping[str, Any]) -> Iterator[bool]:
    for each in map(as_map, as_list(selector.get("matchExpressions"))):
        key, values = str(each.get("key")), as_list(each.get("values"))
        match each.get("operator"):
            case "In":
                yield labels.get(key) in values
            case "NotIn":
                yield key not in labels or labels[key] not in values
            case "Exists":
                yield key in labels
            case "DoesNotExist":
                yield key not in labels
            case _:
                raise Unsupported("a selector with an operator that is not known")


CRD = "CustomResourceDefinition"
# The kinds of the group "" that every cluster has, by whether their objects are in namespaces.
OF_CORE = {
    **dict.fromkeys(("ConfigMap", "Secret", "Service", "ServiceAccount", "LimitRange", "ResourceQuota", "Pod"), True),
    **dict.fromkeys(("PersistentVolumeClaim", "Endpoints", "PodTemplate", "ReplicationController"), True),
    **dict.fromkeys(("Namespace", "Node", "PersistentVolume"), False),
}


class PolicyParameters:
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
    if not group and version == "v1" and name in OF_CORE:
        return OF_CORE[name]
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
