"""What a change does to the pods of VMs, and to the use of quotas.

A changed VM starts as its transition says, with the revisions that it keeps. A VM that nothing changes keeps its pod: only its
side before the change is sized, and only where a quota counts it.

The quotas whose use changes: what machines use of them before and after, against what they allow after the change.
"""

from __future__ import annotations

from functools import partial

from krm_fn.base.annotations import Callable, Iterable, Iterator, Sequence
from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.objects import Object, kind_of, labels_of, name_of
from krm_fn.changes.owners import INSTANCE, KINDS, LEFT, REPLICA_SET, Key, key_of
from krm_fn.kubevirt.pods import SIZE, LaunchContext, pod_size
from krm_fn.kubevirt.pods.amounts import ZERO, Amounts
from krm_fn.kubevirt.releases import is_measured
from krm_fn.kubevirt.updates.machine import Machine, Running, World
from krm_fn.kubevirt.updates.references import find
from krm_fn.pipeline.analysis import Analysis
from krm_fn.pipeline.capacity import NO_INSTANCE, demands_of, facts_of
from krm_fn.sizing import limit_ranges, quotas, storage
from krm_fn.sizing.demands import Demand, Launched, Subject, demand, launched, rendered
from krm_fn.sizing.limit_ranges import pods_of
from krm_fn.sizing.quotas import Quota, QuotaUse
from krm_fn.sizing.schema import AMOUNTS, QUANTITY, TEXT, TEXTS, closed

TYPE_CHECKING = False

if TYPE_CHECKING:
    from krm_fn.kubevirt.updates.transition import Transition


Counted = tuple[Bundle, Sequence[Demand]]


def limited_namespaces(base: Bundle, head: Bundle) -> frozenset[str]:
    """The namespaces in which a quota of the head counts."""
    if not quotas.quotas_of(head, ()):
        return frozenset()
    return frozenset(name for quota in _quotas(base, head) for name in quota.namespaces)


def _quotas(base: Bundle, head: Bundle) -> list[Quota]:
    names = {name_of(entry.obj) for entry in head.of_kind("Namespace", "")}
    names.update(effective_namespace(entry.obj) for side in (base, head) for entry in side.entries)
    return quotas.quotas_of(head, sorted(names))


def changed_uses(base: Counted, head: Counted) -> list[Object]:
    """The quotas whose use or bounds change, as plain data with both uses; see `schema`."""
    bundle = head[0]
    hard_before = {_identity(quota): quota.hard for quota in quotas.quotas_of(base[0], ())}
    counted = [quotas.Counted(demands, storage.of_bundle(side)) for side, demands in (base, head)]
    found = []
    for quota in _quotas(base[0], bundle):
        before, after = (side.use_of(quota) for side in counted)
        rows = list(_rows(before, after, hard_before.get(_identity(quota), {})))
        if rows:
            found.append({**quotas.place_of(quota), "resources": rows})
    return found


def _identity(quota: Quota) -> tuple[str, ...]:
    obj = quota.entry.obj
    return str(obj.get("kind")), effective_namespace(obj), name_of(obj)


def _rows(before: QuotaUse, after: QuotaUse, hard_before: Amounts) -> Iterator[Object]:
    """The resources of which use or bound change."""
    hard, over = after.quota.hard, after.exceeded
    for name, used in after.used.items():
        was = before.used.get(name, ZERO)
        former = hard_before.get(name)
        moved = former is not None and former.nanos != hard[name].nanos
        if was.nanos == used.nanos and not moved:
            continue
        row: Object = {"name": name, "before": str(was), "after": str(used), "hard": str(hard[name])}
        row.update({"hardBefore": str(former)} if moved else {})
        yield {**row, "exceeded": str(over[name])} if name in over else row


Made = tuple[Running | None, World]


