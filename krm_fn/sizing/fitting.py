"""Whether a pod can run on a node that is empty: labels, taints and amounts.

upstream: k8s.io/kubernetes pkg/scheduler/framework/plugins/{nodeaffinity,tainttoleration,noderesources},
k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from operator import or_

from krm_fn.base.annotations import Iterable, Iterator, Sequence
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.redaction import redact
from krm_fn.base.value import Value
from krm_fn.kubevirt.pods.amounts import ONE
from krm_fn.sizing.demands import Demand
from krm_fn.sizing.nodes import UNSTATED, NodeShape
from krm_fn.sizing.rows import REQUIRED

RESOURCE, LABEL, AFFINITY, TAINT = "resource", "label", "affinity", "taint"
# A taint with another effect only makes the scheduler prefer other nodes.
BINDING = ("NoSchedule", "NoExecute")
# KubeVirt's node labeller sets it for each machine type of the host, and nobody writes them all down.
MACHINE_TYPE = "machine-type.node.kubevirt.io/"


class Needs(Value):
    """What a machine needs of its node: amounts in billionths, and the launcher pod, which says where it may run.

    The pod that attaches volumes runs beside the launcher pod, so its amounts are among these.
    """

    amounts: dict[str, int]
    pod: Object

    @property
    def key(self) -> str:
        """The same for machines that the scheduler does not distinguish."""
        where = [self.pod.get(key) for key in ("nodeSelector", "affinity", "tolerations")]
        return repr((sorted(self.amounts.items()), where))


def needs_of(demand: Demand) -> Needs:
    """What one machine of a demand with pods needs."""
    amounts = {"memory": 0, "cpu": 0, "pods": ONE.nanos * len(demand.pods)}  # what nodes lack first comes first
    for pod in demand.pods:
        for name, amount in pod.requests.items():
            amounts[name] = amounts.get(name, 0) + amount.nanos
    return Needs(amounts={name: nanos for name, nanos in amounts.items() if nanos}, pod=demand.pods[0].pod)


class Fits:
    """Which of some shapes machines fit on. A set of shapes is an integer with a bit for each, so that thousands are few steps.

    What is known of a label, a taint or a resource is noted once for all shapes.
    """

    def __init__(self, shapes: Sequence[NodeShape]) -> None:
        self.every = (1 << len(shapes)) - 1
        self._labels: dict[str, dict[str, int]] = {}
        self._names: dict[str, dict[str, int]] = {"metadata.name": {}}
        self._taints: dict[str, tuple[Object, int]] = {}
        self._amounts: dict[str, tuple[list[int], list[int]]] = {}
        self._nodes = self._with_types = 0
        for number, shape in enumerate(shapes):
            self._take(shape, 1 << number)
        self._sort(shapes)

    def _sort(self, shapes: Sequence[NodeShape]) -> None:
        """Note the amounts of each resource, rising, and with each of them the shapes that have at least so much."""
        stated: dict[str, list[tuple[int, int]]] = {}
        for number, shape in enumerate(shapes):
            for name, amount in shape.allocatable.items():
                stated.setdefault(name, []).append((amount, 1 << number))
        for name, pairs in stated.items():
            pairs.sort(reverse=True)
            enough = list(accumulate((bit for _, bit in pairs), or_))
            self._amounts[name] = [amount for amount, _ in reversed(pairs)], enough[::-1]

    def _take(self, shape: NodeShape, bit: int) -> None:
        for found, given in ((self._labels, shape.labels), (self._names, {"metadata.name": shape.node})):
            for key, value in given.items():
                of_key = found.setdefault(key, {})
                of_key[value] = of_key.get(value, 0) | bit
        for taint in shape.taints:
            if taint.get("effect") in BINDING:
                key = repr(taint)
                self._taints[key] = taint, self._taints.get(key, (taint, 0))[1] | bit
        if shape.node:
            self._nodes |= bit
        if any(label.startswith(MACHINE_TYPE) for label in shape.labels):
            self._with_types |= bit

    def on(self, needs: Needs) -> int:
        """The shapes that a machine fits on where they are empty."""
        return self._beside(self.obstacles(needs))

    def labelled(self, key: str) -> dict[str, int]:
        """The shapes with each value of a label."""
        return self._labels.get(key, {})

    def named(self, node: str) -> int:
        """The shape of a node of the cluster."""
        return self._names["metadata.name"].get(node, 0)

    def selected(self, pod: Object) -> int:
        """The shapes that the node selector and the node affinity of a pod take."""
        return self._beside(self._of_labels(pod))

    def tolerated(self, pod: Object) -> int:
        """The shapes without a taint that keeps a pod away."""
        return self._beside(self._of_taints(pod))

    def meeting(self, terms: Iterable[object]) -> int:
        """The shapes that meet one of some terms of a node selector."""
        return union(self._meeting(as_map(term)) for term in terms)

    def _beside(self, obstacles: Iterable[tuple[tuple[str, str], int]]) -> int:
        return self.every & ~union(shapes for _, shapes in obstacles)

    def obstacles(self, needs: Needs) -> list[tuple[tuple[str, str], int]]:
        """What keeps a machine from shapes that are empty, each as a kind and a name, with these shapes."""
        found = [*self._of_labels(needs.pod), *self._of_taints(needs.pod), *self._of_amounts(needs)]
        return [(obstacle, shapes) for obstacle, shapes in found if shapes]

    def _of_labels(self, pod: Object) -> Iterator[tuple[tuple[str, str], int]]:
        for key, value in sorted(as_map(pod.get("nodeSelector")).items()):
            fitting = self._labels.get(key, {}).get(value, 0) | self._assumed(key)
            yield (LABEL, f"{key}={redact({key: value})[key]}"), self.every & ~fitting
        terms = get(pod.get("affinity"), REQUIRED)
        if terms is not None:
            yield (AFFINITY, ""), self.every & ~self.meeting(as_list(terms))

    def _assumed(self, key: str) -> int:
        """For a machine type: the shapes that a person wrote, without any machine type."""
        return self.every & ~self._nodes & ~self._with_types if key.startswith(MACHINE_TYPE) else 0

    def _meeting(self, term: Object) -> int:
        """The shapes that meet all of a term. An empty term meets none."""
        labels, fields = as_list(term.get("matchExpressions")), as_list(term.get("matchFields"))
        found = self.every if labels or fields else 0
        for requirements, known in ((labels, self._labels), (fields, self._names)):
            for requirement in map(as_map, requirements):
                found &= self._holding(requirement, known.get(text(requirement.get("key")), {}))
        return found

    def _holding(self, requirement: Object, known: dict[str, int]) -> int:
        """The shapes for which a requirement holds; `known` are the values of its key."""
        values = [text(value) for value in as_list(requirement.get("values"))]
        operator = requirement.get("operator")
        match operator:
            case "In" | "NotIn":
                found = union(known.get(value, 0) for value in values)
            case "Exists" | "DoesNotExist":
                found = union(known.values())
            case "Gt" | "Lt":
                sign = 1 if operator == "Gt" else -1
                found = union(shapes for value, shapes in known.items() if _compares(value, values, sign))
            case _:
                return 0
        return self.every & ~found if operator in ("NotIn", "DoesNotExist") else found

    def _of_taints(self, pod: Object) -> Iterator[tuple[tuple[str, str], int]]:
        by_key: dict[str, list[Object]] = {}
        for toleration in map(as_map, as_list(pod.get("tolerations"))):
            by_key.setdefault(text(toleration.get("key")), []).append(toleration)
        for taint, shapes in self._taints.values():
            candidates = (*by_key.get("", ()), *by_key.get(text(taint.get("key")), ()))
            if not any(_tolerates(each, taint) for each in candidates):
                value = text(taint.get("value"))
                yield (TAINT, f"{taint.get('key')}{'=' if value else ''}{value}:{taint['effect']}"), shapes

    def _of_amounts(self, needs: Needs) -> Iterator[tuple[tuple[str, str], int]]:
        for name in sorted(needs.amounts):
            amounts, shapes = self._amounts.get(name, ([], []))
            first = bisect_left(amounts, needs.amounts[name])
            enough = shapes[first] if first < len(shapes) else 0
            counting = self.every if name not in UNSTATED else self._nodes | (shapes[0] if shapes else 0)
            yield (RESOURCE, name), counting & ~enough


def numbers(shapes: int) -> Iterator[int]:
    """The numbers of the shapes of a set, rising."""
    while shapes:
        lowest = shapes & -shapes
        yield lowest.bit_length() - 1
        shapes ^= lowest


def union(sets: Iterable[int]) -> int:
    """The shapes that are in one of some sets."""
    found = 0
    for each in sets:
        found |= each
    return found


def _as_number(value: str) -> int | None:
    sign, digits = (value[0], value[1:]) if value[:1] in ("+", "-") else ("", value)
    return int(sign + digits) if digits.isdecimal() and digits.isascii() and len(digits) < 20 else None


def _compares(found: str, values: list[str], sign: int) -> bool:
    """upstream: k8s.io/apimachinery/pkg/labels/selector.go:Matches"""
    own, other = _as_number(found), _as_number(values[0]) if len(values) == 1 else None
    return own is not None and other is not None and sign * own > sign * other


def _tolerates(toleration: Object, taint: Object) -> bool:
    """upstream: k8s.io/api/core/v1/toleration.go:ToleratesTaint"""
    effect, key = text(toleration.get("effect")), text(toleration.get("key"))
    if (effect and effect != taint["effect"]) or (key and key != taint.get("key")):
        return False
    match text(toleration.get("operator")):
        case "" | "Equal":
            return text(toleration.get("value")) == text(taint.get("value"))
        case "Exists":
            return True
    return False
