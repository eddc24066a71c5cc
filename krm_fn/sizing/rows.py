"""Demands in groups, as the rows of a table: by VM, namespace, instancetype, needed nodes, target or cluster."""

from __future__ import annotations

from krm_fn.base.annotations import Callable, Iterable, Sequence
from krm_fn.base.objects import Object
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.quantity import NANO, Quantity, parse
from krm_fn.base.redaction import redact
from krm_fn.base.value import Value
from krm_fn.kubevirt.pods.amounts import ZERO, Amounts, add_to, plus, times
from krm_fn.sizing import storage
from krm_fn.sizing.demands import Demand, identity
from krm_fn.sizing.usage import HUGE_PAGES, is_extended

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fractions import Fraction


# What nearly every pod asks for, so that it distinguishes none.
USUAL_DEVICES = frozenset(f"devices.kubevirt.io/{name}" for name in ("kvm", "tun", "vhost-net"))
USUAL_LABELS = frozenset(("kubevirt.io/schedulable",))
OBSOLETE_MODEL = "node-labeller.kubevirt.io/obsolete-host-model"
REQUIRED = ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
NONE = "-"
SHORT = {"VirtualMachinePool": "pool", "VirtualMachineInstanceReplicaSet": "replica set", "VirtualMachineInstance": "instance"}
GIB_PER_CPU = 4  # as much memory weighs as one CPU where rows are sorted


class Sized(Value):
    """A demand, and where it comes from: the target that was built, and the cluster of its config, "" for none.

    `cost` is that of all its machines for a month, 0 without prices.
    """

    demand: Demand
    target: str = ""
    cluster: str = ""
    cost: Fraction | int = 0


class Row(Value):
    """The sums of a group: `labels` name it. `cpu`, `memory` (huge pages included) and `devices` are what the pods request.

    `machines` counts all, `without_pod` those that get none; `notes` say why. `migratable` counts those that can be
    live-migrated, `not_migratable` those that can't; of the others that is not known.
    """

    labels: tuple[str, ...]
    machines: int = 0
    vcpus: int = 0
    guest: Quantity = ZERO
    cpu: Quantity = ZERO
    memory: Quantity = ZERO
    overhead: Quantity = ZERO
    storage: Quantity = ZERO
    devices: Amounts = {}  # noqa: RUF012  nobody writes into a Value
    without_pod: int = 0
    migratable: int = 0
    not_migratable: int = 0
    notes: tuple[str, ...] = ()
    cost: Fraction | int = 0

    @property
    def weight(self) -> tuple[Fraction | int, int, int, int]:
        """What the row costs; without prices, CPUs, and memory as far as a node has it for each CPU."""
        heavy = self.cpu.nanos + self.memory.nanos // (GIB_PER_CPU << 30)
        return self.cost, heavy, self.storage.nanos, self.machines


def _of_vm(sized: Sized) -> tuple[str, ...]:
    record = sized.demand.record
    kind = SHORT.get(record["kind"])
    return record["namespace"], f"{record['name']} ({kind})" if kind else record["name"]


def _of_namespace(sized: Sized) -> tuple[str, ...]:
    return (sized.demand.namespace,)


def _of_instancetype(sized: Sized) -> tuple[str, ...]:
    return (sized.demand.record.get("instancetype", NONE),)


def _of_nodes(sized: Sized) -> tuple[str, ...]:
    return (node_needs(sized.demand.record.get("pod")),)


def _of_target(sized: Sized) -> tuple[str, ...]:
    return (sized.target or NONE,)


def _of_cluster(sized: Sized) -> tuple[str, ...]:
    return (sized.cluster or NONE,)


