"""The kinds that hold a VM, or a template for instances, with its place: one row per kind.

All code that reads VMs and instances uses these rows. Other facts about a kind are elsewhere: its API versions in
`api_versions`, its fields in `schema`, its admission checks in `admission`.
"""

from __future__ import annotations

from krm_fn.base.annotations import Mapping
from krm_fn.base.objects import Object, group_of, kind_of
from krm_fn.base.paths import Path, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.api_versions import CORE, POOL, SUCCESSORS, is_first_instance

# Places in a VM.
TEMPLATE = ("spec", "template")  # the template of its instance: metadata and spec
INSTANCE_SPEC = (*TEMPLATE, "spec")
DOMAIN = (*INSTANCE_SPEC, "domain")
DATA_VOLUMES = ("spec", "dataVolumeTemplates")

# The place of the VM in a pool.
POOLED = ("spec", "virtualMachineTemplate")


def counterparts(path: Path) -> tuple[Path, ...]:
    """The lists of which one has the entry that belongs to one of another list by its name; `path` is that of the name."""
    match path:
        case (*spec, "domain", "devices", "disks" | "filesystems" | "interfaces" as key, int(), "name"):
            return ((*spec, "networks" if key == "interfaces" else "volumes"),)
        case (*spec, "networks", int(), "name"):
            return ((*spec, "domain", "devices", "interfaces"),)
        case (*spec, "volumes", int(), "name"):
            return tuple((*spec, "domain", "devices", key) for key in ("disks", "filesystems"))
    return ()


class Holder(Value):
    """A kind: `template` is the path from an object's root to metadata and spec of an instance, () for the instance itself.

    `vm` is the path of the VM around the template, None if there is none: then the object itself starts the instance.
    `former` are other places of the template, in old releases. `copies`: the object creates as many machines from its template
    as its `replicas` say, with names of their own.
    """

    group: str
    kind: str
    template: Path
    vm: Path | None = None
    former: tuple[Path, ...] = ()
    copies: bool = False

    @property
    def instance(self) -> Path:
        """The place of the instance's spec."""
        return (*self.template, "spec")

    @property
    def is_served(self) -> bool:
        """False for a kind that no release since 1.0 knows: it is migrated, and presets apply to it, but it is not rendered."""
        return (self.group, self.kind) not in SUCCESSORS

    def in_vm(self, place: Path) -> Path:
        """The path to a place in the VM, from the object's root."""
        return (*(self.vm or ()), *place)


def _of_vm(group: str, kind: str, vm: Path = (), *, former: tuple[Path, ...] = (), copies: bool = False) -> Holder:
    return Holder(group=group, kind=kind, vm=vm, template=(*vm, *TEMPLATE), former=former, copies=copies)


ROWS = (
    _of_vm(CORE, "VirtualMachine"),
    _of_vm(POOL, "VirtualMachinePool", POOLED, copies=True),
    Holder(group=CORE, kind="VirtualMachineInstanceReplicaSet", template=("spec", "template"), copies=True),
    Holder(group=CORE, kind="VirtualMachineInstance", template=()),
    _of_vm(CORE, "OfflineVirtualMachine", former=(("spec", "Template"),)),  # with a capital in 0.3
    Holder(group=CORE, kind="VirtualMachineReplicaSet", template=("spec", "template"), copies=True),
)

HOLDERS = {(row.group, row.kind): row for row in ROWS}
SERVED = {key: row for key, row in HOLDERS.items() if row.is_served}
# The served kinds that hold a VM.
RENDERED = tuple(row for row in SERVED.values() if row.vm is not None)


def holder_of(obj: Object) -> Holder | None:
    """The row of an object's kind; None for kinds that hold neither a VM nor an instance."""
    return HOLDERS.get((group_of(obj), kind_of(obj)))


def vm_path(obj: Object, among: Mapping[tuple[str, str], Holder] = HOLDERS) -> Path | None:
    """The path of the VM in an object; None if it holds none."""
    holder = among.get((group_of(obj), kind_of(obj)))
    if holder is None or holder.vm is None or not isinstance(get(obj, holder.vm), dict):
        return None
    return None if is_first_instance(obj) else holder.vm


def template_path(obj: Object) -> Path | None:
    """The path of the instance's template in an object (`()` for an instance); None if there is none."""
    if is_first_instance(obj):
        return ()
    holder = holder_of(obj)
    places = (holder.template, *holder.former) if holder else ()
    return next((path for path in places if isinstance(get(obj, path), dict)), None)
