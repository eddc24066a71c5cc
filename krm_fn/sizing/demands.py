"""What each VM, pool, replica set and instance needs: one record of plain data for each object.

And their sums: all that counts for a namespace, a cluster, or any other group of VMs.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterable, Sequence
from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.objects import Object, kind_of, name_of, text
from krm_fn.base.paths import as_map, canonical, get
from krm_fn.base.quantity import parse
from krm_fn.base.value import Value
from krm_fn.kubevirt.expand.admitted import with_storage_classes
from krm_fn.kubevirt.facts import Resolution
from krm_fn.kubevirt.holders import INSTANCE_SPEC, holder_of
from krm_fn.kubevirt.pods import LaunchContext, MissingObjectError, PodError, launcher_pod, vcpus_of
from krm_fn.kubevirt.pods.amounts import ZERO, Amounts, add_to, plus, times, written
from krm_fn.kubevirt.releases import NEWEST
from krm_fn.sizing import limit_ranges, storage
from krm_fn.sizing.limit_ranges import AdmittedPod, pods_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from krm_fn.kubevirt.migratability import Assessment

    Counting = TypeVar("Counting")


# The run strategies with which the cluster starts a VM by itself.
STARTING = ("Always", "RerunOnFailure", "Once")
TOPOLOGY = ("sockets", "cores", "threads")


class Launched(Value):
    """What the start of an instance leads to: the guest, and in `result` the pod, or why there is none, as in records.

    `pods` are the pods as the API server admits them, `state` is the claim for what the guest keeps of its TPM or EFI.
    `assessment` is what migrations depend on, None where nobody asks for it. `refused` says why KubeVirt refuses the
    instance, `stopped` why it renders no pod of it, whatever else the cluster has.
    """

    guest: Object
    result: Object
    pods: tuple[AdmittedPod, ...] = ()
    state: Object = {}  # noqa: RUF012  nobody writes into a Value
    assessment: Assessment | None = None
    refused: tuple[str, ...] = ()
    stopped: str = ""


class Subject(Value):
    """An object that starts instances, and what the start of one leads to, None where none starts.

    `resolution` is the VM in it with what it refers to, None where it holds none. `refused` says why KubeVirt refuses it,
    `unknown` why nobody can tell what it needs. `migratable` is whether its machine can be live-migrated, as in records.
    """

    entry: Entry
    launched: Launched | None
    resolution: Resolution | None = None
    refused: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    migratable: Object = {}  # noqa: RUF012  nobody writes into a Value


class Demand(Value):
    """What an object needs: the record of it, and its pods as the API server admits them. `entry` is the object."""

    entry: Entry
    record: Object
    pods: tuple[AdmittedPod, ...] = ()

    @property
    def namespace(self) -> str:
        found: str = self.record["namespace"]
        return found

    @property
    def copies(self) -> int:
        """How many machines it stands for."""
        replicas: int = self.record.get("replicas", 1)
        return max(replicas, 0)


def in_order(demands: Iterable[Demand]) -> list[Demand]:
    """The demands in an order that does not depend on the bundle's: sums are written in the format of their first amount."""
    return sorted(demands, key=identity)


def identity(demand: Demand) -> tuple[str, str, str]:
    """Which object it is."""
    return demand.namespace, demand.record["name"], demand.record["kind"]


def launched(instance: Object, around: LaunchContext, ranges: Sequence[Object] = ()) -> Launched:
    """What an instance leads to. `ranges` are the LimitRanges of its namespace."""
    found = rendered(instance, around, launcher_pod)
    return found.but(pods=pods_of(found.result.get("pod"), ranges))


def rendered(instance: Object, around: LaunchContext, render: Callable[[Object, LaunchContext], Object]) -> Launched:
    """The same before the API server admits the pods; `render` is `launcher_pod`, or `pod_size` where that is enough."""
    guest = _guest(as_map(instance.get("spec")))
    try:
        pod = render(instance, around)
    except PodError as error:
        stopped = "" if isinstance(error, MissingObjectError) else str(error)
        return Launched(guest=guest, result={"podError": str(error)}, stopped=stopped)
    state = storage.state_of(as_map(instance.get("spec")), around)
    return Launched(guest=guest, result={"pod": pod}, state=state)


