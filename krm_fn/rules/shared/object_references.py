"""Every path at which a VM, a DataVolume, a snapshot or the like refers to another object, and the objects that are missing."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.objects import Object, namespace_of, text
from krm_fn.base.paths import EACH, Path, as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.holders import DATA_VOLUMES, INSTANCE_SPEC, SERVED, Holder
from krm_fn.rules.shared.available_objects import AvailableObjects, available_objects
from krm_fn.rules.shared.views import shared

Fields = tuple[tuple[Path, tuple["ReferenceField", ...]], ...]
Tree = dict[Any, Any]  # by step: a tree, or a row at the end
Occurrence = tuple[Path, "ReferenceField", Any]  # the last is what the path's last step is in
Wanted = tuple[str, str, str, bool]  # kind, namespace, name; whether it may be absent


class ReferenceField(Value):
    """A path that holds a name: `kind` is the kind of the object that it refers to, in the owner's namespace.

    `qualified`: the name may be `namespace/name`. `elsewhere`: a `namespace` beside it sets another namespace. `beside`: the
    `kind` beside it must be this one, because references to other kinds are possible; `among`, in place of `kind`, are the
    kinds that are looked up.
    """

    place: Path
    kind: str = ""
    among: tuple[str, ...] = ()
    qualified: bool = False
    elsewhere: bool = False
    beside: bool = False


_CREDENTIAL = ("source", "secret", "secretName")

# Places in the spec of an instance.
INSTANCE = (
    ReferenceField(place=("volumes", EACH, "persistentVolumeClaim", "claimName"), kind="PersistentVolumeClaim"),
    ReferenceField(place=("volumes", EACH, "ephemeral", "persistentVolumeClaim", "claimName"), kind="PersistentVolumeClaim"),
    ReferenceField(place=("volumes", EACH, "memoryDump", "claimName"), kind="PersistentVolumeClaim"),
    ReferenceField(place=("volumes", EACH, "dataVolume", "name"), kind="DataVolume"),
    ReferenceField(place=("volumes", EACH, "secret", "secretName"), kind="Secret"),
    ReferenceField(place=("volumes", EACH, "configMap", "name"), kind="ConfigMap"),
    ReferenceField(place=("volumes", EACH, "serviceAccount", "serviceAccountName"), kind="ServiceAccount"),
    ReferenceField(place=("volumes", EACH, "sysprep", "secret", "name"), kind="Secret"),
    ReferenceField(place=("volumes", EACH, "sysprep", "configMap", "name"), kind="ConfigMap"),
    ReferenceField(place=("volumes", EACH, "cloudInitNoCloud", "secretRef", "name"), kind="Secret"),
    ReferenceField(place=("volumes", EACH, "cloudInitNoCloud", "networkDataSecretRef", "name"), kind="Secret"),
    ReferenceField(place=("volumes", EACH, "cloudInitConfigDrive", "secretRef", "name"), kind="Secret"),
    ReferenceField(place=("volumes", EACH, "cloudInitConfigDrive", "networkDataSecretRef", "name"), kind="Secret"),
    ReferenceField(place=("volumes", EACH, "containerDisk", "imagePullSecret"), kind="Secret"),
    ReferenceField(place=("utilityVolumes", EACH, "claimName"), kind="PersistentVolumeClaim"),
    ReferenceField(place=("accessCredentials", EACH, "sshPublicKey", *_CREDENTIAL), kind="Secret"),
    ReferenceField(place=("accessCredentials", EACH, "userPassword", *_CREDENTIAL), kind="Secret"),
    ReferenceField(place=("networks", EACH, "multus", "networkName"), kind="NetworkAttachmentDefinition", qualified=True),
    ReferenceField(place=("domain", "firmware", "kernelBoot", "container", "imagePullSecret"), kind="Secret"),
    ReferenceField(place=("resourceClaims", EACH, "resourceClaimName"), kind="ResourceClaim"),
    ReferenceField(place=("resourceClaims", EACH, "resourceClaimTemplateName"), kind="ResourceClaimTemplate"),
    ReferenceField(place=("serviceAccountName",), kind="ServiceAccount"),
)

# Places in the spec of a DataVolume, or of a template for one; a DataSource has the first two.
SOURCES = (
    ReferenceField(place=("source", "pvc", "name"), kind="PersistentVolumeClaim", elsewhere=True),
    ReferenceField(place=("source", "snapshot", "name"), kind="VolumeSnapshot", elsewhere=True),
)
DATA_VOLUME = (
    *SOURCES,
    ReferenceField(place=("sourceRef", "name"), kind="DataSource", elsewhere=True, beside=True),
    ReferenceField(place=("source", "http", "secretRef"), kind="Secret"),
    ReferenceField(place=("source", "http", "certConfigMap"), kind="ConfigMap"),
    ReferenceField(place=("source", "http", "secretExtraHeaders", EACH), kind="Secret"),
    ReferenceField(place=("source", "s3", "secretRef"), kind="Secret"),
    ReferenceField(place=("source", "s3", "certConfigMap"), kind="ConfigMap"),
    ReferenceField(place=("source", "gcs", "secretRef"), kind="Secret"),
    ReferenceField(place=("source", "registry", "secretRef"), kind="Secret"),
    ReferenceField(place=("source", "registry", "certConfigMap"), kind="ConfigMap"),
    ReferenceField(place=("source", "imageio", "secretRef"), kind="Secret"),
    ReferenceField(place=("source", "imageio", "certConfigMap"), kind="ConfigMap"),
    ReferenceField(place=("source", "vddk", "secretRef"), kind="Secret"),
)

# Objects that refer to a VM. The targets of restores and clones need not exist: these create them.
_SOURCE: Path = ("spec", "source", "name")
_VM = ReferenceField(place=_SOURCE, among=("VirtualMachine",))
_VM_OR_SNAPSHOT = ReferenceField(place=_SOURCE, among=("VirtualMachine", "VirtualMachineSnapshot"))


# Rows, with the path in front of their places.
VM: Fields = (
    (INSTANCE_SPEC, INSTANCE),
    ((*DATA_VOLUMES, EACH, "spec"), DATA_VOLUME),
)


def _held(holder: Holder) -> Fields:
    if holder.vm is None:
        return ((holder.instance, INSTANCE),)
    return tuple((holder.in_vm(way), rows) for way, rows in VM)


# VMs come before what starts instances without one, and what stands for one machine before what makes several.
_HOLDERS = sorted(SERVED.values(), key=lambda holder: (holder.vm is None, holder.copies))
OWNERS: dict[tuple[str, str], Fields] = {
    **{(holder.group, holder.kind): _held(holder) for holder in _HOLDERS},
    ("cdi.kubevirt.io", "DataVolume"): ((("spec",), DATA_VOLUME),),
    ("cdi.kubevirt.io", "DataSource"): ((("spec",), SOURCES),),
    ("snapshot.kubevirt.io", "VirtualMachineSnapshot"): (((), (_VM,)),),
    ("snapshot.kubevirt.io", "VirtualMachineRestore"): (
        ((), (ReferenceField(place=("spec", "virtualMachineSnapshotName"), kind="VirtualMachineSnapshot"),)),
    ),
    ("export.kubevirt.io", "VirtualMachineExport"): (((), (_VM_OR_SNAPSHOT,)),),
    ("clone.kubevirt.io", "VirtualMachineClone"): (((), (_VM_OR_SNAPSHOT,)),),
    ("kubevirt.io", "VirtualMachineInstanceMigration"): (
        ((), (ReferenceField(place=("spec", "vmiName"), kind="VirtualMachineInstance"),)),
    ),
}

# Where a pool appends a number to the names of one kind, so that none is the name of an object.
NUMBERED = {"Secret": "appendIndexToSecretRefs", "ConfigMap": "appendIndexToConfigMapRefs"}


class Reference:
    """A reference from one object to another: the last step of `path`, from the owner's root, is a key or index of `around`."""

    __slots__ = ("around", "owner", "path")

    def __init__(self, owner: Entry, path: Path, around: Any) -> None:
        self.owner, self.path, self.around = owner, path, around

    @property
    def written(self) -> str:
        """The name as it is written."""
        name: str = self.around[self.path[-1]]
        return name


