"""Quotas against what all machines of their namespaces need: used, free, exceeded, and which machines a quota stops.

upstream: k8s.io/apiserver pkg/admission/plugin/resourcequota/controller.go:CheckRequest
"""

from __future__ import annotations

from krm_fn.base.annotations import Container, Iterable, Iterator, Sequence
from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.objects import Object, annotations_of, kind_of, name_of
from krm_fn.base.paths import as_map, get
from krm_fn.base.quantity import Quantity
from krm_fn.base.value import Value
from krm_fn.findings.limits import ProductLimit
from krm_fn.kubevirt.pods.amounts import ONE, ZERO, Amounts, add_to, minus, read, written
from krm_fn.kubevirt.pods.launch import METADATA_NAME
from krm_fn.kubevirt.presets.facts import selects
from krm_fn.sizing import storage, usage
from krm_fn.sizing.demands import Demand, identity, in_order, once
from krm_fn.sizing.limit_ranges import AdmittedPod
from krm_fn.sizing.rows import compared
from krm_fn.sizing.usage import QuotaScope, counts, scopes_of

NATIVE, AWARE, AWARE_CLUSTER = "ResourceQuota", "ApplicationAwareResourceQuota", "ApplicationAwareClusterResourceQuota"
AAQ_GROUP = "aaq.kubevirt.io"
# What a native quota makes every container state. upstream: evaluator/core/pods.go:validationSet
STATED = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
# The strategies with which instances leave a node by a live migration.
MIGRATING = ("LiveMigrate", "LiveMigrateIfPossible")
VMS, INSTANCES = "count/virtualmachines.kubevirt.io", "count/virtualmachineinstances.kubevirt.io"
VOLUMES = "count/datavolumes.cdi.kubevirt.io"
# Each quota may stop each machine of its namespaces: so often a run compares one with another.
COMPARISONS, COMPARISONS_PER_OBJECT = 40_000, 10


class Quota(Value):
    """A quota: what is counted, and where. `calculator` counts launcher pods, "" as any pod."""

    entry: Entry
    hard: Amounts
    namespaces: frozenset[str]
    scopes: tuple[QuotaScope, ...] = ()
    calculator: str = ""

    @property
    def is_aware(self) -> bool:
        """True for a quota of the Application Aware Quota operator, which holds pods back and refuses none."""
        return bool(self.calculator)


class Stopped(Value):
    """A machine that a quota stops even if it has the quota for itself; `why` in words."""

    demand: Demand
    why: tuple[str, ...]


class QuotaUse(Value):
    """A quota and its use when all machines run. Names that nothing here counts are not in `used`.

    `stopped` are the machines that never start, `migrations` those for which there is no room while they migrate.
    """

    quota: Quota
    used: Amounts
    stopped: tuple[Stopped, ...] = ()
    migrations: tuple[Demand, ...] = ()
    counts: tuple[tuple[str, Amounts], ...] = ()

    @property
    def free(self) -> Amounts:
        return {name: _positive(self.quota.hard[name].nanos - used.nanos, used) for name, used in self.used.items()}

    @property
    def exceeded(self) -> Amounts:
        """By how much each resource is exceeded."""
        over = {name: minus(used, self.quota.hard[name]) for name, used in self.used.items()}
        return {name: amount for name, amount in over.items() if amount.nanos > 0}


def _positive(nanos: int, like: Quantity) -> Quantity:
    return like.but(nanos=max(nanos, 0), text="")


def quotas_of(bundle: Bundle, namespaces: Iterable[str]) -> list[Quota]:
    """The quotas of the bundle. `namespaces` are all that hold something."""
    calculator = usage.configured(bundle)
    found = [_of_namespace(entry, "") for entry in bundle.ordered(bundle.of_kind(NATIVE, ""))]
    found += [_of_namespace(entry, calculator) for entry in bundle.ordered(bundle.of_kind(AWARE, AAQ_GROUP))]
    clusters = bundle.ordered(bundle.of_kind(AWARE_CLUSTER, AAQ_GROUP))
    return found + [_of_cluster(entry, calculator, bundle, namespaces) for entry in clusters]


