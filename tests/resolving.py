"""Small objects for the tests of resolving."""

from __future__ import annotations

from krm_fn.base.bundle import Bundle, effective_namespace
from krm_fn.kubevirt import releases
from krm_fn.kubevirt.resolve import Resolver

GROUP = "instancetype.kubevirt.io"
SMALL = {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}
NAME = f"{GROUP}/default-instancetype"
KIND = f"{GROUP}/default-instancetype-kind"


def vm(instancetype=None, preference=None, *, volumes=(), templates=(), status=None, namespace="", domain=None):
    spec = {"template": {"spec": {"domain": domain or {"devices": {}}, "volumes": list(volumes)}}}
    spec |= {"instancetype": instancetype} if instancetype is not None else {}
    spec |= {"preference": preference} if preference is not None else {}
    spec |= {"dataVolumeTemplates": list(templates)} if templates else {}
    metadata = {"name": "vm", **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": metadata,
        "spec": spec,
        **({"status": status} if status else {}),
    }


def thing(kind, name, spec=None, *, version="v1beta1", group=GROUP, namespace="", labels=None, annotations=None, **more):
    metadata = {"name": name}
    metadata |= {"namespace": namespace} if namespace else {}
    metadata |= {"labels": labels} if labels is not None else {}
    metadata |= {"annotations": annotations} if annotations is not None else {}
    api_version = f"{group}/{version}" if group else version
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **({} if spec is None else {"spec": spec}), **more}


def instancetype(name="small", spec=SMALL, **more):
    return thing("VirtualMachineInstancetype", name, spec, **more)


def cluster_instancetype(name="small", spec=SMALL, **more):
    return thing("VirtualMachineClusterInstancetype", name, spec, **more)


def revision(name, data, **more):
    return thing("ControllerRevision", name, group="apps", version="v1", data=data, revision=0, **more)


def claim(name, labels=None, **more):
    return thing("PersistentVolumeClaim", name, group="", version="v1", labels=labels, **more)


def data_volume(name, spec, **more):
    return thing("DataVolume", name, spec, group="cdi.kubevirt.io", **more)


def data_source(name, source, **more):
    return thing("DataSource", name, {"source": source}, group="cdi.kubevirt.io", **more)


def snapshot(name, labels=None, **more):
    return thing("VolumeSnapshot", name, group="snapshot.storage.k8s.io", version="v1", labels=labels, **more)


class Shelf:
    """A catalogue of our own."""

    def __init__(self, specs):
        self._specs = specs

    def find(self, kind, name):
        return self._specs.get((kind, name))

    def names(self, kind):
        return [name for of, name in self._specs if of == kind]

    def elsewhere(self, kind, name):
        return ()


def resolve(machine, *items, release="1.9", catalogue=None):
    resolver = Resolver(bundle=Bundle([*items, machine]), release=releases.parse(release), catalogue=catalogue)
    return resolver.resolve(machine, namespace=effective_namespace(machine))


def reasons(resolution):
    return [(error.matcher, error.reason) for error in resolution.errors]
