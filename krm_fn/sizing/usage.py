"""What pods, claims and objects count for in quotas, by the names that quotas have for it.

And which pods a quota counts, by its scopes. A pod of KubeVirt has no deadline.

upstream: k8s.io/kubernetes pkg/quota/v1/evaluator/core/pods.go:podComputeUsageHelper, persistent_volume_claims.go:Usage;
k8s.io/kubernetes pkg/quota/v1/evaluator/core/pods.go:podMatchesScopeFunc
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable, Iterable
from krm_fn.base.bundle import Bundle
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.quantity import parse
from krm_fn.base.value import Value
from krm_fn.kubevirt.pods.amounts import BEST_EFFORT, ONE, ZERO, Amounts, add_to, minus, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.sizing.limit_ranges import AdmittedPod


NATIVE = ("cpu", "memory", "ephemeral-storage")
HUGE_PAGES, REQUESTS, LIMITS = "hugepages-", "requests.", "limits."
OF_CLASS = ".storageclass.storage.k8s.io/"
PODS = {"pods": ONE, "count/pods": ONE}


def of_amounts(requests: Amounts, limits: Amounts) -> Amounts:
    """What requests and limits count for."""
    found: Amounts = {}
    for resource, amount in requests.items():
        if resource in NATIVE or resource.startswith(HUGE_PAGES):
            found[resource] = found[REQUESTS + resource] = amount
        elif is_extended(resource):
            found[REQUESTS + resource] = amount
    found.update({LIMITS + resource: limits[resource] for resource in NATIVE if resource in limits})
    return found


def is_extended(resource: str) -> bool:
    """True for a resource of a device plug-in.

    upstream: k8s.io/kubernetes pkg/apis/core/v1/helper/helpers.go:IsExtendedResourceName
    """
    return "/" in resource and "kubernetes.io/" not in resource and not resource.startswith(REQUESTS)


def of_pod(pod: AdmittedPod) -> Amounts:
    """What a pod counts for."""
    return {**PODS, **of_amounts(pod.requests, pod.limits)}


def of_claims(claims: Iterable[Object]) -> Amounts:
    """What claims count for; of a claim of the default class nobody knows the name of the class."""
    found: Amounts = {}
    for claim in sorted(claims, key=str):  # the first one decides how a sum is written
        size, name = parse(claim.get("size")) or ZERO, claim.get("storageClass")
        one = {"persistentvolumeclaims": ONE, "count/persistentvolumeclaims": ONE, "requests.storage": size}
        if name:
            one.update({f"{name}{OF_CLASS}persistentvolumeclaims": ONE, f"{name}{OF_CLASS}requests.storage": size})
        add_to(found, one)
    return found


# How the Application Aware Quota operator counts the launcher pod of an instance. While an instance migrates, a second pod
# exists. IgnoreVmiCalculator counts it, too; the others what it needs beyond the first.
# upstream: application-aware-quota pkg/aaq-controller/built-in-usage-calculators/virt-launcher-usage-calc.go
DEFAULT, UNAWARE = "DedicatedVirtualResources", "IgnoreVmiCalculator"
CONFIGURED_AT = ("spec", "configuration", "vmiCalculatorConfiguration", "configName")


def configured(bundle: Bundle) -> str:
    """The calculator that the AAQ object of the bundle selects, else the operator's default."""
    found = bundle.ordered(bundle.of_kind("AAQ"))
    named = text(get(found[0].obj, CONFIGURED_AT)) if found else ""
    return named if named in CALCULATORS else DEFAULT


def _as_pod(pod: AdmittedPod, _: Object) -> Amounts:
    return of_pod(pod)


def _as_guest(_: AdmittedPod, record: Object) -> Amounts:
    """The guest's CPUs and memory in place of the pod's."""
    cpu, memory = whole(record["vcpus"]), parse(record["memory"]) or ZERO
    amounts = {"cpu": cpu, "memory": memory}
    return {**PODS, **of_amounts(amounts, amounts)}


def _apart(pod: AdmittedPod, record: Object) -> Amounts:
    """The same under names of their own."""
    guest = _as_guest(pod, record)
    found = {"requests.instances/vmi": ONE, "instances/vmi": ONE}
    for resource in ("cpu", "memory"):
        found[f"requests.{resource}/vmi"] = found[f"{resource}/vmi"] = guest[resource]
    return found


def _without_overhead(pod: AdmittedPod, _: Object) -> Amounts:
    """The container `compute` alone, without the memory overhead. upstream leaves the overhead in the plain name `memory`"""
    compute = as_map(pod.containers[0])
    found = {**PODS, **of_amounts(compute["requests"], compute["limits"])}
    overhead = parse(pod.pod.get("memoryOverhead")) or ZERO
    for name in ("requests.memory", "limits.memory"):
        if name in found:
            less = minus(found[name], overhead)
            found[name] = less if less.nanos > 0 else ZERO
    return found


CALCULATORS: dict[str, Callable[[AdmittedPod, Object], Amounts]] = {
    "VmiPodUsage": _as_pod,
    "VirtualResources": _as_guest,
    DEFAULT: _apart,
    "GuestEffectiveResources": _without_overhead,
    UNAWARE: _as_pod,
}


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
