"""The Services of a bundle, and the pods that they select: those of machines, and those of other workloads."""

from __future__ import annotations

from krm_fn.base.annotations import Iterable, Iterator, Sequence
from krm_fn.base.bundle import Bundle, Entry
from krm_fn.base.objects import Object, kind_of, labels_of, name_of, namespace_of, text
from krm_fn.base.paths import Path, as_map, get
from krm_fn.base.placeholders import is_filled_in
from krm_fn.kubevirt.holders import holder_of
from krm_fn.rules.shared.machines import MachineSpec, machines
from krm_fn.rules.shared.views import shared

Labels = dict[str, str]


LABELS: Path = ("metadata", "labels")
# Where a workload has its pods' template; a Pod is its own.
TEMPLATES: tuple[Path, ...] = (("spec", "template"), ("spec", "jobTemplate", "spec", "template"))
# Labels that KubeVirt gives to the pod of a machine, whose values only the cluster knows.
GIVEN = frozenset(
    (
        *("kubevirt.io/created-by", "kubevirt.io/nodeName", "kubevirt.io/migrationJobUID", "vmi.kubevirt.io/id"),
        "kubevirt.io/vm-pool-revision-name",
    )
)
NAME = "vm.kubevirt.io/name"
LONGEST_HOSTNAME = 63
# The groups of labels that only machines have.
GROUPS = ("kubevirt.io", "harvesterhci.io")


class Pods:
    """The pods that one object makes, with their labels; `machine` is what they run, None for other workloads.

    `unknown`: a later step writes some of the labels.
    """

    __slots__ = ("labels", "machine", "namespace", "unknown")

    def __init__(self, obj: Object, labels: object, machine: MachineSpec | None = None) -> None:
        self.machine, self.namespace = machine, namespace_of(obj)
        self.labels: Labels = {key: value for key, value in as_map(labels).items() if isinstance(value, str)}
        self.unknown = any(is_filled_in(word) for pair in self.labels.items() for word in pair)
        if machine:
            self.labels |= _given(machine)


def _given(machine: MachineSpec) -> Labels:
    """The labels that KubeVirt itself gives to the pod of a machine.

    upstream: pkg/virt-controller/services/template.go:podLabels
    """
    name = text(machine.spec.get("hostname")) or name_of(machine.entry.obj).partition(".")[0][:LONGEST_HOSTNAME]
    return {"kubevirt.io": "virt-launcher", NAME: name}


def outer_labels(machine: MachineSpec) -> Labels:
    """The labels of a machine outside of its template: those of the object, and of the VM in a pool."""
    obj = machine.entry.obj
    holder = holder_of(obj)
    of_vm = get(obj, (*(holder.vm or ()), *LABELS)) if holder else None
    return {key: value for each in (labels_of(obj), as_map(of_vm)) for key, value in each.items() if isinstance(value, str)}


class Service:
    """A Service that selects pods by labels."""

    __slots__ = ("entry", "namespace", "selector")

    def __init__(self, entry: Entry, selector: Labels) -> None:
        self.entry, self.selector, self.namespace = entry, selector, namespace_of(entry.obj)

    @property
    def is_known(self) -> bool:
        """False if a later step writes some of the selector."""
        return not any(is_filled_in(word) for pair in self.selector.items() for word in pair)

    @property
    def is_of_machines(self) -> bool:
        """True if the selector has a label that only machines have."""
        return any(key.rpartition("/")[0].endswith(GROUPS) for key in self.selector)


