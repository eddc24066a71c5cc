"""The scopes of a quota: which pods it counts. A pod of KubeVirt has no deadline.

upstream: k8s.io/kubernetes pkg/quota/v1/evaluator/core/pods.go:podMatchesScopeFunc
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.pods.amounts import BEST_EFFORT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.sizing.pods import AdmittedPod


KINDS = ("podAffinity", "podAntiAffinity")
REQUIRED, PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"


class QuotaScope(Value):
    """A requirement of a quota that a pod must meet."""

    name: str
    operator: str = "Exists"
    values: frozenset[str] = frozenset()


def scopes_of(spec: Object) -> tuple[QuotaScope, ...]:
    """The scopes of a quota, all of which a pod must meet."""
    plain = [QuotaScope(name=text(scope)) for scope in as_list(spec.get("scopes"))]
    selected = map(as_map, as_list(get(spec, ("scopeSelector", "matchExpressions"))))
    return tuple(dict.fromkeys((*plain, *map(_selected, selected))))


def _selected(given: Object) -> QuotaScope:
    values = frozenset(value for value in as_list(given.get("values")) if isinstance(value, str))
    return QuotaScope(name=text(given.get("scopeName")), operator=text(given.get("operator")), values=values)


def counts(scopes: tuple[QuotaScope, ...], pod: AdmittedPod) -> bool:
    """True for a pod that a quota of these scopes counts."""
    return all(SCOPES.get(scope.name, _never)(pod, scope) for scope in scopes)


def _never(_: AdmittedPod, __: QuotaScope) -> bool:
    return False


def _always(_: AdmittedPod, __: QuotaScope) -> bool:
    return True


def _best_effort(pod: AdmittedPod, _: QuotaScope) -> bool:
    return pod.qos == BEST_EFFORT


def _not_best_effort(pod: AdmittedPod, _: QuotaScope) -> bool:
    return pod.qos != BEST_EFFORT


def _of_priority(pod: AdmittedPod, scope: QuotaScope) -> bool:
    name = text(pod.pod.get("priorityClassName"))
    match scope.operator:
        case "Exists":
            return bool(name)
        case "DoesNotExist":
            return not name
        case "In":
            return name in scope.values and bool(name)
        case "NotIn":
            return name not in scope.values or not name
    return False


def _crosses_namespaces(pod: AdmittedPod, _: QuotaScope) -> bool:
    affinity = as_map(pod.pod.get("affinity"))
    for kind in KINDS:
        rules = as_map(affinity.get(kind))
        weighted = [as_map(as_map(each).get("podAffinityTerm")) for each in as_list(rules.get(PREFERRED))]
        for term in (*map(as_map, as_list(rules.get(REQUIRED))), *weighted):
            if term.get("namespaces") or term.get("namespaceSelector") is not None:
                return True
    return False


SCOPES: dict[str, Callable[[AdmittedPod, QuotaScope], bool]] = {
    "Terminating": _never,
    "NotTerminating": _always,
    "BestEffort": _best_effort,
    "NotBestEffort": _not_best_effort,
    "PriorityClass": _of_priority,
    "CrossNamespacePodAffinity": _crosses_namespaces,
}
