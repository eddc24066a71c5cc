"""Sums of records: all that counts for a namespace, a cluster, or any other group of VMs."""

from __future__ import annotations

from krm_fn.base.paths import as_map
from krm_fn.kubevirt.pods.amounts import ZERO, add_to, plus, read, times, written
from krm_fn.kubevirt.quantity import parse
from krm_fn.sizing import storage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from krm_fn.base.objects import Object
    from krm_fn.kubevirt.pods.amounts import Amounts


def copies(record: Object) -> int:
    """How many machines a record stands for."""
    replicas: int = record.get("replicas", 1)
    return max(replicas, 0)


def pods_of(record: Object) -> list[Object]:
    """The pods of one machine: the launcher pod, and the one that attaches volumes."""
    pod = as_map(record.get("pod"))
    return [each for each in (pod, pod.get("hotplugPod")) if each]


def totals(records: Iterable[Object], claims: Iterable[Object] = ()) -> Object:
    """The sums of the records, each as often as it has copies. `claims` is storage beside what VMs create themselves.

    Guests and pods count where KubeVirt starts them; `vms` counts all machines.
    """
    counts = {"vms": 0, "refused": 0, "pods": 0, "vcpus": 0}
    memory, stored = ZERO, storage.by_class(claims)
    requests: Amounts = {}
    limits: Amounts = {}
    for record in records:
        number, pods = copies(record), pods_of(record)
        counts["vms"] += number
        counts["refused"] += number if record.get("refused") else 0
        counts["pods"] += number * len(pods)
        if pods:
            counts["vcpus"] += number * record["vcpus"]
            memory = plus(memory, times(parse(record["memory"]) or ZERO, number))
        for pod in pods:
            add_to(requests, read(pod.get("requests")), number)
            add_to(limits, read(pod.get("limits")), number)
        created = (claim for claim in record.get("storage", ()) if claim["kind"] == storage.TEMPLATE)
        add_to(stored, storage.by_class(created), number)
    return {**counts, "memory": str(memory), **_shown(requests, limits, stored)}


def _shown(requests: Amounts, limits: Amounts, stored: Amounts) -> Object:
    return {"requests": written(requests), "limits": written(limits), "storage": written(stored)}