class Sizes:
    """The sizes on both sides of a change; `new`: nothing exists yet. Those of the `unknown` holders are not counted.

    `of` takes note of each VM that goes through an update. Nothing is said where the pods of one side's release are not known.
    """

    def __init__(self, base: Analysis, head: Analysis, *, new: bool, unknown: frozenset[Key] = frozenset()) -> None:
        self._base, self._head, self._unknown = base, head, unknown
        self._known = all(is_measured("pods", side.release) for side in (base, head))
        self._limited = limited_namespaces(base.bundle, head.bundle)
        self._ranges = limit_ranges.by_namespace(head.bundle)
        self._updated: dict[Key, Demand] = {}
        self._subjects: dict[Key, Subject] = {}
        self._scaled: dict[Key, int] = {}
        # The kinds of which all machines are those of the head, in the end. An instance that exists stays as it is.
        self._anew = (REPLICA_SET, INSTANCE) if new else (REPLICA_SET,)

    def of(self, found: Transition, entry: Entry) -> Object:
        """`{"pod": {"before": …, "after": …}}` where the pod changes; no pod: absent. `entry` is of the head."""
        if not self._known:
            return {}
        machine = found.after
        was = _sized(found.base.running or found.first.running, machine, found.origin)
        if machine.namespace not in self._limited:
            return _change(was, _sized(found.last.running, machine, found.world))
        ranges = self._ranges.get(machine.namespace, ())
        last = _launched(found.last.running, machine, found.world, partial(launched, ranges=ranges))
        refused = () if last else (found.last.error or NO_INSTANCE,)
        resolution = find(machine, found.world)
        self._take(Subject(entry=entry, launched=last, resolution=resolution, refused=refused), found.world)
        return _change(was, last)

    def repeat(self, first: Entry, entry: Entry, world: World) -> None:
        """Take note of a VM to which the same happens as to a former one."""
        subject = self._subjects.get(key_of(first.obj))
        if subject:
            self._take(subject.but(entry=entry, resolution=find(Machine(vm=entry.obj), world)), world)

    def _take(self, subject: Subject, world: World) -> None:
        key = key_of(subject.entry.obj)
        self._subjects[key] = subject
        if key not in self._unknown:
            self._updated[key] = demand(subject, world.bundle, self._ranges.get(key[0], ()))

    def scale(self, pool: Object, replicas: int) -> None:
        """Take note of the number of VMs that a pool has in the end, whose VMs stay as they are."""
        self._scaled[key_of(pool)] = replicas

    def of_instances(self, obj: Object, was: Made, now: Made) -> Object:
        """The same for instances that an object makes without a VM, each with the cluster that it is in."""
        if not self._known:
            return {}
        before, after = (_sized(made, Machine(vm=obj), world) for made, world in (was, now))
        return _change(before, after)

    def completed(self, records: Sequence[Object]) -> tuple[list[Object], list[Object]]:
        """The records with the pods of what is new or gone, and the quotas whose use changes."""
        if not self._known:
            return list(records), []
        removed, added = (_keys(records, change) - self._unknown for change in ("removed", "added"))
        before = _demands(self._base, lambda entry: self._is_limited(entry) or key_of(entry.obj) in removed)
        after = _demands(self._head, lambda entry: key_of(entry.obj) in added or self._is_made_anew(entry))
        found = _with_pods(_with_pods(records, removed, "before", before), added, "after", after)
        if not self._limited:
            return found, []
        gone = removed | added  # a VM that no API server takes before the change is new, too
        stay = (each for each in before if each.record["kind"] not in self._anew and key_of(each.entry.obj) not in gone)
        sides = ((self._base, before), (self._head, [*map(self._kept, stay), *after]))
        return found, changed_uses(*((side.bundle, self._counted(demands)) for side, demands in sides))

    def _is_limited(self, entry: Entry) -> bool:
        return effective_namespace(entry.obj) in self._limited and key_of(entry.obj) not in self._unknown

    def _is_made_anew(self, entry: Entry) -> bool:
        kind = kind_of(entry.obj)
        return (kind in self._anew or kind not in KINDS) and self._is_limited(entry)

    def _counted(self, demands: Iterable[Demand]) -> list[Demand]:
        return [each for each in demands if each.namespace in self._limited]

    def _kept(self, was: Demand) -> Demand:
        """What a machine of the base needs after the change."""
        key = key_of(was.entry.obj)
        if key in self._updated:
            return self._updated[key]
        if key in self._scaled:
            was = was.but(record={**was.record, "replicas": self._scaled[key]})
        return was.but(pods=pods_of(was.record.get("pod"), self._ranges.get(was.namespace, ())))


