"""The object that a record is about: a VM, a pool, a replica set or an instance, and where its template stands."""

from __future__ import annotations

from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import Object, group_of, kind_of, name_of
from krm_fn.base.paths import dotted
from krm_fn.base.value import Value
from krm_fn.kubevirt.holders import SERVED

VM, POOL = "VirtualMachine", "VirtualMachinePool"
REPLICA_SET, INSTANCE = "VirtualMachineInstanceReplicaSet", "VirtualMachineInstance"
KINDS = tuple(row.kind for row in SERVED.values())
# What a kind is called as the source of a cause.
SOURCES = {VM: "vm", POOL: "pool", REPLICA_SET: "replicaSet", INSTANCE: "instance"}

# The effect on an object that the bundle no longer has, and that what applies the bundle keeps in the cluster.
LEFT = "left"

Key = tuple[str, str, str]  # namespace, name, kind


class Owner(Value):
    """The object, with the places of its VM and of the template in it, as texts: "" for the object itself."""

    kind: str
    namespace: str
    name: str
    vm: str = ""
    template: str = ""

    @property
    def source(self) -> str:
        return SOURCES[self.kind]


def owner_of(obj: Object) -> Owner:
    """The owner that an object of a served kind is."""
    row = SERVED[group_of(obj), kind_of(obj)]
    return Owner(
        kind=row.kind,
        namespace=effective_namespace(obj),
        name=name_of(obj),
        vm=dotted(row.vm or ()),
        template=dotted(row.template),
    )


def key_of(obj: Object) -> Key:
    """What tells the object from others."""
    return effective_namespace(obj), name_of(obj), kind_of(obj)
