"""What each VM, pool, replica set and instance needs: one record of plain data for each object."""

from __future__ import annotations

from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import kind_of, name_of, text
from krm_fn.base.paths import as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.holders import TEMPLATE, holder_of
from krm_fn.kubevirt.pods import Around, PodError, launcher_pod, vcpus_of
from krm_fn.sizing import storage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.base.bundle import Bundle, Entry
    from krm_fn.base.objects import Object
    from krm_fn.kubevirt.configuration import Cluster
    from krm_fn.kubevirt.releases import Release
    from krm_fn.rules.facts import VmFacts

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


def demand(subject: Subject, *, bundle: Bundle, cluster: Cluster, release: Release) -> Object:
    """The record of an object: what the guest has, the pod or why there is none, and the storage."""
    obj, instance = subject.entry.obj, subject.instance
    namespace = effective_namespace(obj)
    record: Object = {"kind": kind_of(obj), "namespace": namespace, "name": name_of(obj), **_copies(subject)}
    record.update(_sources(subject))
    vm_spec = as_map(get(obj, (*subject.vm.prefix, "spec"))) if subject.vm else {}
    spec = as_map(instance.get("spec")) if instance else as_map(get(obj, (*_template(subject), "spec")))
    if instance is not None:
        record.update(_guest(spec))
    record.update(_pod(subject, Around(bundle=bundle, cluster=cluster, release=release, namespace=namespace)))
    claims = storage.of_vm(as_map(subject.vm.admitted.get("spec")) if subject.vm else vm_spec, spec, namespace, bundle)
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
    return {
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
