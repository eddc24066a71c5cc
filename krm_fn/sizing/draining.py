"""What happens to the machines of a node that is drained: who moves, who is shut down, who stops the drain, and the room.

Of the scheduler, node selectors, node affinity, taints, and all amounts count: CPU, memory, huge pages, devices, pods. Affinity
between pods, spread constraints, volumes of a zone and preemption do not.
upstream: k8s.io/kubernetes/pkg/scheduler/framework/plugins,
kubevirt pkg/virt-api/webhooks/validating-webhook/admitters/pod-eviction-admitter.go
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable, Sequence
from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import Object, annotations_of, kind_of, labels_of, name_of, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.quantity import parse
from krm_fn.base.value import Value
from krm_fn.kubevirt.migratability import REFUSED, eviction
from krm_fn.kubevirt.pods.amounts import ONE
from krm_fn.sizing import nodes
from krm_fn.sizing.fitting import Fits, Needs
from krm_fn.sizing.nodes import NodeShape

LAUNCHER = ("kubevirt.io", "virt-launcher")
DONE = ("Succeeded", "Failed")
DOMAIN = "kubevirt.io/domain"
ALLOWED = ("status", "disruptionsAllowed")


class NodePod(Value):
    """A pod that runs on a node, and what it needs of one. `vmi` is the name of its instance, "" for any other pod."""

    namespace: str
    name: str
    node: str
    needs: Needs
    vmi: str = ""


class Drain(Value):
    """What draining a node comes to. `machines` are by what happens to them; `without_room` fit on no other node.

    `held` are the pods whose disruption budget allows no eviction.
    """

    node: str
    machines: dict[str, tuple[str, ...]]
    without_room: tuple[str, ...]
    held: tuple[str, ...]

    @property
    def succeeds(self) -> bool:
        return not (self.machines.get(REFUSED) or self.without_room or self.held)


def pods_of(objects: Iterable[Object]) -> list[NodePod]:
    """The pods that take room on a node."""
    return [
        NodePod(
            namespace=effective_namespace(pod),
            name=name_of(pod),
            node=text(get(pod, ("spec", "nodeName"))),
            needs=Needs(amounts=_requests(as_map(pod.get("spec"))), pod=as_map(pod.get("spec"))),
            vmi=_vmi(pod),
        )
        for pod in objects
        if kind_of(pod) == "Pod" and get(pod, ("status", "phase")) not in DONE and get(pod, ("spec", "nodeName"))
    ]


def _vmi(pod: Object) -> str:
    if labels_of(pod).get(LAUNCHER[0]) != LAUNCHER[1]:
        return ""
    return text(annotations_of(pod).get(DOMAIN))


def _requests(spec: Object) -> dict[str, int]:
    """What the scheduler counts for a pod, in billionths.

    upstream: k8s.io/component-helpers/resource/helpers.go:PodRequests
    """
    total: dict[str, int] = {}
    most: dict[str, int] = {}
    for container in map(as_map, as_list(spec.get("containers"))):
        _add(total, _amounts(container))
    sidecars: dict[str, int] = {}
    for container in map(as_map, as_list(spec.get("initContainers"))):
        own = _amounts(container)
        if container.get("restartPolicy") == "Always":
            _add(sidecars, own)
            _add(total, own)
            own = {}
        for name in {*own, *sidecars}:
            most[name] = max(most.get(name, 0), own.get(name, 0) + sidecars.get(name, 0))
    found = {name: max(total.get(name, 0), most.get(name, 0)) for name in {*total, *most}}
    _add(found, _quantities(as_map(spec.get("overhead"))))
    return {**{name: amount for name, amount in found.items() if amount}, "pods": ONE.nanos}


def _amounts(container: Object) -> dict[str, int]:
    return _quantities(as_map(get(container, ("resources", "requests"))))


def _quantities(given: dict[str, Any]) -> dict[str, int]:
    return {name: amount.nanos for name, value in given.items() if (amount := parse(value))}


def _add(total: dict[str, int], more: dict[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def with_use(shapes: Sequence[NodeShape], pods: Iterable[NodePod]) -> list[NodeShape]:
    """The shapes of nodes with what is free beside some pods."""
    used: dict[str, dict[str, int]] = {}
    for pod in pods:
        _add(used.setdefault(pod.node, {}), pod.needs.amounts)
    return [
        shape.but(allocatable={name: left - used.get(shape.node, {}).get(name, 0) for name, left in shape.allocatable.items()})
        for shape in shapes
    ]


def read(given: Any) -> list[NodeShape]:
    """The shapes of a document; those of a dump with what other pods than those of machines leave free.

    Raises: InputError that names the place.
    """
    items = as_list(given.get("items")) if isinstance(given, dict) else []
    found = [item for item in items if isinstance(item, dict) and item.get("kind") == "Node"]
    if not found or len(found) == len(items):
        return nodes.read(given)
    pods = pods_of(item for item in items if isinstance(item, dict))
    return with_use(nodes.read(found), [pod for pod in pods if not pod.vmi])


def drains(shapes: Sequence[NodeShape], objects: Sequence[Object], strategy: str = "") -> list[Drain]:
    """What draining each node comes to, one after the other from the cluster as it is. `strategy` is that of the cluster."""
    pods = pods_of(objects)
    instances = {(effective_namespace(obj), name_of(obj)): obj for obj in objects if kind_of(obj) == "VirtualMachineInstance"}
    budgets = [
        obj for obj in objects if kind_of(obj) == "PodDisruptionBudget" and get(obj, ("status", "disruptionsAllowed")) == 0
    ]
    labels = {(effective_namespace(obj), name_of(obj)): labels_of(obj) for obj in objects if kind_of(obj) == "Pod"}
    free = with_use(shapes, pods)
    return [_drain(shape.node, free, pods, instances, strategy, _held(shape.node, pods, budgets, labels)) for shape in shapes]


def _drain(  # noqa: PLR0917  the parts of one cluster
    node: str,
    free: Sequence[NodeShape],
    pods: Sequence[NodePod],
    instances: dict[tuple[str, str], Object],
    strategy: str,
    held: tuple[str, ...],
) -> Drain:
    own = [pod for pod in pods if pod.node == node and pod.vmi]
    machines: dict[str, tuple[str, ...]] = {}
    for pod in own:
        what = eviction_of(instances.get((pod.namespace, pod.vmi), {}), strategy)
        machines[what] = (*machines.get(what, ()), f"{pod.namespace}/{pod.vmi}")
    others = [shape for shape in free if shape.node != node]
    lost = [f"{pod.namespace}/{pod.vmi}" for pod in _without_room(own, others)]
    return Drain(node=node, machines=machines, without_room=tuple(lost), held=held)


def eviction_of(instance: Object, strategy: str) -> str:
    """What an eviction does to an instance, in the words of `migratability`. `strategy` is that of the cluster."""
    own = text(get(instance, ("spec", "evictionStrategy"))) or strategy
    found = eviction(own, effective_namespace(instance), name_of(instance), migratable=is_migratable(instance))
    return text(found["effect"])


def is_migratable(instance: Object) -> bool:
    """True for an instance whose condition says so."""
    conditions = map(as_map, as_list(get(instance, ("status", "conditions"))))
    return any(each.get("type") == "LiveMigratable" and each.get("status") == "True" for each in conditions)


def _without_room(pods: Iterable[NodePod], shapes: Sequence[NodeShape]) -> list[NodePod]:
    """The pods for which no node has room, the largest placed first."""
    fits, left, lost = Fits(shapes), [dict(shape.allocatable) for shape in shapes], []
    for pod in sorted(pods, key=lambda each: (-each.needs.amounts.get("memory", 0), each.namespace, each.name)):
        fitting = fits.on(pod.needs)
        for number, room in enumerate(left):
            amounts = pod.needs.amounts.items()
            if fitting >> number & 1 and all(room.get(name, 0) >= amount for name, amount in amounts):
                left[number] = {**room, **{name: room[name] - amount for name, amount in amounts}}
                break
        else:
            lost.append(pod)
    return lost


def _held(
    node: str, pods: Iterable[NodePod], budgets: Sequence[Object], labels: dict[tuple[str, str], Object]
) -> tuple[str, ...]:
    """The pods beside machines that a disruption budget keeps from being evicted. A machine's own is KubeVirt's."""
    return tuple(
        f"{pod.namespace}/{pod.name}"
        for pod in pods
        if pod.node == node and not pod.vmi and any(_covers(each, pod, labels) for each in budgets)
    )


def _covers(budget: Object, pod: NodePod, labels: dict[tuple[str, str], Object]) -> bool:
    wanted = as_map(get(budget, ("spec", "selector", "matchLabels")))
    own = labels.get((pod.namespace, pod.name), {})
    same = effective_namespace(budget) == pod.namespace
    return same and bool(wanted) and all(own.get(key) == value for key, value in wanted.items())