class Selection:
    """The Services of a bundle, and what they select.

    No Service is compared with all pods: there may be thousands of both. A set of pods is a number with a bit for the place of
    each, and so is a set of the machines whose labels are known.
    """

    def __init__(self, bundle: Bundle) -> None:
        self.services = tuple(_services(bundle))
        pods = tuple(_pods(bundle)) if self.services else ()
        self.machines = tuple(each.machine for each in pods)  # None for other workloads
        self._at = {machine: 1 << place for place, machine in enumerate(self.machines) if machine}
        self._pods = _Index(pods, [each.labels for each in pods])
        self._set_later = _places(each.unknown for each in pods)
        self._given = {key: _places(each.machine is not None for each in pods) for key in GIVEN}
        self._given[NAME] = _places(each.machine is not None and each.machine.copies != 1 for each in pods)
        self.lost = {each: None for each in self.services if each.is_known and not self._may_select(each)}
        found = [(each, each.machine) for each in pods if each.machine and not each.unknown] if self.lost else ()
        self._machines = tuple(machine for _, machine in found)
        self._known = _Index([each for each, _ in found], [outer_labels(machine) | each.labels for each, machine in found])
        self._by_name: dict[str, int] = {}
        for place, machine in enumerate(self._machines):
            name = name_of(machine.entry.obj)
            self._by_name[name] = self._by_name.get(name, 0) | 1 << place

    def selected(self, service: Service) -> int:
        """The pods that a Service selects for certain, or else those of the machine that is meant: places in `machines`."""
        meant = self.meant_by(service) if service in self.lost else None
        if meant:
            return self._at[meant]
        return self._pods.in_namespace(service.namespace) & self._pods.with_all(service.selector)

    def has_machines(self, namespace: str) -> bool:
        """True if machines whose labels are known are in a namespace, "" for one that is not written."""
        return bool(self._known.in_namespace(namespace))

    def _may_select(self, service: Service) -> bool:
        """True if a Service selects pods, or may: who applies an object without a namespace chooses one."""
        namespaces = {service.namespace: None, "": None} if service.namespace else self._pods.namespaces
        found = 0
        for namespace in namespaces:
            found |= self._pods.in_namespace(namespace)
        for key, value in service.selector.items():
            found &= self._pods.having(key, value) | self._set_later & ~self._pods.stating(key) | self._given.get(key, 0)
        return found > 0

    def meant_by(self, service: Service) -> MachineSpec | None:
        """The machine that a Service is meant for, None where nothing says so."""
        names = (name_of(service.entry.obj), *service.selector.values())
        here, having = self._known.in_namespace(service.namespace), self._known.with_all(service.selector)
        found = here & having or self._alone_with_some(service, here)  # not all labels may be in the template
        for name in filter(None, names if not found else ()):
            found = found or here & self._by_name.get(name, 0)
        return self._first(found or self._elsewhere(service, names, having))

    def _alone_with_some(self, service: Service, here: int) -> int:
        """A machine that alone has a label of the selector, and lacks the others."""
        for pair in service.selector.items():
            near = self._known.having(*pair)
            if near and not near & (near - 1) and near & here:
                labels = self._known.labels[near.bit_length() - 1]
                if all(labels.get(key, value) == value for key, value in service.selector.items()):
                    return near
        return 0

    def _elsewhere(self, service: Service, names: tuple[str, ...], having: int) -> int:
        """The machines of other namespaces that it would select there, and that surely are meant."""
        if not service.namespace:
            return 0
        elsewhere = having & ~self._known.in_namespace("")
        if service.is_of_machines:
            return elsewhere
        named = 0
        for name in names:
            named |= self._by_name.get(name, 0)
        return elsewhere & named

    def _first(self, found: int) -> MachineSpec | None:
        return self._machines[first_of(found)] if found else None


class _Index:
    """Sets of pods by label, by key, and by namespace."""

    def __init__(self, pods: Sequence[Pods], labels: Sequence[Labels]) -> None:
        self.labels = labels
        self.namespaces: dict[str, int] = {}
        self._with: dict[tuple[str, str], int] = {}
        self._stating: dict[str, int] = {}
        for place, (each, own) in enumerate(zip(pods, labels, strict=True)):
            bit = 1 << place
            self.namespaces[each.namespace] = self.namespaces.get(each.namespace, 0) | bit
            for pair in own.items():
                self._with[pair] = self._with.get(pair, 0) | bit
                if not is_filled_in(pair[1]):
                    self._stating[pair[0]] = self._stating.get(pair[0], 0) | bit

    def in_namespace(self, namespace: str) -> int:
        return self.namespaces.get(namespace, 0)

    def having(self, key: str, value: str) -> int:
        return self._with.get((key, value), 0)

    def stating(self, key: str) -> int:
        """The pods whose value of a label is written, whatever it is."""
        return self._stating.get(key, 0)

    def with_all(self, labels: Labels) -> int:
        found = -1
        for pair in labels.items():
            found &= self.having(*pair)
        return found


def _places(chosen: Iterable[bool]) -> int:
    """The set of those that are chosen."""
    return int("".join("01"[each] for each in chosen)[::-1] or "0", 2)


def first_of(places: int) -> int:
    """The first of a set that is not empty."""
    return (places & -places).bit_length() - 1


def selection(bundle: Bundle) -> Selection:
    """The Services and pods of a bundle; all callers share one value."""
    return shared(bundle, Selection)


def _services(bundle: Bundle) -> Iterator[Service]:
    for entry in bundle.of_kind("Service", ""):
        selector = get(entry.obj, ("spec", "selector"))
        if isinstance(selector, dict) and selector and get(entry.obj, ("spec", "type")) != "ExternalName":
            words = [word for pair in selector.items() for word in pair]
            if all(isinstance(word, str) for word in words):
                yield Service(entry, selector)


def _pods(bundle: Bundle) -> Iterator[Pods]:
    found = machines(bundle)
    for machine in found:
        yield Pods(machine.entry.obj, get(machine.entry.obj, (*machine.path[:-1], *LABELS)), machine)
    of_machines = {id(machine.entry) for machine in found}
    for entry in bundle.entries:
        if id(entry) in of_machines:
            continue
        if kind_of(entry.obj) == "Pod":
            yield Pods(entry.obj, labels_of(entry.obj))
        for template in TEMPLATES:
            labels = get(entry.obj, (*template, *LABELS))
            if isinstance(labels, dict):
                yield Pods(entry.obj, labels)
