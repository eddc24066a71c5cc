"""Quotas against what all machines of their namespaces need: used, free, exceeded, and which machines a quota stops.

upstream: k8s.io/apiserver pkg/admission/plugin/resourcequota/controller.go:CheckRequest
"""

from __future__ import annotations

from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import annotations_of, kind_of, name_of
from krm_fn.base.paths import as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.pods.amounts import ONE, ZERO, add_to, minus, plus, read, written
from krm_fn.kubevirt.pods.launch import METADATA_NAME
from krm_fn.kubevirt.presets.selector import Selector, problems, readable
from krm_fn.sizing import calculators, scopes, storage, usage
from krm_fn.sizing.demands import in_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krm_fn.base.bundle import Bundle, Entry
    from krm_fn.base.objects import Object
    from krm_fn.kubevirt.pods.amounts import Amounts
    from krm_fn.kubevirt.quantity import Quantity
    from krm_fn.sizing.demands import Demand
    from krm_fn.sizing.pods import AdmittedPod

NATIVE, AWARE, AWARE_CLUSTER = "ResourceQuota", "ApplicationAwareResourceQuota", "ApplicationAwareClusterResourceQuota"
AAQ_GROUP = "aaq.kubevirt.io"
# What a native quota makes every container state. upstream: evaluator/core/pods.go:validationSet
STATED = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
# The strategies with which instances leave a node by a live migration.
MIGRATING = ("LiveMigrate", "LiveMigrateIfPossible")
VMS, INSTANCES = "count/virtualmachines.kubevirt.io", "count/virtualmachineinstances.kubevirt.io"
VOLUMES = "count/datavolumes.cdi.kubevirt.io"


class Quota(Value):
    """A quota: what is counted, and where. `calculator` counts launcher pods, "" as any pod."""

    entry: Entry
    hard: Amounts
    namespaces: frozenset[str]
    scopes: tuple[Object, ...] = ()
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
    calculator = calculators.configured(bundle)
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
    if by_label is not None and (any(problems(by_label)) or not Selector(by_label).takes(readable(labels))):
        return False
    notes = annotations_of(obj)
    return all(notes.get(key) == value for key, value in wanted.items())


def _quota(entry: Entry, spec: Object, namespaces: frozenset[str], calculator: str) -> Quota:
    return Quota(
        entry=entry,
        hard=read(spec.get("hard")),
        namespaces=namespaces,
        scopes=tuple(scopes.scopes_of(spec)),
        calculator=calculator,
    )


def use_of(quota: Quota, demands: Sequence[Demand], claims: Sequence[tuple[str, Object]]) -> QuotaUse:
    """The use of a quota; `claims` are those of the bundle, by namespace."""
    inside = in_order(demand for demand in demands if demand.namespace in quota.namespaces)
    needs = [(demand, need(quota, demand)) for demand in inside]
    used: Amounts = {name: ZERO for name in quota.hard if is_counted(name)}
    for demand, one in needs:
        add_to(used, _within(one, used), demand.copies)
    if not quota.scopes:
        add_to(used, _within(usage.of_claims(each for namespace, each in claims if namespace in quota.namespaces), used))
    return QuotaUse(
        quota=quota,
        used=used,
        stopped=tuple(_stopped(quota, needs)),
        migrations=tuple(demand for demand in inside if _is_blocked(quota, demand, used)),
        counts=tuple(_counts(quota, inside)) if quota.is_aware else (),
    )


def _within(amounts: Amounts, names: Iterable[str]) -> Amounts:
    return {name: amounts[name] for name in names if name in amounts}


def is_counted(name: str) -> bool:
    """True for what machines and claims count for. The others, such as secrets, say nothing of VMs."""
    known = ("pods", "count/pods", "persistentvolumeclaims", "count/persistentvolumeclaims", VMS, INSTANCES, VOLUMES)
    prefixes = (usage.REQUESTS, usage.LIMITS, usage.HUGE_PAGES)
    return name in (*known, *usage.NATIVE) or name.startswith(prefixes) or name.endswith("/vmi") or usage.OF_CLASS in name