def _sized(running: Running | None, machine: Machine, world: World) -> Launched | None:
    return _launched(running, machine, world, partial(rendered, render=pod_size))


def _launched(
    running: Running | None, machine: Machine, world: World, launch: Callable[[Object, LaunchContext], Launched]
) -> Launched | None:
    if running is None:
        return None
    meta = {"name": machine.name, "labels": running.labels, "annotations": running.annotations}
    around = LaunchContext(
        bundle=world.bundle,
        cluster=world.cluster,
        release=world.release,
        namespace=machine.namespace,
        vm_labels=labels_of(machine.vm),
    )
    return launch({"metadata": meta, "spec": running.spec}, around)


def _demands(side: Analysis, wanted: Callable[[Entry], bool]) -> list[Demand]:
    if not any(map(wanted, side.bundle.entries)):
        return []
    return list(demands_of(facts_of(side.bundle, side.settings, wanted, side.surroundings), wanted))


def _keys(records: Iterable[Object], change: str) -> frozenset[Key]:
    return frozenset(_key(record) for record in records if record["change"] == change and LEFT not in record["effect"])


def _key(record: Object) -> Key:
    return record["namespace"], record["name"], record["kind"]


def _with_pods(records: Iterable[Object], keys: frozenset[Key], side: str, demands: Iterable[Demand]) -> list[Object]:
    """The records with the pods of what is on one side only, and why new machines never start."""
    needs = {key_of(each.entry.obj): each.record for each in demands}
    return [_with_pod(each, needs.get(_key(each), {}), side) if _key(each) in keys else each for each in records]


def _with_pod(record: Object, need: Object, side: str) -> Object:
    pod = _shown(need)
    why = need.get("refused", ()) if side == "after" and not pod else ()
    return {**record, **({"startError": why[0]} if why else {}), **({"pod": {side: pod}} if pod else {})}


def _shown(result: Object) -> Object:
    """What is shown of a pod, or why there is none; empty where nothing starts."""
    if "podError" in result:
        return {"error": result["podError"]}
    pod = result.get("pod", {})
    return {key: pod[key] for key in SIZE if key in pod}


def _change(was: Launched | None, last: Launched | None) -> Object:
    """The pods of both sides where they differ, and why KubeVirt renders none any more."""
    sides = {side: _shown(each.result) if each else {} for side, each in (("before", was), ("after", last))}
    if sides["before"] == sides["after"]:
        return {}
    stopped = {"startError": last.stopped} if last and last.stopped and not (was and was.stopped) else {}
    return {**stopped, "pod": {side: pod for side, pod in sides.items() if pod}}


def sizes_schema() -> Object:
    """The definitions."""
    return {"pods": _pods(), "pod": _pod(), "quota": _quota()}


def _pods() -> Object:
    sides = {side: {"$ref": "#/$defs/pod"} for side in ("before", "after")}
    about = "the virt-launcher pod, where it changes; a side on which no pod starts is absent"
    return {**closed(sides), "minProperties": 1, "description": about}


def _pod() -> Object:
    return closed(
        {
            "requests": {**AMOUNTS, "description": "the sums, as the scheduler and quotas count them"},
            "limits": AMOUNTS,
            "qosClass": {"enum": ["Guaranteed", "Burstable", "BestEffort"]},
            "memoryOverhead": QUANTITY,
            "error": {**TEXT, "description": "why KubeVirt renders no pod; the other keys are absent then"},
        }
    )


def _quota() -> Object:
    row = closed(
        {
            "name": TEXT,
            "before": {**QUANTITY, "description": "the use before the change, when all machines run"},
            "after": {**QUANTITY, "description": "the use after the change, when all machines were started anew"},
            "hard": {**QUANTITY, "description": "the bound after the change"},
            "hardBefore": {**QUANTITY, "description": "the bound before the change, where that differs"},
            "exceeded": {**QUANTITY, "description": "by how much the use is above the bound after the change"},
        },
        required=("name", "before", "after", "hard"),
    )
    rows = {"type": "array", "items": row, "description": "the resources whose use or bound changes"}
    place = dict.fromkeys(("target", "kind", "namespace", "name"), TEXT)
    return closed({**place, "namespaces": TEXTS, "resources": rows}, required=("kind", "name", "resources"))