def missing(bundle: Bundle) -> dict[Wanted, list[Reference]]:
    """The objects that are referred to but neither in the bundle nor created, with their references in the owners' order."""
    return shared(bundle, _missing)


def _missing(bundle: Bundle) -> dict[Wanted, list[Reference]]:
    there = available_objects(bundle)
    found: dict[Wanted, list[Reference]] = {}
    for (group, kind), tree in TREES.items():
        for entry in bundle.of_kind(kind, group):
            if not bundle.is_context(entry.item):
                _add(entry, tree, there, found)
    return found


def referred(bundle: Bundle) -> frozenset[tuple[str, str, str]]:
    """Kind, namespace and name of each object that something of KubeVirt refers to."""
    return shared(bundle, _referred)


def _referred(bundle: Bundle) -> frozenset[tuple[str, str, str]]:
    found = set()
    for (group, kind), tree in TREES.items():
        for entry in bundle.of_kind(kind, group):
            namespace = effective_namespace(entry.obj)
            places = places_of(entry.obj, tree)
            found |= {named[:3] for path, row, around in places if (named := wanted(row, around, path[-1], namespace))}
    return frozenset(found)


def _add(owner: Entry, tree: Tree, there: AvailableObjects, found: dict[Wanted, list[Reference]]) -> None:
    """Add the missing objects that an owner refers to. An unwritten namespace may be any: who applies the owner sets it."""
    namespace, is_written = effective_namespace(owner.obj), bool(namespace_of(owner.obj))
    for path, row, around in places_of(owner.obj, tree):
        named = wanted(row, around, path[-1], namespace)
        if named is None or (named not in found and there.has(*named[:3])) or _numbered(owner.obj, row.kind):
            continue
        kind, meant, name, _ = named
        if not there.may_have(kind, name, anywhere=not is_written and meant == namespace):
            found.setdefault(named, []).append(Reference(owner, path, around))


