"""What pods, claims and objects count for in quotas, by the names that quotas have for it.

upstream: k8s.io/kubernetes pkg/quota/v1/evaluator/core/pods.go:podComputeUsageHelper, persistent_volume_claims.go:Usage
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable, Iterable
from krm_fn.base.bundle import Bundle
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import as_map, get
from krm_fn.base.quantity import parse
from krm_fn.kubevirt.pods.amounts import ONE, ZERO, Amounts, add_to, minus, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.sizing.pods import AdmittedPod


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
