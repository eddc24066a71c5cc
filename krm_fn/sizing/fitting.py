"""Whether a pod can run on a node that is empty: labels, taints and amounts.

upstream: k8s.io/kubernetes pkg/scheduler/framework/plugins/{nodeaffinity,tainttoleration,noderesources},
k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go
"""

from __future__ import annotations

from krm_fn.base.objects import text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.pods.amounts import ONE
from krm_fn.sizing.rows import REQUIRED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from krm_fn.base.objects import Object
    from krm_fn.sizing.demands import Demand
    from krm_fn.sizing.nodes import Shape

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
    amounts: dict[str, int] = {"pods": ONE.nanos * len(demand.pods)}
    for pod in demand.pods:
        for name, amount in pod.requests.items():
            amounts[name] = amounts.get(name, 0) + amount.nanos
    return Needs(amounts={name: nanos for name, nanos in amounts.items() if nanos}, pod=demand.pods[0].pod)


def obstacles(needs: Needs, shape: Shape) -> list[tuple[str, str]]:
    """What keeps a machine from an empty node of the shape, each as a kind and a name; empty where it fits."""
    return [*_labels(needs.pod, shape), *_taints(needs.pod, shape), *_amounts(needs, shape)]


def _labels(pod: Object, shape: Shape) -> Iterator[tuple[str, str]]:
    for key, value in sorted(as_map(pod.get("nodeSelector")).items()):
        if shape.labels.get(key) != value and not _is_assumed(key, shape):
            yield LABEL, f"{key}={value}"
    terms = get(pod.get("affinity"), REQUIRED)
    if terms is not None and not any(_meets(as_map(term), shape) for term in as_list(terms)):
        yield AFFINITY, ""


def _is_assumed(key: str, shape: Shape) -> bool:
    """True for a machine type, where a person wrote the shape and no machine type in it."""
    if shape.node or not key.startswith(MACHINE_TYPE):
        return False
    return not any(label.startswith(MACHINE_TYPE) for label in shape.labels)


def _meets(term: Object, shape: Shape) -> bool:
    """True for a node that meets all of a term. An empty term meets none."""
    labels = [as_map(each) for each in as_list(term.get("matchExpressions"))]
    fields = [as_map(each) for each in as_list(term.get("matchFields"))]
    names = {"metadata.name": shape.node}
    if not labels and not fields:
        return False
    return all(_holds(each, shape.labels) for each in labels) and all(_holds(each, names) for each in fields)


def _holds(requirement: Object, labels: dict[str, str]) -> bool:
    found = labels.get(text(requirement.get("key")))
    judge = OPERATORS.get(text(requirement.get("operator")))
    return judge is not None and judge(found, [text(value) for value in as_list(requirement.get("values"))])


def _as_number(value: str) -> int | None:
    sign, digits = (value[0], value[1:]) if value[:1] in ("+", "-") else ("", value)
    return int(sign + digits) if digits.isdecimal() and digits.isascii() and len(digits) < 20 else None


def _compares(found: str | None, values: list[str], sign: int) -> bool:
    """upstream: k8s.io/apimachinery/pkg/labels/selector.go:Matches"""
    own, other = _as_number(found or ""), _as_number(values[0]) if len(values) == 1 else None
    return own is not None and other is not None and sign * own > sign * other


OPERATORS: dict[str, Callable[[str | None, list[str]], bool]] = {
    "In": lambda found, values: found is not None and found in values,
    "NotIn": lambda found, values: found is None or found not in values,
    "Exists": lambda found, _: found is not None,
    "DoesNotExist": lambda found, _: found is None,
    "Gt": lambda found, values: _compares(found, values, 1),
    "Lt": lambda found, values: _compares(found, values, -1),
}


def _taints(pod: Object, shape: Shape) -> Iterator[tuple[str, str]]:
    tolerations = [as_map(each) for each in as_list(pod.get("tolerations"))]
    for taint in shape.taints:
        if taint.get("effect") in BINDING and not any(_tolerates(each, taint) for each in tolerations):
            value = text(taint.get("value"))
            yield TAINT, f"{taint.get('key')}{'=' if value else ''}{value}:{taint['effect']}"


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


def _amounts(needs: Needs, shape: Shape) -> Iterator[tuple[str, str]]:
    for name in sorted(needs.amounts):
        if shape.counts(name) and needs.amounts[name] > shape.allocatable.get(name, 0):
            yield RESOURCE, name
