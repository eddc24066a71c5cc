"""Amounts of resources by name, `{"cpu": Quantity, "memory": Quantity}`, and Go's arithmetic on them.

A pod counts as a whole as the scheduler, quotas and the kubelet see it once the API server has stored it.

upstream: k8s.io/component-helpers/resource/helpers.go:PodRequests, PodLimits;
k8s.io/kubernetes pkg/apis/core/v1/defaults.go:SetDefaults_Pod, pkg/apis/core/v1/helper/qos/qos.go:ComputePodQOS
"""

from __future__ import annotations

from krm_fn.base.annotations import Mapping, Sequence
from krm_fn.base.objects import Object
from krm_fn.base.paths import as_map
from krm_fn.base.quantity import DECIMAL_SI, NANO, Quantity, of_int, parse

Amounts = dict[str, Quantity]


ZERO = Quantity(nanos=0)
ONE = Quantity(nanos=NANO)
MILLI = NANO // 1000
KILO = 1000


def amount(text: str) -> Quantity:
    """The quantity of a literal of this package. Raises: ValueError for text that is no quantity."""
    found = parse(text)
    if found is None:
        raise ValueError(f"{text!r} is no quantity")
    return found


def read(resources: object) -> Amounts:
    """The amounts of a map in an object; what is no quantity is left out, since the API server refuses it."""
    parsed = {name: parse(value) for name, value in as_map(resources).items()}
    return {name: value for name, value in parsed.items() if value is not None}


def written(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    """The amounts as Kubernetes writes them, sorted by name."""
    return {name: str(amounts[name]) for name in sorted(amounts)}


def plus(one: Quantity, other: Quantity) -> Quantity:
    """The sum, in the format of the first, or of the second where the first is zero.

    upstream: k8s.io/apimachinery/pkg/api/resource/quantity.go:Add
    """
    return Quantity(nanos=one.nanos + other.nanos, format=one.format if one.nanos else other.format)


def minus(one: Quantity, other: Quantity) -> Quantity:
    """The difference, in the format that the sum has. upstream: k8s.io/apimachinery/pkg/api/resource/quantity.go:Sub"""
    return plus(one, other.but(nanos=-other.nanos))


def times(one: Quantity, count: int) -> Quantity:
    """The quantity multiplied by a whole number."""
    return Quantity(nanos=one.nanos * count, format=one.format)


def add_to(sums: Amounts, more: Mapping[str, Quantity], count: int = 1) -> None:
    """Add to each of the sums what the other amounts have `count` times."""
    for name, value in more.items():
        each = value if count == 1 else times(value, count)
        sums[name] = plus(sums[name], each) if name in sums else each


def thousands(one: Quantity) -> int:
    """The number of thousands, rounded up. upstream: k8s.io/apimachinery/pkg/api/resource/quantity.go:ScaledValue"""
    return -(-one.nanos // (KILO * NANO))


def to_milli(one: Quantity) -> Quantity:
    """The quantity rounded up to thousandths, as the API server stores resources of pods.

    upstream: k8s.io/kubernetes pkg/apis/core/v1/defaults.go:SetDefaults_ResourceList
    """
    return one if one.nanos % MILLI == 0 else Quantity(nanos=-(-one.nanos // MILLI) * MILLI, format=one.format)


def whole(count: int) -> Quantity:
    """The quantity of a whole number."""
    return of_int(count, DECIMAL_SI)


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