def _of_namespace(entry: Entry, calculator: str) -> Quota:
    return _quota(entry, as_map(entry.obj.get("spec")), frozenset((effective_namespace(entry.obj),)), calculator)


def _of_cluster(entry: Entry, calculator: str, bundle: Bundle, namespaces: Iterable[str]) -> Quota:
    """A quota of all namespaces that its selector takes."""
    spec = as_map(entry.obj.get("spec"))
    selector = as_map(spec.get("selector"))
    taken = frozenset(name for name in namespaces if _takes(selector, name, bundle))
    return _quota(entry, as_map(spec.get("quota")), taken, calculator)


def _takes(selector: Object, namespace: str, bundle: Bundle) -> bool:
    entry = bundle.find("Namespace", "default", namespace)
    obj = entry.obj if entry else {}
    labels = {METADATA_NAME: namespace, **as_map(get(obj, ("metadata", "labels")))}
    wanted, by_label = as_map(selector.get("annotations")), selector.get("labels")
    if by_label is not None and not selects(by_label, labels):
        return False
    notes = annotations_of(obj)
    return all(notes.get(key) == value for key, value in wanted.items())


def _quota(entry: Entry, spec: Object, namespaces: frozenset[str], calculator: str) -> Quota:
    return Quota(
        entry=entry,
        hard=read(spec.get("hard")),
        namespaces=namespaces,
        scopes=scopes_of(spec),
        calculator=calculator,
    )


class Need(Value):
    """What one machine counts for, what a second one does while it migrates, and why quotas of a resource stop it."""

    amounts: Amounts
    second: Amounts
    unstated: tuple[tuple[str, str], ...]


class Counted:
    """The machines and the claims of a bundle, for the use of its quotas. What several quotas count alike is counted once."""

    def __init__(self, demands: Iterable[Demand], claims: Iterable[tuple[str, Object]]) -> None:
        self._demands: dict[str, list[tuple[int, Demand]]] = {}
        self._claims: dict[str, list[Object]] = {}
        self._needs: dict[tuple[object, ...], Need] = {}
        self._sums: dict[tuple[object, ...], Amounts] = {}
        ordered = in_order(demands)
        for number, demand in enumerate(ordered):
            self._demands.setdefault(demand.namespace, []).append((number, demand))
        for namespace, claim in claims:
            self._claims.setdefault(namespace, []).append(claim)
        most = COMPARISONS + COMPARISONS_PER_OBJECT * len(ordered)
        self._budget = ProductLimit(most, f"quotas count VMs more than {most:,} times; use fewer quotas in a namespace")

    def use_of(self, quota: Quota) -> QuotaUse:
        """The use of a quota. Raises: InputError where quotas count the machines too often."""
        inside = [each for namespace in sorted(quota.namespaces) for each in self._demands.get(namespace, ())]
        self._budget.take(len(inside) + len(quota.namespaces))
        needs = [(demand, self._need(quota, number, demand)) for number, demand in inside]
        total = self._total(quota, needs)
        used: Amounts = {name: total.get(name, ZERO) for name in quota.hard if is_counted(name)}
        if not quota.scopes:
            add_to(used, _within(self._claimed(quota.namespaces), used))
        return QuotaUse(
            quota=quota,
            used=used,
            stopped=tuple(_stopped(quota, needs)),
            migrations=tuple(demand for demand, need in needs if _is_blocked(quota, demand, need.second, used)),
            counts=tuple(self._counts(quota, [demand for demand, _ in needs])) if quota.is_aware else (),
        )

    def _need(self, quota: Quota, number: int, demand: Demand) -> Need:
        pods = _counted_pods(quota, demand)
        key = number, tuple(pods), bool(quota.scopes), quota.calculator
        if key not in self._needs:
            self._needs[key] = Need(
                amounts=_amounts(quota, demand, pods),
                second=_second(quota, pods),
                unstated=() if quota.is_aware else tuple(_unstated(pods.values())),
            )
        return self._needs[key]

    def _total(self, quota: Quota, needs: Iterable[tuple[Demand, Need]]) -> Amounts:
        key = quota.namespaces, quota.scopes, quota.calculator
        if key not in self._sums:
            self._sums[key] = {}
            for demand, need in needs:
                add_to(self._sums[key], need.amounts, demand.copies)
        return self._sums[key]

    def _claimed(self, namespaces: frozenset[str]) -> Amounts:
        if (namespaces,) not in self._sums:
            claims = (claim for namespace in namespaces for claim in self._claims.get(namespace, ()))
            self._sums[namespaces,] = usage.of_claims(claims)
        return self._sums[namespaces,]

    def _counts(self, quota: Quota, demands: Sequence[Demand]) -> Iterator[tuple[str, Amounts]]:
        """What the machines count for with each calculator, whatever the quota limits."""
        for calculator in usage.CALCULATORS:
            key = quota.namespaces, quota.scopes, calculator, "pods"
            if key not in self._sums:
                self._sums[key] = {}
                for demand in demands:
                    for amounts in _of_pods(demand, _counted_pods(quota, demand), calculator):
                        add_to(self._sums[key], amounts, demand.copies)
            yield calculator, self._sums[key]


