"""What each VM, pool, replica set and instance needs: one record of plain data for each object."""

from __future__ import annotations

from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import kind_of, name_of, text
from krm_fn.base.paths import as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.holders import TEMPLATE, holder_of
from krm_fn.kubevirt.pods import PodError, launcher_pod, vcpus_of
from krm_fn.kubevirt.pods.amounts import written
from krm_fn.kubevirt.quantity import parse
from krm_fn.sizing import limit_ranges, storage
from krm_fn.sizing.pods import pods_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.kubevirt.pods import Around
    from krm_fn.rules.facts import VmFacts
    from krm_fn.sizing.pods import AdmittedPod

# The run strategies with which the cluster starts a VM by itself.
STARTING = ("Always", "RerunOnFailure", "Once")
TOPOLOGY = ("sockets", "cores", "threads")


class Subject(Value):
    """An object that starts instances, and the instance that it starts as, None where none starts.

    `vm` are the facts of the VM in it, None where it holds none. `refused` says why KubeVirt refuses the object.
    """

    entry: Entry
    instance: Object | None
    vm: VmFacts | None = None
    refused: tuple[str, ...] = ()


class Demand(Value):
    """What an object needs: the record of it, and its pods as the API server admits them."""

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


def demand(subject: Subject, around: Around, ranges: Sequence[Object] = ()) -> Demand:
    """What an object needs. `ranges` are the LimitRanges of its namespace."""
    record = _record(subject, around)
    pods = pods_of(record.get("pod"), ranges)
    limited = _limited(record, pods, ranges) if ranges else {}
    return Demand(record={**record, "limitRange": limited} if limited else record, pods=pods)


def _limited(record: Object, pods: tuple[AdmittedPod, ...], ranges: Sequence[Object]) -> Object:
    """What LimitRanges make of the launcher pod, and why the API server refuses pods or claims; empty where nothing."""
    found: Object = {}
    if pods:
        first, given = pods[0], record["pod"]
        sums = {"requests": written(first.requests), "limits": written(first.limits), "qosClass": first.qos}
        found = {key: value for key, value in sums.items() if given.get(key, {}) != value}
    created = [claim for claim in record.get("storage", ()) if claim["kind"] == storage.TEMPLATE]
    why = [why for pod in pods for why in pod.refused]
    why += [
        f"{claim['name']}: {why}"
        for claim in created
        for why in limit_ranges.claim_violations(parse(claim.get("size")), ranges)
    ]
    return {**found, "refused": why} if why else found


def _record(subject: Subject, around: Around) -> Object:
    """What the guest has, the pod or why there is none, and the storage."""
    obj, instance = subject.entry.obj, subject.instance
    namespace = effective_namespace(obj)
    record: Object = {"kind": kind_of(obj), "namespace": namespace, "name": name_of(obj), **_copies(subject)}
    record.update(_sources(subject))
    spec = as_map(instance.get("spec")) if instance else as_map(get(obj, (*_template(subject), "spec")))
    if instance is not None:
        record.update(_guest(spec))
    record.update(_pod(subject, around))
    claims = storage.of_vm(as_map(subject.vm.admitted.get("spec")) if subject.vm else {}, spec, namespace, around.bundle)
    return {**record, "storage": claims} if claims else record


def _template(subject: Subject) -> tuple[Any, ...]:
    return (*subject.vm.prefix, *TEMPLATE) if subject.vm else ()


def _copies(subject: Subject) -> Object:
    """How many machines there are, and whether the cluster starts them by itself."""
    holder = holder_of(subject.entry.obj)
    starts = True
    if subject.vm:
        spec = as_map(subject.vm.vm.get("spec"))
        starts = spec.get("running") is True or spec.get("runStrategy") in STARTING
    if not holder or not holder.copies:
        return {"starts": starts}
    replicas = get(subject.entry.obj, ("spec", "replicas"))
    return {"starts": starts, "replicas": replicas if type(replicas) is int else 1}


def _sources(subject: Subject) -> Object:
    """The names of the instancetype and the preference."""
    if not subject.vm:
        return {}
    found = subject.vm.resolution
    sources = (("instancetype", found.instancetype), ("preference", found.preference))
    return {key: source.ref.name for key, source in sources if source}


def _guest(spec: Object) -> Object:
    cpu = as_map(get(spec, ("domain", "cpu")))
    strategy = text(spec.get("evictionStrategy"))
    return {
        **({"evictionStrategy": strategy} if strategy else {}),
        "vcpus": vcpus_of(cpu),
        "memory": text(get(spec, ("domain", "memory", "guest"))),
        "topology": {key: cpu.get(key) or 1 for key in TOPOLOGY},  # libvirt takes 1 for what is not said
    }


def _pod(subject: Subject, around: Around) -> Object:
    why = {"refused": list(subject.refused)} if subject.refused else {}
    if subject.instance is None:
        return why
    try:
        return {**why, "pod": launcher_pod(subject.instance, around)}
    except PodError as error:
        return {**why, "podError": str(error)}
