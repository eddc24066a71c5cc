"""The scopes of a quota: which pods it counts. A pod of KubeVirt has no deadline.

upstream: k8s.io/kubernetes pkg/quota/v1/evaluator/core/pods.go:podMatchesScopeFunc
"""

from __future__ import annotations

from krm_fn.base.objects import text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.kubevirt.pods.totals import BEST_EFFORT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from krm_fn.base.objects import Object
    from krm_fn.sizing.pods import AdmittedPod

KINDS = ("podAffinity", "podAntiAffinity")
REQUIRED, PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"


def scopes_of(spec: Object) -> list[Object]:
    """The scopes of a quota as requirements, all of which a pod must meet."""
    plain = [{"scopeName": scope, "operator": "Exists"} for scope in as_list(spec.get("scopes"))]
    return [*plain, *map(as_map, as_list(get(spec, ("scopeSelector", "matchExpressions"))))]


def counts(scopes: list[Object], pod: AdmittedPod) -> bool:
    """True for a pod that a quota of these scopes counts."""
    return all(SCOPES.get(text(scope.get("scopeName")), _never)(pod, scope) for scope in scopes)


def _never(_: AdmittedPod, __: Object) -> bool:
    return False


def _always(_: AdmittedPod, __: Object) -> bool:
    return True


def _best_effort(pod: AdmittedPod, _: Object) -> bool:
    return pod.qos == BEST_EFFORT


def _not_best_effort(pod: AdmittedPod, _: Object) -> bool:
    return pod.qos != BEST_EFFORT


def _of_priority(pod: AdmittedPod, scope: Object) -> bool:
    name, values = text(pod.pod.get("priorityClassName")), as_list(scope.get("values"))
    match scope.get("operator"):
        case "Exists":
            return bool(name)
        case "DoesNotExist":
            return not name
        case "In":
            return name in values and bool(name)
        case "NotIn":
            return name not in values or not name
    return False


def _crosses_namespaces(pod: AdmittedPod, _: Object) -> bool:
    affinity = as_map(pod.pod.get("affinity"))
    for kind in KINDS:
        rules = as_map(affinity.get(kind))
        weighted = [as_map(as_map(each).get("podAffinityTerm")) for each in as_list(rules.get(PREFERRED))]
        for term in (*map(as_map, as_list(rules.get(REQUIRED))), *weighted):
            if term.get("namespaces") or term.get("namespaceSelector") is not None:
                return True
    return False


SCOPES: dict[str, Callable[[AdmittedPod, Object], bool]] = {
    "Terminating": _never,
    "NotTerminating": _always,
    "BestEffort": _best_effort,
    "NotBestEffort": _not_best_effort,
    "PriorityClass": _of_priority,
    "CrossNamespacePodAffinity": _crosses_namespaces,
}