def _counted_pods(quota: Quota, demand: Demand) -> dict[int, AdmittedPod]:
    """The pods of a machine that the quota counts, by their numbers; 0 is the launcher pod."""
    return {number: pod for number, pod in enumerate(demand.pods) if counts(quota.scopes, pod)}


def _within(amounts: Amounts, names: Container[str]) -> Amounts:
    return {name: amount for name, amount in amounts.items() if name in names}


def is_counted(name: str) -> bool:
    """True for what machines and claims count for. The others, such as secrets, say nothing of VMs."""
    known = ("pods", "count/pods", "persistentvolumeclaims", "count/persistentvolumeclaims", VMS, INSTANCES, VOLUMES)
    prefixes = (usage.REQUESTS, usage.LIMITS, usage.HUGE_PAGES)
    return name in (*known, *usage.NATIVE) or name.startswith(prefixes) or name.endswith("/vmi") or usage.OF_CLASS in name


def _amounts(quota: Quota, demand: Demand, pods: dict[int, AdmittedPod]) -> Amounts:
    """What one machine counts for: its pods, the claims that it creates, its objects."""
    found: Amounts = {}
    for amounts in _of_pods(demand, pods, quota.calculator):
        add_to(found, amounts)
    if not quota.scopes:
        created = [claim for claim in demand.record.get("storage", ()) if storage.is_created(claim)]
        add_to(found, usage.of_claims(created))
        add_to(found, _objects(demand, sum(claim["kind"] == storage.TEMPLATE for claim in created)))
    return found


def _of_pods(demand: Demand, pods: dict[int, AdmittedPod], calculator: str) -> Iterator[Amounts]:
    """What each pod counts for; only launcher pods are counted by calculators."""
    for number, pod in pods.items():
        own = usage.CALCULATORS[calculator](pod, demand.record) if calculator and not number else None
        yield usage.of_pod(pod) if own is None else own


def _objects(demand: Demand, volumes: int) -> Amounts:
    found: Amounts = {INSTANCES: ONE} if demand.pods else {}
    if demand.record["kind"] in ("VirtualMachine", "VirtualMachinePool"):
        found[VMS] = ONE
    return {**found, VOLUMES: ONE.but(nanos=ONE.nanos * volumes)} if volumes else found


def _second(quota: Quota, pods: dict[int, AdmittedPod]) -> Amounts:
    """What a second launcher pod, and a second pod for volumes, count for; some calculators hide the launcher pod."""
    found: Amounts = {}
    hidden = quota.is_aware and quota.calculator != usage.UNAWARE
    for number, pod in pods.items():
        if number or not hidden:
            add_to(found, usage.of_pod(pod))
    return found


