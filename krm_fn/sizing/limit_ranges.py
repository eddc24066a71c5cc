"""LimitRanges: the defaults that they give to containers, and the bounds in which pods and claims must be.

And pods as the API server admits them: with the defaults of its own and those of the namespace's LimitRanges.

upstream: k8s.io/kubernetes plugin/pkg/admission/limitranger/admission.go,
pkg/apis/core/v1/defaults.go:SetDefaults_LimitRangeItem
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator, Sequence
from krm_fn.base.bundle import Bundle, effective_namespace
from krm_fn.base.objects import Object, name_of
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.quantity import NANO, Quantity
from krm_fn.base.value import Value
from krm_fn.findings.limits import ProductLimit
from krm_fn.kubevirt.holders import SERVED
from krm_fn.kubevirt.pods.amounts import Amounts, above_limits, qos_class, read, stored, totals

Defaults = tuple[Amounts, Amounts]  # requests, limits


# Each bound may be wrong for each machine of its namespace: so often a run compares one with another.
COMPARISONS, COMPARISONS_PER_OBJECT = 40_000, 30
CONTAINER, POD, CLAIM = "Container", "Pod", "PersistentVolumeClaim"


def by_namespace(bundle: Bundle) -> dict[str, list[Object]]:
    """The LimitRanges of each namespace, by name. Raises: InputError where VMs are to be compared with too many bounds."""
    found: dict[str, list[Object]] = {}
    for entry in bundle.ordered(bundle.of_kind("LimitRange", "")):
        found.setdefault(effective_namespace(entry.obj), []).append(entry.obj)
    if found:
        most = COMPARISONS + COMPARISONS_PER_OBJECT * len(bundle.entries)
        budget = ProductLimit(most, f"LimitRanges limit VMs more than {most:,} times; use fewer of them in a namespace")
        bounds = {namespace: sum(map(_bounds, ranges)) for namespace, ranges in found.items()}
        for _, kind in SERVED:
            for entry in bundle.of_kind(kind):
                budget.take(bounds.get(effective_namespace(entry.obj), 0))
    return found


def _bounds(limit_range: Object) -> int:
    items = map(as_map, as_list(get(limit_range, ("spec", "limits"))))
    return sum(1 + sum(len(as_map(value)) for value in item.values()) for item in items)


def _items(limit_range: Object, kind: str) -> list[Object]:
    items = (as_map(item) for item in as_list(get(limit_range, ("spec", "limits"))))
    return [item for item in items if item.get("type") == kind]


def defaults(limit_range: Object) -> Defaults:
    """The requests and limits that containers without get; a later item counts.

    An item without a default limit has its maximum as one; without a default request its default limit, else its minimum.
    """
    requests: Amounts = {}
    limits: Amounts = {}
    for item in _items(limit_range, CONTAINER):
        least, most = read(item.get("min")), read(item.get("max"))
        limited = {**most, **read(item.get("default"))}
        limits.update(limited)
        requests.update({**least, **limited, **read(item.get("defaultRequest"))})
    return requests, limits


def with_defaults(container: Object, given: Sequence[Defaults]) -> Object:
    """The stored container with the defaults of all LimitRanges; the first counts."""
    requests, limits = container["requests"], container["limits"]
    for default_requests, default_limits in given:
        requests, limits = {**default_requests, **requests}, {**default_limits, **limits}
    return {**container, "requests": requests, "limits": limits} if given else container


def violations(containers: Sequence[Object], requests: Amounts, limits: Amounts, ranges: Sequence[Object]) -> Iterator[str]:
    """Each bound that a pod exceeds: those of its containers, then those of the whole pod."""
    for limit_range in ranges:
        name = name_of(limit_range)
        for item in _items(limit_range, CONTAINER):
            for container in containers:
                about = f"container {container['name']}"
                yield from _broken(item, about, container["requests"], container["limits"], name)
        for item in _items(limit_range, POD):
            yield from _broken(item, "the pod", requests, limits, name)


def claim_violations(size: Quantity | None, ranges: Sequence[Object]) -> Iterator[str]:
    """Each bound that the size of a claim exceeds. upstream: PersistentVolumeClaimValidateLimitFunc"""
    requests = {} if size is None else {"storage": size}
    for limit_range in ranges:
        for item in _items(limit_range, CLAIM):
            yield from _below(read(item.get("min")), "the claim", requests, {}, name_of(limit_range))
            yield from _above(read(item.get("max")), "the claim", {}, requests, name_of(limit_range))


def _broken(item: Object, about: str, requests: Amounts, limits: Amounts, name: str) -> Iterator[str]:
    yield from _below(read(item.get("min")), about, requests, limits, name)
    yield from _above(read(item.get("max")), about, requests, limits, name)
    yield from _apart(read(item.get("maxLimitRequestRatio")), about, requests, limits, name)


def _below(bounds: Amounts, about: str, requests: Amounts, limits: Amounts, name: str) -> Iterator[str]:
    """upstream: minConstraint"""
    for resource, least in bounds.items():
        bound = f"the minimum {least} of LimitRange {name}"
        request, limit = requests.get(resource), limits.get(resource)
        if request is None:
            yield f"{about} requests no {resource}, which {bound} demands"
        elif request.nanos < least.nanos:
            yield f"{about} requests {request} of {resource}, below {bound}"
        elif limit is not None and limit.nanos < least.nanos:
            yield f"{about} has the {resource} limit {limit}, below {bound}"


def _above(bounds: Amounts, about: str, requests: Amounts, limits: Amounts, name: str) -> Iterator[str]:
    """upstream: maxConstraint"""
    for resource, most in bounds.items():
        bound = f"the maximum {most} of LimitRange {name}"
        request, limit = requests.get(resource), limits.get(resource)
        if limit is None:
            yield f"{about} has no {resource} limit, which {bound} demands"
        elif limit.nanos > most.nanos:
            yield f"{about} has the {resource} limit {limit}, above {bound}"
        elif request is not None and request.nanos > most.nanos:
            yield f"{about} requests {request} of {resource}, above {bound}"


def _apart(bounds: Amounts, about: str, requests: Amounts, limits: Amounts, name: str) -> Iterator[str]:
    """upstream: limitRequestRatioConstraint"""
    for resource, most in bounds.items():
        bound = f"the maximum ratio {most} of LimitRange {name}"
        request, limit = requests.get(resource), limits.get(resource)
        if request is None or not request.nanos or limit is None or not limit.nanos:
            missing = "limit" if request is not None and request.nanos else "request"
            yield f"{about} has no {resource} {missing}, which {bound} demands"
        elif limit.nanos * NANO > most.nanos * request.nanos:
            yield f"{about} has the {resource} limit {limit} and the request {request}, above {bound}"


class AdmittedPod(Value):
    """A pod that the API server has admitted: `pod` as KubeVirt renders it, what its containers are then, and the sums.

    `refused` says why the API server refuses it all the same.
    """

    pod: Object
    containers: tuple[Object, ...]
    init_containers: tuple[Object, ...]
    requests: Amounts
    limits: Amounts
    qos: str
    refused: tuple[str, ...] = ()

    @property
    def all_containers(self) -> tuple[Object, ...]:
        return (*self.containers, *self.init_containers)


def admitted(pod: Object, ranges: Sequence[Object]) -> AdmittedPod:
    """The pod with the defaults of LimitRanges, in their order."""
    running, initial = (_stored(pod.get(key, ())) for key in ("containers", "initContainers"))
    given = [defaults(each) for each in ranges]
    running = tuple(with_defaults(each, given) for each in running)
    initial = tuple(with_defaults(each, given) for each in initial)
    found = AdmittedPod(
        pod=pod,
        containers=running,
        init_containers=initial,
        requests=totals(running, initial, "requests"),
        limits=totals(running, initial, "limits"),
        qos=qos_class([*running, *initial]),
    )
    wrong = [*violations(found.all_containers, found.requests, found.limits, ranges), *_above_limits(found)]
    return found.but(refused=tuple(wrong)) if wrong else found


def _stored(containers: Sequence[Object]) -> tuple[Object, ...]:
    return tuple(
        stored({**each, "requests": read(each.get("requests")), "limits": read(each.get("limits"))}) for each in containers
    )


def _above_limits(found: AdmittedPod) -> list[str]:
    """The requests that are above their limits. upstream: k8s.io/kubernetes pkg/apis/core/validation/validation.go"""
    return [f"the request of {each} is above its limit" for each in above_limits(found.all_containers)]


def pods_of(pod: Object | None, ranges: Sequence[Object]) -> tuple[AdmittedPod, ...]:
    """The pods of one machine: the launcher pod, and the one that attaches volumes."""
    found = (pod, pod.get("hotplugPod")) if pod else ()
    return tuple(admitted(each, ranges) for each in found if each)
