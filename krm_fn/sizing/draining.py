"""What happens to the machines of a node that is drained, or lost: who moves, who is shut down, who stops it, and the room.

What the scheduler's filters look at counts, as far as a dump has it. Preemption, host ports, claims of dynamic resources and
limits of CSI drivers do not, and pods beside machines are not placed anew.
upstream: k8s.io/kubernetes/pkg/scheduler/framework/plugins, pkg/registry/core/pod/storage/eviction.go,
kubevirt pkg/virt-api/webhooks/validating-webhook/admitters/pod-eviction-admitter.go
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable, Sequence
from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import Object, annotations_of, kind_of, labels_of, metadata, name_of, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.migratability import MIGRATES, REFUSED, SHUT_DOWN, eviction
from krm_fn.kubevirt.pods import amounts
from krm_fn.kubevirt.pods.amounts import totals
from krm_fn.kubevirt.presets.facts import selects
from krm_fn.kubevirt.releases import NEWEST, Release
from krm_fn.sizing import nodes
from krm_fn.sizing.fitting import Fits, Needs, numbers
from krm_fn.sizing.neighbours import Key, Neighbours, NodePod
from krm_fn.sizing.nodes import NodeShape

LAUNCHER = ("kubevirt.io", "virt-launcher")
DONE = ("Succeeded", "Failed")
DOMAIN = "kubevirt.io/domain"
REQUESTS = ("resources", "requests")
# What the labels of a node say of its CPU, and the labels that a node has to which its machines can be migrated.
HOST_MODEL, SUPPORTED_MODEL = "host-model-cpu.node.kubevirt.io/", "cpu-model-migration.node.kubevirt.io/"
HOST_FEATURE, FEATURE = "host-model-required-features.node.kubevirt.io/", "cpu-feature.node.kubevirt.io/"
VENDOR, VENDOR_SINCE = "cpu-vendor.node.kubevirt.io/", (1, 8)


class Drain(Value):
    """What draining a node comes to. `machines` are by what happens to them; `without_room` fit on no other node.

    `lost` are those that fit on no other node once this one is gone, with all its pods. `held` are the pods whose disruption
    budget allows no eviction.
    """

    node: str
    machines: dict[str, tuple[str, ...]]
    without_room: tuple[str, ...]
    lost: tuple[str, ...]
    held: tuple[str, ...]

    @property
    def succeeds(self) -> bool:
        """True if all leave: a machine that is shut down does so without room elsewhere, too."""
        moving = {*self.without_room} - {*self.machines.get(SHUT_DOWN, ())}
        return not (self.machines.get(REFUSED) or moving or self.held)


def pods_of(objects: Iterable[Object]) -> list[NodePod]:
    """The pods that take room on a node."""
    return [
        NodePod(
            obj=pod,
            node=text(get(pod, ("spec", "nodeName"))),
            needs=Needs(amounts=_requests(as_map(pod.get("spec"))), pod=as_map(pod.get("spec"))),
            vmi=text(annotations_of(pod).get(DOMAIN)) if labels_of(pod).get(LAUNCHER[0]) == LAUNCHER[1] else "",
        )
        for pod in objects
        if kind_of(pod) == "Pod" and get(pod, ("status", "phase")) not in DONE and get(pod, ("spec", "nodeName"))
    ]


def _requests(spec: Object) -> dict[str, int]:
    """What the scheduler counts for a pod, in billionths.

    upstream: k8s.io/component-helpers/resource/helpers.go:PodRequests
    """
    running, first = (
        [{**as_map(each), "requests": amounts.read(get(each, REQUESTS))} for each in as_list(spec.get(key))]
        for key in ("containers", "initContainers")
    )
    found = totals(running, first, "requests") | amounts.read(get(spec, REQUESTS))
    amounts.add_to(found, amounts.read(spec.get("overhead")))
    return {**{name: amount.nanos for name, amount in found.items() if amount.nanos}, "pods": amounts.ONE.nanos}


def with_use(shapes: Sequence[NodeShape], pods: Iterable[NodePod]) -> list[NodeShape]:
    """The shapes of nodes with what is free beside some pods."""
    left = {shape.node: dict(shape.allocatable) for shape in shapes}
    for pod in pods:
        room = left.get(pod.node, {})
        room.update((name, room[name] - amount) for name, amount in pod.needs.amounts.items() if name in room)
    return [shape.but(allocatable=left[shape.node]) for shape in shapes]


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


class NodeDrains:
    """The nodes of a cluster with their pods, to be drained one after the other from the cluster as it is."""

    def __init__(self, shapes: Sequence[NodeShape], objects: Sequence[Object], strategy: str, release: Release) -> None:
        self._pods = sorted(pods_of(objects), key=lambda each: (-each.needs.amounts.get("memory", 0), each.key))
        self._shapes, self._strategy, self._release = with_use(shapes, self._pods), strategy, release
        self._fits = Fits(self._shapes)
        self._neighbours = Neighbours(self._fits, shapes, self._pods, objects)
        self._instances = {
            (effective_namespace(obj), name_of(obj)): obj for obj in objects if kind_of(obj) == "VirtualMachineInstance"
        }
        budgets = (obj for obj in objects if kind_of(obj) == "PodDisruptionBudget")
        self._budgets = [obj for obj in budgets if get(obj, ("status", "disruptionsAllowed")) == 0]

    def of(self, shape: NodeShape) -> Drain:
        """What draining a node comes to."""
        own = [pod for pod in self._pods if pod.node == shape.node]
        effects = {pod.key: eviction_of(self._instance(pod), self._strategy) for pod in own if pod.vmi}
        machines: dict[str, tuple[str, ...]] = {}
        for pod in own:
            if pod.vmi:
                machines[effects[pod.key]] = (*machines.get(effects[pod.key], ()), pod.machine)
        evicted = [pod for pod in own if not pod.vmi or effects[pod.key] == SHUT_DOWN]
        return Drain(
            node=shape.node,
            machines=machines,
            without_room=self._without_room(shape, own, effects),
            lost=self._without_room(shape, own, {}),
            held=tuple("/".join(pod.key) for pod in evicted if self._is_held(pod)),
        )

    def _instance(self, pod: NodePod) -> Object:
        return self._instances.get((pod.key[0], pod.vmi), {})

    def _without_room(self, shape: NodeShape, own: Sequence[NodePod], effects: dict[Key, str]) -> tuple[str, ...]:
        """The machines for which no other node has room, the largest placed first. Without effects, the node is gone."""
        others = self._fits.every & ~self._fits.named(shape.node)
        moved = {} if effects else {pod.key: "" for pod in own}
        left: dict[int, dict[str, int]] = {}
        lost = []
        for pod in (pod for pod in own if pod.vmi):
            effect = effects.get(pod.key)
            if effect == SHUT_DOWN:
                moved[pod.key] = ""
            needs = self._migrated(pod, shape) if effect == MIGRATES else pod.needs
            fitting = others & self._fits.on(needs)
            fitting &= self._neighbours.allowing(pod, self._fits.every if effects else others, moved) if fitting else 0
            for number in numbers(fitting):
                room = left.get(number, self._shapes[number].allocatable)
                if all(room.get(name, 0) >= amount for name, amount in needs.amounts.items()):
                    left[number] = {name: amount - needs.amounts.get(name, 0) for name, amount in room.items()}
                    moved[pod.key] = self._shapes[number].node
                    break
            else:
                lost.append(pod.machine)
        return tuple(lost)

    def _migrated(self, pod: NodePod, shape: NodeShape) -> Needs:
        """What the target of a migration needs: also a CPU that its machine can run on.

        upstream: kubevirt pkg/virt-controller/watch/migration/migration.go:createTargetPod
        """
        own = as_map(pod.needs.pod.get("nodeSelector"))
        added: dict[str, str] = {}
        model = text(get(self._instance(pod), ("spec", "domain", "cpu", "model")))
        if model == "host-model" and not any(key.startswith((SUPPORTED_MODEL, FEATURE)) for key in own):
            for key, value in shape.labels.items():
                for prefix, wanted in ((HOST_MODEL, SUPPORTED_MODEL), (HOST_FEATURE, FEATURE)):
                    if key.startswith(prefix):
                        added[wanted + key.removeprefix(prefix)] = value
        if self._release.within(since=VENDOR_SINCE) and not any(key.startswith(VENDOR) for key in own):
            added.update((key, "true") for key in shape.labels if key.startswith(VENDOR))
        return pod.needs.but(pod={**pod.needs.pod, "nodeSelector": {**own, **added}}) if added else pod.needs

    def _is_held(self, pod: NodePod) -> bool:
        """True for a pod whose budget allows no eviction. Pods that have not started need none; those of DaemonSets stay."""
        owners = map(as_map, as_list(metadata(pod.obj).get("ownerReferences")))
        if get(pod.obj, ("status", "phase")) == "Pending" or any(each.get("kind") == "DaemonSet" for each in owners):
            return False
        return any(
            effective_namespace(each) == pod.key[0] and selects(get(each, ("spec", "selector")), labels_of(pod.obj))
            for each in self._budgets
        )


def drains(
    shapes: Sequence[NodeShape], objects: Sequence[Object], strategy: str = "", release: Release = NEWEST
) -> list[Drain]:
    """What draining each node comes to. `strategy` is that of the cluster."""
    found = NodeDrains(shapes, objects, strategy, release)
    return [found.of(shape) for shape in shapes]


def eviction_of(instance: Object, strategy: str) -> str:
    """What an eviction does to an instance, in the words of `migratability`. `strategy` is that of the cluster."""
    own = text(get(instance, ("spec", "evictionStrategy"))) or strategy
    found = eviction(own, effective_namespace(instance), name_of(instance), migratable=is_migratable(instance))
    return text(found["effect"])


def is_migratable(instance: Object) -> bool:
    """True for an instance whose condition says so."""
    conditions = map(as_map, as_list(get(instance, ("status", "conditions"))))
    return any(each.get("type") == "LiveMigratable" and each.get("status") == "True" for each in conditions)
