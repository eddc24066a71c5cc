"""Whether a pod may run beside those that are there: affinity between pods, spread constraints, and what its volumes reach.

Sets of nodes are integers with a bit for each, as in `fitting`.
upstream: k8s.io/kubernetes/pkg/scheduler/framework/plugins/{interpodaffinity,podtopologyspread}/filtering.go,
volumezone/volume_zone.go, volumebinding/binder.go
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterable, Iterator, Mapping, Sequence
from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import Object, kind_of, labels_of, metadata, name_of, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.pods.launch import METADATA_NAME
from krm_fn.kubevirt.presets.facts import Selector, problems, readable
from krm_fn.sizing.fitting import Fits, Needs, union
from krm_fn.sizing.nodes import NodeShape
from krm_fn.sizing.usage import REQUIRED

# The labels of volumes that name zones and regions, several with "__" between them, and those of nodes of today.
ZONES = {
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
TERMS = ("spec", "nodeAffinity", "required", "nodeSelectorTerms")

Key = tuple[str, str]
# The nodes of pods that are no longer where the dump has them; "" for none.
Moved = Mapping[Key, str]


class NodePod(Value):
    """A pod that runs on a node, and what it needs of one. `vmi` is the name of its instance, "" for any other pod."""

    obj: Object
    node: str
    needs: Needs
    vmi: str = ""

    @property
    def key(self) -> Key:
        return effective_namespace(self.obj), name_of(self.obj)

    @property
    def machine(self) -> str:
        return f"{effective_namespace(self.obj)}/{self.vmi}"


class PodGroup:
    """Pods that something takes together, and how many of them run on each node."""

    def __init__(self, pods: Iterable[NodePod]) -> None:
        self._members = {pod.key: pod.node for pod in pods}
        self._counts: dict[str, int] = {}
        for node in self._members.values():
            self._counts[node] = self._counts.get(node, 0) + 1

    def nodes(self, moved: Moved) -> dict[str, int]:
        """How many run on each node by now; nodes without any are left out."""
        found = dict(self._counts)
        for key, node in moved.items():
            if key in self._members:
                found[self._members[key]] -= 1
                found[node] = found.get(node, 0) + 1
        return {node: count for node, count in found.items() if node and count}


class Neighbours:
    """What the pods and the volumes of a dump allow other pods. What pods of one kind have in common is worked out once."""

    def __init__(self, fits: Fits, shapes: Sequence[NodeShape], pods: Sequence[NodePod], objects: Iterable[Object]) -> None:
        self._fits, self._pods = fits, pods
        self._nodes = {shape.node: shape.labels for shape in shapes}
        there = [obj for obj in objects if kind_of(obj) in ("Namespace", "PersistentVolumeClaim", "PersistentVolume")]
        self._objects = {(kind_of(obj), metadata(obj).get("namespace"), name_of(obj)): obj for obj in there}
        self._groups: dict[str, PodGroup] = {}
        holders: dict[str, list[tuple[Object, NodePod]]] = {}
        for pod in pods:
            for term in _terms(pod, "podAntiAffinity"):
                holders.setdefault(repr((pod.key[0], term)), []).append((term, pod))
        self._apart = [(*self._read(*alike[0]), PodGroup(pod for _, pod in alike)) for alike in holders.values()]

    def allowing(self, pod: NodePod, nodes: int, moved: Moved) -> int:
        """The nodes of a set on which these do not keep the pod away. `moved` says where pods are by now."""
        found = nodes & self._reached(pod)
        for key, takes, group in self._apart:
            found &= ~(self._around(key, group.nodes(moved)) if takes(pod) else 0)
        for term in _terms(pod, "podAntiAffinity"):
            found &= ~self._around(text(term.get("topologyKey")), self._group([term], pod).nodes(moved))
        return found & self._beside(pod, _terms(pod, "podAffinity"), moved) & self._spread(pod, nodes, moved)

    def _around(self, key: str, nodes: Iterable[str]) -> int:
        """The nodes with the same value of a label as one of some nodes."""
        found = {labels[key] for node in nodes if key in (labels := self._nodes.get(node, {}))}
        return union(self._fits.labelled(key)[value] for value in found)

    def _group(self, terms: Sequence[Object], owner: NodePod) -> PodGroup:
        """The pods that all of some terms take."""
        name = repr((owner.key[0], terms))
        if name not in self._groups:
            takes = [self._read(term, owner)[1] for term in terms]
            self._groups[name] = PodGroup(pod for pod in self._pods if all(each(pod) for each in takes))
        return self._groups[name]

    def _read(self, term: Object, owner: NodePod) -> tuple[str, Callable[[NodePod], bool]]:
        """The key of a term, and whether it takes a pod. A term without a selector takes none."""
        names, selector = set(map(text, as_list(term.get("namespaces")))), _selector(term.get("labelSelector"))
        spaces = _selector(term.get("namespaceSelector"))
        own = not names and term.get("namespaceSelector") is None

        def takes(pod: NodePod) -> bool:
            space = pod.key[0]
            if not (space == owner.key[0] if own else space in names or (spaces and spaces.takes(self._labels(space)))):
                return False
            return selector is not None and selector.takes(readable(labels_of(pod.obj)))

        return text(term.get("topologyKey")), takes

    def _labels(self, namespace: str) -> dict[str, Any]:
        return {METADATA_NAME: namespace, **readable(labels_of(self._objects.get(("Namespace", None, namespace), {})))}

    def _beside(self, pod: NodePod, terms: Sequence[Object], moved: Moved) -> int:
        """The nodes with pods that meet all terms in their domains; the first pod of its kind needs none."""
        found = self._fits.every
        keys = [text(term.get("topologyKey")) for term in terms]
        there = self._group(terms, pod).nodes(moved) if terms else {}
        near = [self._around(key, there) for key in keys]
        if not any(near) and all(self._read(term, pod)[1](pod) for term in terms):
            near = [union(self._fits.labelled(key).values()) for key in keys]
        for nodes in near:
            found &= nodes
        return found

    def _spread(self, pod: NodePod, nodes: int, moved: Moved) -> int:
        """The nodes on which the pod leaves its domains even enough; those without the keys are none."""
        given = map(as_map, as_list(pod.needs.pod.get("topologySpreadConstraints")))
        found, constraints = self._fits.every, [each for each in given if each.get("whenUnsatisfiable") == "DoNotSchedule"]
        for each in constraints:
            found &= union(self._fits.labelled(text(each.get("topologyKey"))).values())
        eligible = nodes & found
        for each in constraints:
            found &= self._even(pod, each, eligible, moved)
        return found

    def _even(self, pod: NodePod, constraint: Object, eligible: int, moved: Moved) -> int:
        key = text(constraint.get("topologyKey"))
        if constraint.get("nodeAffinityPolicy") != "Ignore":
            eligible &= self._fits.selected(pod.needs.pod)
        if constraint.get("nodeTaintsPolicy") == "Honor":
            eligible &= self._fits.tolerated(pod.needs.pod)
        domains = self._fits.labelled(key)
        counts = {value: 0 for value, nodes in domains.items() if nodes & eligible}
        takes, alike = _spread_over(pod, constraint)
        name = repr((pod.key[0], constraint, alike))
        group = self._groups.get(name) or self._groups.setdefault(name, PodGroup(filter(takes, self._pods)))
        for node, count in group.nodes(moved).items():
            value = self._nodes.get(node, {}).get(key)
            if value in counts and self._fits.named(node) & eligible:
                counts[value] += count
        enough = len(counts) >= (constraint.get("minDomains") or 1)
        most = constraint.get("maxSkew", 1) + (min(counts.values()) if counts and enough else 0) - takes(pod)
        return union(nodes for value, nodes in domains.items() if counts.get(value, 0) <= most)

    def _reached(self, pod: NodePod) -> int:
        """The nodes that reach all volumes of the pod that are bound."""
        found = self._fits.every
        for volume in self._volumes(pod):
            terms = get(volume, TERMS)
            found &= self._fits.meeting(as_list(terms)) if terms else found
            for key, value in labels_of(volume).items():
                if key in ZONES:
                    found &= self._in_zones(key, text(value).split("__"))
        return found

    def _volumes(self, pod: NodePod) -> Iterator[Object]:
        for claim in claims_of(pod):
            named = text(get(self._objects.get(("PersistentVolumeClaim", *claim), {}), ("spec", "volumeName")))
            yield self._objects.get(("PersistentVolume", None, named), {})

    def _in_zones(self, key: str, values: Iterable[str]) -> int:
        """The nodes in some zones or regions, and those that say nothing of zones and regions."""
        silent = self._fits.every & ~union(nodes for each in ZONES for nodes in self._fits.labelled(each).values())
        return silent | union(self._fits.labelled(each).get(value, 0) for each in {key, ZONES[key]} for value in values)


def claims_of(pod: NodePod) -> list[Key]:
    """The claims that a pod uses, by namespace and name."""
    volumes = map(as_map, as_list(pod.needs.pod.get("volumes")))
    names = (text(get(volume, ("persistentVolumeClaim", "claimName"))) for volume in volumes)
    return [(pod.key[0], name) for name in names if name]


def _terms(pod: NodePod, kind: str) -> list[Object]:
    return [as_map(each) for each in as_list(get(pod.needs.pod, ("affinity", kind, REQUIRED)))]


def _selector(given: object) -> Selector | None:
    """What a selector takes; None for an absent one, and for one that no API server accepts."""
    return None if given is None or any(problems(given)) else Selector(given)


def _spread_over(pod: NodePod, constraint: Object) -> tuple[Callable[[NodePod], bool], Object]:
    """Whether a constraint counts a pod: one of the namespace that is not being deleted; and the labels that both must have."""
    selector, own = _selector(constraint.get("labelSelector")), labels_of(pod.obj)
    alike = {key: own[key] for key in as_list(constraint.get("matchLabelKeys")) if key in own}

    def takes(other: NodePod) -> bool:
        labels = labels_of(other.obj)
        if other.key[0] != pod.key[0] or metadata(other.obj).get("deletionTimestamp"):
            return False
        return selector is not None and selector.takes(readable(labels)) and alike.items() <= labels.items()

    return takes, alike