def _guest(spec: Object) -> Object:
    cpu = as_map(get(spec, ("domain", "cpu")))
    strategy = text(spec.get("evictionStrategy"))
    return {
        **({"evictionStrategy": strategy} if strategy else {}),
        "vcpus": vcpus_of(cpu),
        "memory": text(get(spec, ("domain", "memory", "guest"))),
        "topology": {key: cpu.get(key) or 1 for key in TOPOLOGY},  # libvirt takes 1 for what is not said
    }


def demand(subject: Subject, bundle: Bundle, ranges: Sequence[Object] = ()) -> Demand:
    """What an object needs. `ranges` are the LimitRanges of its namespace."""
    obj, found = subject.entry.obj, subject.launched
    record: Object = {"kind": kind_of(obj), "namespace": effective_namespace(obj), "name": name_of(obj)}
    record.update({**_copies(subject), **_sources(subject), **(found.guest if found else {})})
    for key, why in (("refused", subject.refused), ("unknown", subject.unknown)):
        if why:
            record[key] = list(why)
    record.update(found.result if found else {})
    if subject.migratable:
        record["migratable"] = subject.migratable
    claims = _claims(subject, bundle)
    if found and found.state:
        claims += storage.named_state(found.state, effective_namespace(obj), name_of(obj), bundle)
    if claims:
        record["storage"] = claims
    pods = found.pods if found else ()
    limited = _limited(record, pods, ranges) if ranges else {}
    return Demand(entry=subject.entry, record={**record, "limitRange": limited} if limited else record, pods=pods)


def _claims(subject: Subject, bundle: Bundle) -> list[Object]:
    """The claims of a machine, with the storage class that the preference prefers."""
    obj, found = subject.entry.obj, subject.resolution
    if found is None:
        holder = holder_of(obj)
        return storage.of_vm({}, as_map(get(obj, holder.instance if holder else ("spec",))), effective_namespace(obj), bundle)
    # All releases whose pods are known write the class in the same places.
    stored = with_storage_classes(found.vm, found.preference.spec if found.preference else {}, NEWEST)
    return storage.of_vm(as_map(stored.get("spec")), as_map(get(stored, INSTANCE_SPEC)), effective_namespace(obj), bundle)


def _limited(record: Object, pods: tuple[AdmittedPod, ...], ranges: Sequence[Object]) -> Object:
    """What LimitRanges make of the launcher pod, and why the API server refuses pods or claims; empty where nothing."""
    found: Object = {}
    if pods:
        first, given = pods[0], record["pod"]
        sums = {"requests": written(first.requests), "limits": written(first.limits), "qosClass": first.qos}
        found = {key: value for key, value in sums.items() if given.get(key, {}) != value}
    created = [claim for claim in record.get("storage", ()) if storage.is_created(claim)]
    why = [why for pod in pods for why in pod.refused]
    why += [
        f"{claim['name']}: {why}"
        for claim in created
        for why in limit_ranges.claim_violations(parse(claim.get("size")), ranges)
    ]
    return {**found, "refused": why} if why else found


def _copies(subject: Subject) -> Object:
    """How many machines there are, and whether the cluster starts them by itself."""
    holder = holder_of(subject.entry.obj)
    starts = True
    if subject.resolution:
        spec = as_map(subject.resolution.vm.get("spec"))
        starts = spec.get("running") is True or spec.get("runStrategy") in STARTING
    if not holder or not holder.copies:
        return {"starts": starts}
    replicas = get(subject.entry.obj, ("spec", "replicas"))
    return {"starts": starts, "replicas": replicas if type(replicas) is int else 1}


def _sources(subject: Subject) -> Object:
    """The names of the instancetype and the preference."""
    found = subject.resolution
    if found is None:
        return {}
    sources = (("instancetype", found.instancetype), ("preference", found.preference))
    return {key: source.ref.name for key, source in sources if source}


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
