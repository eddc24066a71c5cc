"""The Services of a bundle, and the pods that they select: those of machines, and those of other workloads."""

from __future__ import annotations

from itertools import chain

from krm_fn.base.objects import kind_of, labels_of, name_of, namespace_of, text
from krm_fn.base.paths import as_map, get
from krm_fn.base.placeholders import is_filled_in
from krm_fn.kubevirt.holders import holder_of
from krm_fn.rules.shared.machines import machines
from krm_fn.rules.shared.views import shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krm_fn.base.bundle import Bundle, Entry
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.rules.shared.machines import Machine

    Labels = dict[str, str]
    Known = tuple[Machine, Labels]  # a machine, and all labels in and outside of its template

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

    def __init__(self, obj: Object, labels: object, machine: Machine | None = None) -> None:
        self.machine, self.namespace = machine, namespace_of(obj)
        self.labels: Labels = {key: value for key, value in as_map(labels).items() if isinstance(value, str)}
        self.unknown = any(is_filled_in(word) for pair in self.labels.items() for word in pair)
        if machine:
            self.labels |= _given(machine)

    def may_have(self, key: str, value: str) -> bool:
        found = self.labels.get(key)
        return found == value or (self.unknown and (found is None or is_filled_in(found))) or self._is_given(key)

    def _is_given(self, key: str) -> bool:
        return self.machine is not None and (key in GIVEN or (key == NAME and self.machine.copies != 1))


def _given(machine: Machine) -> Labels:
    """The labels that KubeVirt itself gives to the pod of a machine.

    upstream: pkg/virt-controller/services/template.go:podLabels
    """
    name = text(machine.spec.get("hostname")) or name_of(machine.entry.obj).partition(".")[0][:LONGEST_HOSTNAME]
    return {"kubevirt.io": "virt-launcher", NAME: name}


def outer_labels(machine: Machine) -> Labels:
    """The labels of a machine outside of its template: those of the object, and of the VM in a pool."""
    obj = machine.entry.obj
    holder = holder_of(obj)
    of_vm = get(obj, (*(holder.vm or ()), *LABELS)) if holder else None
    return {key: value for each in (labels_of(obj), as_map(of_vm)) for key, value in each.items() if isinstance(value, str)}


class Service:
    """A Service that selects pods by labels."""

    __slots__ = ("entry", "key", "namespace", "selector")

    def __init__(self, entry: Entry, selector: Labels) -> None:
        self.entry, self.selector, self.namespace = entry, selector, namespace_of(entry.obj)
        self.key = self.namespace, tuple(sorted(selector.items()))  # Services with one key select the same pods

    @property
    def is_known(self) -> bool:
        """False if a later step writes some of the selector."""
        return not any(is_filled_in(word) for pair in self.selector.items() for word in pair)

    @property
    def is_of_machines(self) -> bool:
        """True if the selector has a label that only machines have."""
        return any(key.rpartition("/")[0].endswith(GROUPS) for key in self.selector)

    def selects(self, pods: Pods) -> bool:
        """True if it selects the pods for certain."""
        return self.namespace == pods.namespace and self.selector.items() <= pods.labels.items()

    def may_select(self, pods: Pods) -> bool:
        """True if it may select the pods: who applies an object without a namespace chooses one."""
        meet = self.namespace == pods.namespace or not (self.namespace and pods.namespace)
        return meet and all(pods.may_have(*pair) for pair in self.selector.items())


class Selection:
    """The Services of a bundle, and an index of its pods by their labels, so that no Service is compared with all pods."""

    def __init__(self, bundle: Bundle) -> None:
        self.services = tuple(_services(bundle))
        self.pods = tuple(_pods(bundle)) if self.services else ()
        self._may: dict[object, bool] = {}
        self._all: dict[object, list[Machine]] = {}
        self._by_label: dict[tuple[str, str], list[Pods]] = {}
        for pods in self.pods:
            for pair in pods.labels.items():
                self._by_label.setdefault(pair, []).append(pods)
        self._unknown = [pods for pods in self.pods if pods.unknown]
        self.lost = {each: None for each in self.services if each.is_known and not self.may_select(each)}
        self._by_name: dict[tuple[str, str], Machine] = {}
        self._by_any_label: dict[tuple[str, str], list[Known]] = {}
        for pods in self.pods if self.lost else ():
            if pods.machine and not pods.unknown:
                self._by_name.setdefault((pods.namespace, name_of(pods.machine.entry.obj)), pods.machine)
                labels = outer_labels(pods.machine) | pods.labels
                for pair in labels.items():
                    self._by_any_label.setdefault(pair, []).append((pods.machine, labels))

    def machines(self, service: Service) -> Iterator[Machine]:
        """The machines whose pods a Service selects for certain, or else the one that is meant."""
        selected = (pods.machine for pods in self._near(service.selector) if pods.machine and service.selects(pods))
        meant = self.meant_by(service) if service in self.lost else None
        return iter((meant,)) if meant else selected

    def has_machines(self, namespace: str) -> bool:
        """True if machines whose labels are known are in a namespace, "" for one that is not written."""
        return any(each == namespace for each, _ in self._by_name)

    def may_select(self, service: Service) -> bool:
        """True if a Service selects pods of the bundle, or may."""
        if service.key not in self._may:
            self._may[service.key] = self._may_select(service)
        return self._may[service.key]

    def _may_select(self, service: Service) -> bool:
        asked = {key: value for key, value in service.selector.items() if key not in GIVEN and key != NAME}
        near = (*self._near(asked), *self._unknown) if asked else self.pods
        return any(map(service.may_select, near))

    def meant_by(self, service: Service) -> Machine | None:
        """The machine that a Service is meant for, None where nothing says so."""
        names = (name_of(service.entry.obj), *service.selector.values())
        named = (self._by_name.get((service.namespace, name)) for name in names if name)
        here = chain(self._with_all(service), self._alone_with_some(service), filter(None, named))
        return next(chain(here, self._elsewhere(service, names)), None)

    def _with_all(self, service: Service) -> Iterator[Machine]:
        """The machines of its namespace that have all labels, not all of them in the template."""
        return (each for each in self._having(service) if namespace_of(each.entry.obj) == service.namespace)

    def _having(self, service: Service) -> list[Machine]:
        if service.key not in self._all:
            near = min((self._by_any_label.get(pair, []) for pair in service.selector.items()), key=len)
            self._all[service.key] = [machine for machine, labels in near if service.selector.items() <= labels.items()]
        return self._all[service.key]

    def _alone_with_some(self, service: Service) -> Iterator[Machine]:
        """The machines that alone have a label of the selector, and lack the others."""
        for pair in service.selector.items():
            near = self._by_any_label.get(pair, [])
            if len(near) == 1 and namespace_of(near[0][0].entry.obj) == service.namespace:
                machine, labels = near[0]
                if all(labels.get(key, value) == value for key, value in service.selector.items()):
                    yield machine

    def _elsewhere(self, service: Service, names: tuple[str, ...]) -> Iterator[Machine]:
        """The machines of other namespaces that it would select there, and that surely are meant."""
        for machine in self._having(service) if service.namespace else ():
            if namespace_of(machine.entry.obj) and (service.is_of_machines or name_of(machine.entry.obj) in names):
                yield machine

    def _near(self, labels: Labels) -> Iterable[Pods]:
        """The pods with the rarest of the labels."""
        return min((self._by_label.get(pair, ()) for pair in labels.items()), key=len, default=())


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