# The words of `--by`, with the heads of the columns that name a row.
GROUPS: dict[str, tuple[tuple[str, ...], Callable[[Sized], tuple[str, ...]]]] = {
    "vm": (("NAMESPACE", "NAME"), _of_vm),
    "namespace": (("NAMESPACE",), _of_namespace),
    "instancetype": (("INSTANCETYPE",), _of_instancetype),
    "node-needs": (("NODE NEEDS",), _of_nodes),
    "target": (("TARGET",), _of_target),
    "cluster": (("CLUSTER",), _of_cluster),
}
# VMs where they come from several targets, which may have VMs of one name.
OF_TARGETS = ("TARGET", *GROUPS["vm"][0])


def heads(sized: Iterable[Sized], by: str) -> tuple[str, ...]:
    """The heads of the columns that name a row."""
    return OF_TARGETS if by == "vm" and any(each.target for each in sized) else GROUPS[by][0]


def rows(sized: Sequence[Sized], by: str) -> list[Row]:
    """The groups, heaviest first. With `vm`, each object is a row of its own, also where two have one name."""
    found: dict[tuple[object, ...], Row] = {}
    of_targets = heads(sized, by) == OF_TARGETS
    for number, each in enumerate(_in_order(sized)):
        labels = (*(_of_target(each) if of_targets else ()), *GROUPS[by][1](each))
        key = (*labels, number) if by == "vm" else labels
        found[key] = _with(found.get(key, Row(labels=labels)), each)
    heavy = sorted(found.values(), key=lambda row: row.labels)
    return sorted(heavy, key=lambda row: row.weight, reverse=True)


def total(sized: Iterable[Sized]) -> Row:
    """The sum of all."""
    row = Row(labels=())
    for each in _in_order(sized):
        row = _with(row, each)
    return row


def _with(row: Row, each: Sized) -> Row:
    return added(row, each.demand).but(cost=row.cost + each.cost)


def _in_order(sized: Iterable[Sized]) -> list[Sized]:
    return sorted(sized, key=lambda each: (each.target, *identity(each.demand)))


def added(row: Row, demand: Demand) -> Row:
    """The row with a demand in it."""
    record, number, requests = demand.record, demand.copies, _requests(demand)
    guest = times(parse(record.get("memory")) or ZERO, number) if demand.pods else ZERO
    overhead = parse(get(record, ("pod", "memoryOverhead"))) or ZERO
    status, _ = live_migration(record)
    devices = dict(row.devices)
    add_to(devices, {name: amount for name, amount in requests.items() if is_shown(name)})
    return Row(
        labels=row.labels,
        machines=row.machines + number,
        vcpus=row.vcpus + (number * record["vcpus"] if demand.pods else 0),
        guest=plus(row.guest, guest),
        cpu=plus(row.cpu, requests.get("cpu", ZERO)),
        memory=plus(row.memory, _memory(requests)),
        overhead=plus(row.overhead, times(overhead, number)),
        storage=plus(row.storage, times(_storage(record), number)),
        devices=devices,
        without_pod=row.without_pod + (0 if demand.pods else number),
        migratable=row.migratable + number * (status == "yes"),
        not_migratable=row.not_migratable + number * (status == "no"),
        notes=(*row.notes, *reasons(record)),
    )


def together(one: Row, other: Row) -> Row:
    """The sums of two rows, under the labels of the first."""
    devices = dict(one.devices)
    add_to(devices, other.devices)
    counted = ("machines", "vcpus", "without_pod", "migratable", "not_migratable", "notes", "cost")
    sums = {name: getattr(one, name) + getattr(other, name) for name in counted}
    amounts = ("guest", "cpu", "memory", "overhead", "storage")
    return one.but(devices=devices, **sums, **{name: plus(getattr(one, name), getattr(other, name)) for name in amounts})


def _requests(demand: Demand) -> Amounts:
    found: Amounts = {}
    for pod in demand.pods:
        add_to(found, pod.requests, demand.copies)
    return found


def _memory(requests: Amounts) -> Quantity:
    found = requests.get("memory", ZERO)
    for name, amount in requests.items():
        if name.startswith(HUGE_PAGES):
            found = plus(found, amount)
    return found


