"""Pods as the API server admits them: with the defaults of its own and those of the namespace's LimitRanges."""

from __future__ import annotations

from krm_fn.base.annotations import Sequence
from krm_fn.base.objects import Object
from krm_fn.base.value import Value
from krm_fn.kubevirt.pods.amounts import Amounts, above_limits, qos_class, read, stored, totals
from krm_fn.sizing import limit_ranges


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
    defaults = [limit_ranges.defaults(each) for each in ranges]
    running = tuple(limit_ranges.with_defaults(each, defaults) for each in running)
    initial = tuple(limit_ranges.with_defaults(each, defaults) for each in initial)
    found = AdmittedPod(
        pod=pod,
        containers=running,
        init_containers=initial,
        requests=totals(running, initial, "requests"),
        limits=totals(running, initial, "limits"),
        qos=qos_class([*running, *initial]),
    )
    wrong = [*limit_ranges.violations(found.all_containers, found.requests, found.limits, ranges), *_above(found)]
    return found.but(refused=tuple(wrong)) if wrong else found


def _stored(containers: Sequence[Object]) -> tuple[Object, ...]:
    return tuple(
        stored({**each, "requests": read(each.get("requests")), "limits": read(each.get("limits"))}) for each in containers
    )


def _above(found: AdmittedPod) -> list[str]:
    """The requests that are above their limits. upstream: k8s.io/kubernetes pkg/apis/core/validation/validation.go"""
    return [f"the request of {each} is above its limit" for each in above_limits(found.all_containers)]


def pods_of(pod: Object | None, ranges: Sequence[Object]) -> tuple[AdmittedPod, ...]:
    """The pods of one machine: the launcher pod, and the one that attaches volumes."""
    found = (pod, pod.get("hotplugPod")) if pod else ()
    return tuple(admitted(each, ranges) for each in found if each)
