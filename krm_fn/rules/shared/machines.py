"""The machines of a bundle, for the rules that compare them: every object that starts instances, and its instance spec."""

from __future__ import annotations

from krm_fn.base.annotations import Iterable, Iterator
from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.objects import Object, name_of, ref_of
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.kubevirt.holders import DATA_VOLUMES, RENDERED, SERVED, Holder
from krm_fn.rules.registry import Hit, also
from krm_fn.rules.shared.views import shared

# The run strategies with which the cluster starts a VM by itself.
RUNNING = ("Always", "RerunOnFailure", "Once")


class MachineSpec:
    """A machine: `spec` is the instance spec, at `path` from the object's root; `copies` is the number of machines it creates.

    `starts` is true where the cluster starts it by itself, `by_hand` where only people do. `vm` is the VM's spec, {} where
    there is none. `pooled`: each machine is a VM of its own, with the objects that the VM creates for itself. `is_instance`: it
    is the instance itself.
    """

    __slots__ = ("by_hand", "copies", "entry", "is_instance", "namespace", "path", "pooled", "spec", "starts", "vm")

    def __init__(self, holder: Holder, entry: Entry, namespace: str) -> None:
        self.entry, self.namespace = entry, namespace
        self.path: Path = holder.instance
        self.is_instance = not holder.template
        self.spec: Object = as_map(get(entry.obj, self.path))
        of_vm = holder.vm is not None
        self.vm: Object = as_map(get(entry.obj, holder.in_vm(("spec",)))) if of_vm else {}
        self.copies = _replicas(entry.obj) if holder.copies else 1
        self.pooled = of_vm and holder.copies
        self.starts = _starts(self.vm) if of_vm else True
        self.by_hand = self.vm.get("runStrategy") == "Manual"

    def __str__(self) -> str:
        return str(ref_of(self.entry.obj))


def machines(bundle: Bundle) -> tuple[MachineSpec, ...]:
    """All machines, kind by kind, ordered; of two objects with one name only the first, because the cluster has one.

    A VM and an instance of one name are one machine, too: the VM, unless it does not start.
    """
    return shared(bundle, _machines)


def _machines(bundle: Bundle) -> tuple[MachineSpec, ...]:
    found = [
        MachineSpec(holder, entry, namespace)
        for holder in SERVED.values()
        for entry, namespace in _distinct(bundle.ordered(bundle.of_kind(holder.kind, holder.group)))
    ]
    of_vms = {(each.namespace, name_of(each.entry.obj)) for each in found if each.vm and not each.pooled and each.starts}
    return tuple(each for each in found if not (each.is_instance and (each.namespace, name_of(each.entry.obj)) in of_vms))


def _distinct(entries: Iterable[Entry]) -> Iterator[tuple[Entry, str]]:
    """The entries with their namespaces."""
    seen: set[tuple[str, str]] = set()
    for entry in entries:
        key = effective_namespace(entry.obj), name_of(entry.obj)
        if key not in seen or not key[1]:  # the cluster names an object without a name
            seen.add(key)
            yield entry, key[0]


def data_volumes(bundle: Bundle) -> Iterator[tuple[Entry, Path]]:
    """The DataVolumes of a bundle, and those in the templates of its VMs, each with its path from the root of the object."""
    yield from ((entry, ()) for entry in bundle.of_kind("DataVolume", "cdi.kubevirt.io"))
    for holder in RENDERED:
        at = holder.in_vm(DATA_VOLUMES)
        for entry in bundle.of_kind(holder.kind, holder.group):
            yield from ((entry, (*at, index)) for index, _ in enumerate(as_list(get(entry.obj, at))))


def repeated(values: Iterable[tuple[str, MachineSpec]]) -> Iterator[tuple[MachineSpec, MachineSpec]]:
    """Each machine with the value of an earlier one, with that one; a template with several copies is paired with itself."""
    first: dict[str, MachineSpec] = {}
    for value, machine in values:
        other = first.setdefault(value, machine)
        if other is not machine or machine.copies > 1:
            yield machine, other


def holders_named(machine: MachineSpec, other: MachineSpec, what: str) -> str:
    """The fact in words: which other machine has the same value."""
    if other is machine:
        return f"each of the {machine.copies} machines of this template gets the same {what}"
    return f"{other} has the same {what}"


def twice(machine: MachineSpec, other: MachineSpec, place: Path, *, what: str, fix: str) -> Hit:
    """A hit for a machine that has the same value as the other at a path in its spec."""
    return Hit(
        message=f"{holders_named(machine, other, what)}; {fix}",
        path=(*machine.path, *place),
        current=get(machine.spec, place),
        about=machine.entry,
        related=() if other is machine else also(other.entry, (*other.path, *place)),
    )


def _replicas(obj: Object) -> int:
    replicas = get(obj, ("spec", "replicas"))
    return replicas if type(replicas) is int else 1


def _starts(vm: Object) -> bool:
    return vm.get("running") is True or vm.get("runStrategy") in RUNNING