def is_shown(name: str) -> bool:
    """True for devices that not every pod has, and for huge pages."""
    return (is_extended(name) and name not in USUAL_DEVICES) or name.startswith(HUGE_PAGES)


def _storage(record: Object) -> Quantity:
    found = ZERO
    for claim in record.get("storage", ()):
        if storage.is_created(claim):
            found = plus(found, parse(claim.get("size")) or ZERO)
    return found


def reasons(record: Object) -> list[str]:
    """Why a machine gets no pod, or why the API server refuses it."""
    refused = as_list(as_map(record.get("limitRange")).get("refused"))
    if "pod" in record:
        return [*map(str, refused)]
    return [record["podError"]] if "podError" in record else [*record.get("refused", ()), *record.get("unknown", ())]


def live_migration(record: Object) -> tuple[str, str]:
    """Whether the machine of a record can be live-migrated, `yes`, `no` or `unknown`, and what stops it or decides it.

    The first is "" where no machine starts.
    """
    found = record.get("migratable")
    if not found:
        return "", ""
    if "unknown" in found:
        return "unknown", f"that depends on {', '.join(found['unknown'])}"
    status = found["liveMigratable"]
    return ("yes", "") if status["status"] == "True" else ("no", str(status["message"]))


def node_needs(pod: Object | None) -> str:
    """What distinguishes the nodes that a pod can run on, in words; what may be secret is hidden."""
    if not pod:
        return NONE
    labels = {key: value for key, value in redact(pod["nodeSelector"]).items() if key not in USUAL_LABELS}
    found = [f"{key}={labels[key]}" for key in sorted(labels)]
    found += [_requirement(each) for term in as_list(get(pod.get("affinity"), REQUIRED)) for each in _expressions(term)]
    found += sorted(name for name in pod["requests"] if is_shown(name))
    return ", ".join(dict.fromkeys(found)) or NONE


def _expressions(term: object) -> list[Object]:
    listed = map(as_map, as_list(as_map(term).get("matchExpressions")))
    return [each for each in listed if each.get("key") != OBSOLETE_MODEL]


def _requirement(expression: Object) -> str:
    values = ",".join(map(str, as_list(expression.get("values"))))
    return f"{expression.get('key')} {expression.get('operator')}{' ' + values if values else ''}"


def in_cpus(amount: Quantity) -> str:
    """CPUs in at most three decimals, rounded up: `0.105`, `12`."""
    milli = -(-amount.nanos // (NANO // 1000))
    return f"{milli / 1000:.3f}".rstrip("0").rstrip(".")


UNITS = ("B", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def in_bytes(amount: Quantity) -> str:
    """Bytes in the unit that people read, with three digits that count: `1.29Gi`, `512Mi`."""
    value, unit = amount.nanos / NANO, 0
    while value >= 1000 and unit < len(UNITS) - 1:
        value, unit = value / 1024, unit + 1
    if not unit:
        return f"{int(value)}" if value else "0"
    digits = 2 if value < 10 else 1 if value < 100 else 0
    text = f"{value:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + UNITS[unit]


BYTES = ("memory", "storage", "ephemeral-storage", HUGE_PAGES)


def compared(resource: str, need: str, has: str) -> tuple[str, str]:
    """Two amounts of a resource that differ, as people read them; as they are written where these would be equal."""
    found = amount(resource, need), amount(resource, has)
    return found if found[0] != found[1] else (need, has)


def amount(resource: str, text: str) -> str:
    """An amount of a resource of a pod or a quota as people read it."""
    found = parse(text)
    base = resource.removeprefix("requests.").removeprefix("limits.").removesuffix("/vmi").rpartition("/")[2]
    if found is None or not (base.startswith(BYTES) or base == "requests.storage"):
        return in_cpus(found) if found and base == "cpu" else text
    return in_bytes(found)
