"""What a pod counts for as a whole: as the scheduler, quotas and the kubelet see it once the API server has stored it.

upstream: k8s.io/component-helpers/resource/helpers.go:PodRequests, PodLimits;
k8s.io/kubernetes pkg/apis/core/v1/defaults.go:SetDefaults_Pod, pkg/apis/core/v1/helper/qos/qos.go:ComputePodQOS
"""

from __future__ import annotations

from krm_fn.base.annotations import Sequence
from krm_fn.base.objects import Object
from krm_fn.kubevirt.pods.amounts import Amounts, add_to, to_milli

GUARANTEED, BURSTABLE, BEST_EFFORT = "Guaranteed", "Burstable", "BestEffort"
QOS_RESOURCES = ("cpu", "memory")


def stored(container: Object) -> Object:
    """The container as the API server stores it: in thousandths, and with its limits for the requests that are absent."""
    limits = {name: to_milli(value) for name, value in container["limits"].items()}
    requests = {name: to_milli(value) for name, value in container["requests"].items()}
    return {**container, "requests": {**limits, **requests}, "limits": limits}


def totals(containers: Sequence[Object], init_containers: Sequence[Object], side: str) -> Amounts:
    """The sums of all stored containers of a pod; `side` is requests or limits.

    Init containers run one after the other, beside those before them that are restarted always.
    """
    sums: Amounts = {}
    for container in containers:
        add_to(sums, container[side])
    lasting: Amounts = {}
    most: Amounts = {}
    for container in init_containers:
        used = dict(container[side])
        if container.get("restartPolicy") == "Always":
            add_to(sums, used)
            add_to(lasting, used)
            used = dict(lasting)
        else:
            add_to(used, lasting)
        _raise(most, used)
    _raise(sums, most)
    return sums


def _raise(amounts: Amounts, least: Amounts) -> None:
    for name, value in least.items():
        if name not in amounts or amounts[name].nanos < value.nanos:
            amounts[name] = value


def qos_class(containers: Sequence[Object]) -> str:
    """The class of a pod by its stored containers, init containers among them."""
    requests, limits = ([_set_amounts(containers, side, name) for name in QOS_RESOURCES] for side in ("requests", "limits"))
    if not any(requests) and not any(limits):
        return BEST_EFFORT
    same = [*map(sum, requests)] == [*map(sum, limits)]
    return GUARANTEED if same and all(len(each) == len(containers) for each in limits) else BURSTABLE


def _set_amounts(containers: Sequence[Object], side: str, name: str) -> list[int]:
    """What the containers have of a resource that is set: zero counts as not set."""
    found = (container[side].get(name) for container in containers)
    return [amount.nanos for amount in found if amount is not None and amount.nanos]


def above_limits(containers: Sequence[Object]) -> list[str]:
    """Each `container/resource` whose request is above its limit: the API server refuses a pod with one."""
    return sorted(
        f"{container['name']}/{name}"
        for container in containers
        for name, limit in container["limits"].items()
        if container["requests"][name].nanos > limit.nanos
    )
