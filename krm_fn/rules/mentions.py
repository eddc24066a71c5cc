"""Every place in which a VM, a DataVolume, a snapshot or the like names another object of the cluster."""

from __future__ import annotations

from krm_fn.bundle import effective_namespace
from krm_fn.paths import as_map, get
from krm_fn.resource import text
from krm_fn.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from krm_fn.bundle import Bundle, Entry
    from krm_fn.paths import Path
    from krm_fn.resource import Object

# Stands in a row's place for every item of a list.
EACH = -1


class Row(Value):
    """A place that holds a name: `kind` is that of the object it names, in the owner's namespace.

    `qualified`: the name may be `namespace/name`. `elsewhere`: a `namespace` beside it names another namespace. `beside`: a
    `kind` stands beside it and has to be this one, since other kinds may be named there; `among`, in place of `kind`, are
    those of them that are looked for.
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
    Row(place=("volumes", EACH, "persistentVolumeClaim", "claimName"), kind="PersistentVolumeClaim"),
    Row(place=("volumes", EACH, "ephemeral", "persistentVolumeClaim", "claimName"), kind="PersistentVolumeClaim"),
    Row(place=("volumes", EACH, "memoryDump", "claimName"), kind="PersistentVolumeClaim"),
    Row(place=("volumes", EACH, "dataVolume", "name"), kind="DataVolume"),
    Row(place=("volumes", EACH, "secret", "secretName"), kind="Secret"),
    Row(place=("volumes", EACH, "configMap", "name"), kind="ConfigMap"),
    Row(place=("volumes", EACH, "serviceAccount", "serviceAccountName"), kind="ServiceAccount"),
    Row(place=("volumes", EACH, "sysprep", "secret", "name"), kind="Secret"),
    Row(place=("volumes", EACH, "sysprep", "configMap", "name"), kind="ConfigMap"),
    Row(place=("volumes", EACH, "cloudInitNoCloud", "secretRef", "name"), kind="Secret"),
    Row(place=("volumes", EACH, "cloudInitNoCloud", "networkDataSecretRef", "name"), kind="Secret"),
    Row(place=("volumes", EACH, "cloudInitConfigDrive", "secretRef", "name"), kind="Secret"),
    Row(place=("volumes", EACH, "cloudInitConfigDrive", "networkDataSecretRef", "name"), kind="Secret"),
    Row(place=("volumes", EACH, "containerDisk", "imagePullSecret"), kind="Secret"),
    Row(place=("utilityVolumes", EACH, "claimName"), kind="PersistentVolumeClaim"),
    Row(place=("accessCredentials", EACH, "sshPublicKey", *_CREDENTIAL), kind="Secret"),
    Row(place=("accessCredentials", EACH, "userPassword", *_CREDENTIAL), kind="Secret"),
    Row(place=("networks", EACH, "multus", "networkName"), kind="NetworkAttachmentDefinition", qualified=True),
    Row(place=("domain", "firmware", "kernelBoot", "container", "imagePullSecret"), kind="Secret"),
    Row(place=("resourceClaims", EACH, "resourceClaimName"), kind="ResourceClaim"),
    Row(place=("resourceClaims", EACH, "resourceClaimTemplateName"), kind="ResourceClaimTemplate"),
    Row(place=("serviceAccountName",), kind="ServiceAccount"),
)

# Places in the spec of a DataVolume, or of a template for one; a DataSource has the first two.
SOURCES = (
    Row(place=("source", "pvc", "name"), kind="PersistentVolumeClaim", elsewhere=True),
    Row(place=("source", "snapshot", "name"), kind="VolumeSnapshot", elsewhere=True),
)
DATA_VOLUME = (
    *SOURCES,
    Row(place=("sourceRef", "name"), kind="DataSource", elsewhere=True, beside=True),
    Row(place=("source", "http", "secretRef"), kind="Secret"),
    Row(place=("source", "http", "certConfigMap"), kind="ConfigMap"),
    Row(place=("source", "http", "secretExtraHeaders", EACH), kind="Secret"),
    Row(place=("source", "s3", "secretRef"), kind="Secret"),
    Row(place=("source", "s3", "certConfigMap"), kind="ConfigMap"),
    Row(place=("source", "gcs", "secretRef"), kind="Secret"),
    Row(place=("source", "registry", "secretRef"), kind="Secret"),
    Row(place=("source", "registry", "certConfigMap"), kind="ConfigMap"),
    Row(place=("source", "imageio", "secretRef"), kind="Secret"),
    Row(place=("source", "imageio", "certConfigMap"), kind="ConfigMap"),
    Row(place=("source", "vddk", "secretRef"), kind="Secret"),
)

# Who names a VM. What it makes of one need not be there: the targets of restores and clones.
_SOURCE: Path = ("spec", "source", "name")
_VM = Row(place=_SOURCE, among=("VirtualMachine",))
_VM_OR_SNAPSHOT = Row(place=_SOURCE, among=("VirtualMachine", "VirtualMachineSnapshot"))


def _below(prefix: Path, rows: tuple[Row, ...]) -> tuple[Row, ...]:
    return tuple(row.but(place=(*prefix, *row.place)) for row in rows)


VM = (
    *_below(("spec", "template", "spec"), INSTANCE),
    *_below(("spec", "dataVolumeTemplates", EACH, "spec"), DATA_VOLUME),
)
OWNERS: dict[tuple[str, str], tuple[Row, ...]] = {
    ("kubevirt.io", "VirtualMachine"): VM,
    ("pool.kubevirt.io", "VirtualMachinePool"): _below(("spec", "virtualMachineTemplate"), VM),
    ("kubevirt.io", "VirtualMachineInstance"): _below(("spec",), INSTANCE),
    ("kubevirt.io", "VirtualMachineInstanceReplicaSet"): _below(("spec", "template", "spec"), INSTANCE),
    ("cdi.kubevirt.io", "DataVolume"): _below(("spec",), DATA_VOLUME),
    ("cdi.kubevirt.io", "DataSource"): _below(("spec",), SOURCES),
    ("snapshot.kubevirt.io", "VirtualMachineSnapshot"): (_VM,),
    ("snapshot.kubevirt.io", "VirtualMachineRestore"): (
        Row(place=("spec", "virtualMachineSnapshotName"), kind="VirtualMachineSnapshot"),
    ),
    ("export.kubevirt.io", "VirtualMachineExport"): (_VM_OR_SNAPSHOT,),
    ("clone.kubevirt.io", "VirtualMachineClone"): (_VM_OR_SNAPSHOT,),
    ("kubevirt.io", "VirtualMachineInstanceMigration"): (Row(place=("spec", "vmiName"), kind="VirtualMachineInstance"),),
}

# Where a pool says that it appends a number to the names of one kind, so that none is the name of an object.
NUMBERED = {"Secret": "appendIndexToSecretRefs", "ConfigMap": "appendIndexToConfigMapRefs"}


class Mention(Value):
    """One such name: where it stands in its owner, and what it names. An `optional` object may be absent."""

    owner: Entry
    path: Path
    written: str
    kind: str
    namespace: str
    name: str
    optional: bool = False


def mentions(bundle: Bundle) -> Iterator[Mention]:
    """All of a bundle, owner by owner; names that are no text or empty are passed over."""
    for (group, kind), rows in OWNERS.items():
        tree = _tree(rows)
        for entry in bundle.of_kind(kind, group):
            for path, row, parent in _walk(entry.obj, tree, ()):
                found = _mention(entry, path, row, parent)
                if found is not None:
                    yield found


def _mention(entry: Entry, path: Path, row: Row, parent: Any) -> Mention | None:
    written = get(parent, path[-1:])
    if not isinstance(written, str) or not written or _numbered(entry.obj, row.kind):
        return None
    around = as_map(parent)
    kind = row.kind or text(around.get("kind"))
    if (row.beside and around.get("kind") != kind) or (row.among and kind not in row.among):
        return None
    namespace, name = effective_namespace(entry.obj), written
    if row.qualified and "/" in written:
        namespace, _, name = written.partition("/")
    elif row.elsewhere and isinstance(around.get("namespace"), str):
        namespace = around["namespace"] or namespace
    optional = around.get("optional") is True
    return Mention(owner=entry, path=path, written=written, kind=kind, namespace=namespace, name=name, optional=optional)


def _numbered(obj: Object, kind: str) -> bool:
    return kind in NUMBERED and get(obj, ("spec", "nameGeneration", NUMBERED[kind])) is True


def _tree(rows: tuple[Row, ...]) -> dict[Any, Any]:
    """The rows as a tree of their places, so that an object is walked once for all of them; a leaf is the row."""
    tree: dict[Any, Any] = {}
    for row in rows:
        node = tree
        for step in row.place[:-1]:
            node = node.setdefault(step, {})
        node[row.place[-1]] = row
    return tree


def _walk(value: Any, tree: dict[Any, Any], path: Path) -> Iterator[tuple[Path, Row, Any]]:
    """The places of the tree that are in the value: path, row, and what the last step is in."""
    if isinstance(value, list):
        steps = [(index, tree[EACH]) for index in range(len(value))] if EACH in tree else []
    elif isinstance(value, dict):
        steps = [(key, tree[key]) for key in value if key in tree]
    else:
        return
    for step, below in steps:
        if isinstance(below, Row):
            yield (*path, step), below, value
        else:
            yield from _walk(value[step], below, (*path, step))
