"""What pods, claims and objects count for in quotas, by the names that quotas have for it.

upstream: k8s.io/kubernetes pkg/quota/v1/evaluator/core/pods.go:podComputeUsageHelper, persistent_volume_claims.go:Usage
"""

from __future__ import annotations

from krm_fn.kubevirt.pods.amounts import ONE, ZERO, add_to
from krm_fn.kubevirt.quantity import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from krm_fn.base.objects import Object
    from krm_fn.kubevirt.pods.amounts import Amounts
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
    """True for a resource of a device plug-in. upstream: pkg/apis/core/v1/helper/helpers.go:IsExtendedResourceName"""
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
