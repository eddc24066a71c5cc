"""What a change does to the pods of VMs, and to the use of quotas.

A changed VM starts as its transition says, with the revisions that it keeps. A VM that nothing changes keeps its pod: only its
side before the change is sized, and only where a quota counts it.
"""

from __future__ import annotations

from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import kind_of, name_of
from krm_fn.changes.quotas import changed_uses, limited_namespaces
from krm_fn.kubevirt.pods import Around
from krm_fn.kubevirt.releases import is_measured
from krm_fn.kubevirt.updates.references import find
from krm_fn.pipeline.capacity import NO_INSTANCE, demands_of, facts_of
from krm_fn.sizing import limit_ranges
from krm_fn.sizing.demands import Subject, demand, launched
from krm_fn.sizing.pods import pods_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.kubevirt.updates.machine import Machine, Running, World
    from krm_fn.kubevirt.updates.transition import Transition
    from krm_fn.pipeline.analysis import Analysis
    from krm_fn.sizing.demands import Demand, Launched

    Key = tuple[str, str]  # namespace and name

VM = "VirtualMachine"
# What is shown of a pod.
SHOWN = ("requests", "limits", "qosClass", "memoryOverhead")


class Sizes:
    """The sizes on both sides of a change, of which `vms` are the VMs of the head.

    `of` takes note of each VM that goes through an update. Nothing is said where the pods of one side's release are not known.
    """

    def __init__(self, base: Analysis, head: Analysis, vms: Mapping[Key, Entry]) -> None:
        self._base, self._head, self._vms = base, head, vms
        self._known = all(is_measured("pods", side.release) for side in (base, head))
        self._limited = limited_namespaces(base.bundle, head.bundle)
        self._ranges = limit_ranges.by_namespace(head.bundle)
        self._updated: dict[Key, Demand] = {}

    def of(self, found: Transition) -> Object:
        """`{"pod": {"before": …, "after": …}}` where the pod changes; a side without a pod is absent."""
        if not self._known:
            return {}
        machine = found.after
        was = _launched(found.base.running or found.first.running, machine, found.origin, ())
        ranges = self._ranges.get(machine.namespace, ())
        last = _launched(found.last.running, machine, found.world, ranges)
        if machine.namespace in self._limited:
            key = machine.namespace, machine.name
            refused = () if last else (found.last.error or NO_INSTANCE,)
            resolution = find(machine, found.world)
            subject = Subject(entry=self._vms[key], launched=last, resolution=resolution, refused=refused)
            self._updated[key] = demand(subject, found.world.bundle, ranges)
        return _change(_shown(was.result) if was else {}, _shown(last.result) if last else {})

    def completed(self, records: Sequence[Object]) -> tuple[list[Object], list[Object]]:
        """The records with the pods of VMs that are new or gone, and the quotas whose use changes."""
        if not self._known:
            return list(records), []
        removed, added = (_keys(records, change) for change in ("removed", "added"))
        before = _demands(self._base, lambda entry: self._is_limited(entry) or _key(entry) in removed)
        after = _demands(
            self._head, lambda entry: _key(entry) in added or (kind_of(entry.obj) != VM and self._is_limited(entry))
        )
        found = _with_pods(_with_pods(records, "removed", "before", before), "added", "after", after)
        if not self._limited:
            return found, []
        gone = removed | added  # a VM that no API server takes before the change is new, too
        kept = [self._kept(each) for each in before if each.record["kind"] == VM and _key(each.entry) not in gone]
        sides = ((self._base, before), (self._head, [*kept, *after]))
        return found, changed_uses(*((side.bundle, self._counted(demands)) for side, demands in sides))

    def _is_limited(self, entry: Entry) -> bool:
        return effective_namespace(entry.obj) in self._limited

    def _counted(self, demands: Iterable[Demand]) -> list[Demand]:
        return [each for each in demands if each.namespace in self._limited]

    def _kept(self, was: Demand) -> Demand:
        """What a VM of the base needs after the change."""
        updated = self._updated.get(_key(was.entry))
        return updated or was.but(pods=pods_of(was.record.get("pod"), self._ranges.get(was.namespace, ())))


def _launched(running: Running | None, machine: Machine, world: World, ranges: Sequence[Object]) -> Launched | None:
    if running is None:
        return None
    meta = {"name": machine.name, "labels": running.labels, "annotations": running.annotations}
    around = Around(bundle=world.bundle, cluster=world.cluster, release=world.release, namespace=machine.namespace)
    return launched({"metadata": meta, "spec": running.spec}, around, ranges)


def _demands(side: Analysis, wanted: Callable[[Entry], bool]) -> list[Demand]:
    if not any(map(wanted, side.bundle.entries)):
        return []
    return list(demands_of(facts_of(side.bundle, side.settings, wanted), wanted))


def _key(entry: Entry) -> Key:
    """The namespace and name of a VM; no VM has those of another kind."""
    return (effective_namespace(entry.obj), name_of(entry.obj)) if kind_of(entry.obj) == VM else ("", "")


def _keys(records: Iterable[Object], change: str) -> frozenset[Key]:
    return frozenset((record["namespace"], record["name"]) for record in records if record["change"] == change)


def _with_pods(records: Iterable[Object], change: str, side: str, demands: Iterable[Demand]) -> list[Object]:
    """The records with the pods of those VMs that are on one side only."""
    shown = {_key(each.entry): _shown(each.record) for each in demands}
    pods = ((record, shown.get((record["namespace"], record["name"]), {})) for record in records)
    return [{**record, "pod": {side: pod}} if pod and record["change"] == change else record for record, pod in pods]


def _shown(result: Object) -> Object:
    """What is shown of a pod, or why there is none; empty where nothing starts."""
    if "podError" in result:
        return {"error": result["podError"]}
    pod = result.get("pod", {})
    return {key: pod[key] for key in SHOWN if key in pod}


def _change(before: Object, after: Object) -> Object:
    sides = {"before": before, "after": after}
    return {"pod": {side: pod for side, pod in sides.items() if pod}} if before != after else {}