def places_of(obj: Object, tree: Tree) -> list[Occurrence]:
    """The places of the tree that the object has, in the order of the object."""
    found: list[Occurrence] = []
    _walk(obj, tree, (), found)
    return found


def wanted(row: ReferenceField, around: Any, step: str | int, namespace: str) -> Wanted | None:
    """The object that the name in a row's place refers to; None for a name that is empty or not a string."""
    name = around[step]
    if not isinstance(name, str) or not name:
        return None
    beside = as_map(around)
    kind = row.kind or text(beside.get("kind"))
    if (row.beside and beside.get("kind") != kind) or (row.among and kind not in row.among):
        return None
    if row.qualified and "/" in name:
        namespace, _, name = name.partition("/")
    elif row.elsewhere and isinstance(beside.get("namespace"), str):
        namespace = beside["namespace"] or namespace
    return kind, namespace, name, beside.get("optional") is True


def _numbered(obj: Object, kind: str) -> bool:
    return kind in NUMBERED and get(obj, ("spec", "nameGeneration", NUMBERED[kind])) is True


def tree_of(rows: Fields) -> Tree:
    """The rows as a tree of their places, so that an object is walked once for all of them; a leaf is a row."""
    tree: Tree = {}
    for way, below in rows:
        for row in below:
            node = tree
            for step in (*way, *row.place[:-1]):
                node = node.setdefault(step, {})
            node[row.place[-1]] = row
    return tree


def _walk(value: Any, tree: Tree, path: Path, found: list[Occurrence]) -> None:
    """Add the places of the tree that the value has, in the order of the value."""
    node: Any
    if isinstance(value, dict):
        for step in value:
            if step not in tree:
                continue
            node = tree[step]
            if node.__class__ is dict:
                _walk(value[step], node, (*path, step), found)
            else:
                found.append(((*path, step), node, value))
    elif isinstance(value, list) and EACH in tree:
        node = tree[EACH]
        for index, below in enumerate(value):
            if node.__class__ is dict:
                _walk(below, node, (*path, index), found)
            else:
                found.append(((*path, index), node, value))


TREES = {owner: tree_of(rows) for owner, rows in OWNERS.items()}