def _unstated(pods: Iterable[AdmittedPod]) -> Iterator[tuple[str, str]]:
    """What containers do not state, and must where a quota counts it. upstream: evaluator/core/pods.go:Constraints"""
    for pod in pods:
        stated = [(each["name"], usage.of_amounts(each["requests"], each["limits"])) for each in pod.all_containers]
        for name in STATED:
            lacking = [container for container, amounts in stated if name not in amounts]
            if lacking:
                verb = "states" if len(lacking) == 1 else "state"
                yield name, f"{' and '.join(lacking)} {verb} no {name}, which the quota demands"


def _stopped(quota: Quota, needs: Iterable[tuple[Demand, Need]]) -> Iterator[Stopped]:
    """The machines that the quota stops whatever the others do."""
    hard = quota.hard
    order = {name: number for number, name in enumerate(hard)}
    for demand, need in needs:
        amounts = need.amounts
        over = [name for name, amount in amounts.items() if name in hard and amount.nanos > hard[name].nanos]
        unstated = [why for name, why in need.unstated if name in hard]
        if over or unstated:
            in_all = "more than the quota has in all"
            over.sort(key=order.__getitem__)
            pairs = [(name, *compared(name, str(amounts[name]), str(hard[name]))) for name in over]
            over = [f"it needs {need} of {name}, {in_all} ({has})" for name, need, has in pairs]
            yield Stopped(demand=demand, why=(*over, *unstated))


def _is_blocked(quota: Quota, demand: Demand, second: Amounts, used: Amounts) -> bool:
    """True where a second launcher pod, and a second pod for volumes, find no room beside all that runs."""
    if demand.record.get("evictionStrategy") not in MIGRATING or not demand.copies:
        return False
    return any(
        used[name].nanos + amount.nanos > quota.hard[name].nanos
        for name, amount in second.items()
        if name in used and amount.nanos
    )


def place_of(quota: Quota) -> Object:
    """Which quota it is, and where it counts."""
    obj = quota.entry.obj
    of_cluster = kind_of(obj) == AWARE_CLUSTER
    place = {"namespaces": sorted(quota.namespaces)} if of_cluster else {"namespace": effective_namespace(obj)}
    return {"kind": kind_of(obj), **place, "name": name_of(obj)}


def shown(found: QuotaUse) -> Object:
    """The use of a quota as plain data."""
    data: Object = {
        **place_of(found.quota),
        "hard": written(found.quota.hard),
        "used": written(found.used),
        "free": written(found.free),
        "exceeded": written(found.exceeded),
        "stops": [{**_named(each.demand), "why": list(each.why)} for each in found.stopped],
        "blocksMigration": [_named(each) for each in found.migrations],
    }
    if found.quota.is_aware:
        data["calculator"] = found.quota.calculator
        data["counts"] = {name: written(amounts) for name, amounts in found.counts}
    return data


def _named(demand: Demand) -> Object:
    return {key: demand.record[key] for key in ("kind", "namespace", "name")}


def of_bundle(bundle: Bundle, demands: Sequence[Demand]) -> list[QuotaUse]:
    """The use of each quota of the bundle. A cluster has one object of a name, so that a second one is not counted."""
    named = (name_of(entry.obj) for entry in bundle.of_kind("Namespace", ""))
    demands = once(demands, lambda each: each.record["name"] and identity(each), lambda each: each.record)
    claims = once(
        storage.of_bundle(bundle), lambda each: (name := each[1].get("name")) and (each[0], each[1]["kind"], name), list
    )
    counted = Counted(demands, claims)
    namespaces = sorted({*named, *(demand.namespace for demand in demands), *(namespace for namespace, _ in claims)})
    return [counted.use_of(quota) for quota in quotas_of(bundle, namespaces)]