def need(quota: Quota, demand: Demand, calculator: str | None = None) -> Amounts:
    """What one machine counts for: its pods, the claims that it creates, its objects."""
    found: Amounts = {}
    for amounts in _of_pods(quota, demand, quota.calculator if calculator is None else calculator):
        add_to(found, amounts)
    if not quota.scopes:
        created = [claim for claim in demand.record.get("storage", ()) if storage.is_created(claim)]
        add_to(found, usage.of_claims(created))
        add_to(found, _objects(demand, sum(claim["kind"] == storage.TEMPLATE for claim in created)))
    return found


def _of_pods(quota: Quota, demand: Demand, calculator: str) -> Iterator[Amounts]:
    """What each pod counts for; only launcher pods are counted by calculators."""
    for number, pod in enumerate(demand.pods):
        if scopes.counts(list(quota.scopes), pod):
            own = calculators.CALCULATORS[calculator](pod, demand.record) if calculator and not number else None
            yield usage.of_pod(pod) if own is None else own


def _objects(demand: Demand, volumes: int) -> Amounts:
    found: Amounts = {INSTANCES: ONE} if demand.pods else {}
    if demand.record["kind"] in ("VirtualMachine", "VirtualMachinePool"):
        found[VMS] = ONE
    return {**found, VOLUMES: ONE.but(nanos=ONE.nanos * volumes)} if volumes else found


def _stopped(quota: Quota, needs: Iterable[tuple[Demand, Amounts]]) -> Iterator[Stopped]:
    """The machines that the quota stops whatever the others do."""
    for demand, one in needs:
        over = [
            f"it needs {one[name]} of {name}, more than the quota has in all ({hard})"
            for name, hard in quota.hard.items()
            if name in one and one[name].nanos > hard.nanos
        ]
        unstated = [] if quota.is_aware else [why for pod in demand.pods for why in _unstated(quota, pod)]
        if over or unstated:
            yield Stopped(demand=demand, why=(*over, *unstated))


def _unstated(quota: Quota, pod: AdmittedPod) -> Iterator[str]:
    """What containers do not state, and must, since the quota counts it. upstream: evaluator/core/pods.go:Constraints"""
    if not scopes.counts(list(quota.scopes), pod):
        return
    for name in (name for name in STATED if name in quota.hard):
        stated = [(each["name"], usage.of_amounts(each["requests"], each["limits"])) for each in pod.all_containers]
        lacking = [container for container, amounts in stated if name not in amounts]
        if lacking:
            yield f"{' and '.join(lacking)} state{'s' if len(lacking) == 1 else ''} no {name}, which the quota demands"


def _is_blocked(quota: Quota, demand: Demand, used: Amounts) -> bool:
    """True where a second launcher pod, and a second pod for volumes, find no room beside all that runs."""
    if demand.record.get("evictionStrategy") not in MIGRATING or not demand.copies:
        return False
    second: Amounts = {}
    hidden = quota.is_aware and quota.calculator != calculators.UNAWARE
    for number, pod in enumerate(demand.pods):
        if scopes.counts(list(quota.scopes), pod) and not (hidden and not number):
            add_to(second, usage.of_pod(pod))
    asked = {name: amount for name, amount in second.items() if name in used and amount.nanos}
    return any(plus(used[name], amount).nanos > quota.hard[name].nanos for name, amount in asked.items())


def _counts(quota: Quota, demands: Sequence[Demand]) -> Iterator[tuple[str, Amounts]]:
    """What the machines count for with each calculator, whatever the quota limits."""
    for calculator in calculators.CALCULATORS:
        total: Amounts = {}
        for demand in demands:
            for amounts in _of_pods(quota, demand, calculator):
                add_to(total, amounts, demand.copies)
        yield calculator, total


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
    """The use of each quota of the bundle."""
    named = (name_of(entry.obj) for entry in bundle.of_kind("Namespace", ""))
    claims = list(storage.of_bundle(bundle))
    namespaces = sorted({*named, *(demand.namespace for demand in demands), *(namespace for namespace, _ in claims)})
    return [use_of(quota, demands, claims) for quota in quotas_of(bundle, namespaces)]
