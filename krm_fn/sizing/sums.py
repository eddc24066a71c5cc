"""Sums of demands: all that counts for a namespace, a cluster, or any other group of VMs."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterable
from krm_fn.base.objects import Object
from krm_fn.base.paths import canonical
from krm_fn.base.quantity import parse
from krm_fn.kubevirt.pods.amounts import ZERO, Amounts, add_to, plus, times, written
from krm_fn.sizing import storage
from krm_fn.sizing.demands import Demand, in_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Counting = TypeVar("Counting")


def totals(demands: Iterable[Demand], claims: Iterable[Object] = ()) -> Object:
    """The sums of the demands, each as often as it has copies. `claims` is storage beside what VMs create themselves.

    Guests and pods count where KubeVirt starts them, with the defaults of LimitRanges; `vms` counts all machines.
    """
    counts = {"vms": 0, "refused": 0, "pods": 0, "vcpus": 0}
    memory, stored = ZERO, storage.by_class(claims)
    requests: Amounts = {}
    limits: Amounts = {}
    for demand in in_order(demands):
        record, number = demand.record, demand.copies
        counts["vms"] += number
        counts["refused"] += number if record.get("refused") else 0
        counts["pods"] += number * len(demand.pods)
        if demand.pods:
            counts["vcpus"] += number * record["vcpus"]
            memory = plus(memory, times(parse(record["memory"]) or ZERO, number))
        for pod in demand.pods:
            add_to(requests, pod.requests, number)
            add_to(limits, pod.limits, number)
        created = (claim for claim in record.get("storage", ()) if storage.is_created(claim))
        add_to(stored, storage.by_class(created), number)
    return {**counts, "memory": str(memory), **_shown(requests, limits, stored)}


def _shown(requests: Amounts, limits: Amounts, stored: Amounts) -> Object:
    return {"requests": written(requests), "limits": written(limits), "storage": written(stored)}


def once(found: Iterable[Counting], key_of: Callable[[Counting], Any], of: Callable[[Counting], Any]) -> list[Counting]:
    """One with each key, by what it is `of`, whatever their order is; all of those without a key."""
    first: dict[Any, Counting] = {}
    for number, each in enumerate(found):
        key = key_of(each) or number
        first[key] = min(first[key], each, key=lambda one: canonical(of(one))) if key in first else each
    return [*first.values()]
