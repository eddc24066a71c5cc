"""Two machines write to the same disk, or a machine to a disk that is to be cloned.

What it finds: a PersistentVolumeClaim or DataVolume that two machines of a namespace use for writing at the same time: VMs
that the cluster starts by itself, instances, and the copies that a pool or a replica set makes of one template. If one of
them is started only by hand (`Manual`), it is an info. It is allowed if one of the two is read-only (`readOnly`, `readonly`,
a CD-ROM), if both disks are `shareable`, or if the access modes in the bundle have ReadWriteMany, as cluster file systems
need it, and its volume mode is not `Filesystem`. Volumes that virtiofs shares are skipped. Also disks that are `shareable` on a
claim whose access modes in the bundle lack ReadWriteMany, unless a machine is bound to a node or to other pods. Also a
DataVolume that clones the claim of such a machine (`source.pvc`): an info.

Why it matters: at best the second machine does not start, because its pod can't attach the volume or QEMU finds the disk
locked. On block storage without locks both run, and destroy the file system. KubeVirt checks one VM at a time. Without
ReadWriteMany, the storage attaches the volume to one node, and a machine on another node waits for it (`Multi-Attach error`).
CDI starts a clone only while no pod writes to the source (`CloneSourceInUse`), and waits until the machine is stopped.

Fix: give each machine its own disk, make it read-only in one, or, for guests that are designed to share it, set
`shareable: true` on both disks and ReadWriteMany on the claim.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {devices: {disks: [{name: data, disk: {}}]}}
          volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: db}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {devices: {disks: [{name: data, disk: {}}]}}
          volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import Object, name_of, text
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.base.value import Value
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, also, rule
from krm_fn.rules.shared.machines import MachineSpec, data_volumes, machines

# Where a volume names its claim.
SOURCES = (("persistentVolumeClaim", "claimName"), ("dataVolume", "name"))
# Where a claim, or what creates one, has its modes.
CLAIMS: tuple[Path, ...] = (("spec",), ("spec", "pvc"), ("spec", "storage"))
CLONED: Path = ("spec", "source", "pvc")
SHARED = "ReadWriteMany"


class ClaimUse(Value):
    """One volume of a machine on a claim; `shareable`: its disk allows others to write too."""

    machine: MachineSpec
    path: Path
    name: str
    shareable: bool


@rule(severity="warning")
def disk_in_two_machines(facts: BundleFacts) -> Iterator[Hit]:
    running = [machine for machine in machines(facts.bundle) if machine.starts or machine.by_hand]
    yield from _waiting_clones(facts, running)
    running.sort(key=lambda machine: machine.by_hand)
    contested = _contested(running)
    if not contested:
        return
    users: dict[tuple[str, str], list[ClaimUse]] = {}
    for machine in running:
        for use in _writes(machine):
            if (machine.namespace, use.name) in contested:
                users.setdefault((machine.namespace, use.name), []).append(use)
    claims = _claims(facts, running) if users else {}
    for key, uses in users.items():
        known = claims.get(key, [])
        if not any(map(_is_open, known)):
            yield from _clashes(uses)
        modes = [mode for claim in known for mode in as_list(claim.get("accessModes"))]
        if modes and SHARED not in modes:
            yield from _on_one_node(uses)


def _waiting_clones(facts: BundleFacts, running: list[MachineSpec]) -> Iterator[Hit]:
    """The DataVolumes that clone a disk to which a machine writes that always runs.

    upstream: containerized-data-importer pkg/controller/clone/common.go:IsSourceClaimReady
    """
    places = data_volumes(facts.bundle)
    clones = [(entry, (*path, *CLONED), as_map(get(entry.obj, (*path, *CLONED)))) for entry, path in places]
    if not any(source for _, _, source in clones):
        return
    writers = {(each.namespace, use.name): each for each in running if each.starts for use in _writes(each)}
    for entry, path, source in clones:
        namespace = text(source.get("namespace")) or effective_namespace(entry.obj)
        if machine := writers.get((namespace, text(source.get("name")))):
            yield Hit(
                message=f"CDI waits with the clone while {machine} uses the source; clone a snapshot, or stop the VM meanwhile",
                path=path,
                about=entry,
                severity="info",
                related=also(machine.entry, machine.path),
            )


def _contested(running: list[MachineSpec]) -> set[tuple[str, str]]:
    """Namespace and name of the claims that several volumes name, or one volume of a machine with several copies."""
    seen: set[tuple[str, str]] = set()
    contested = set()
    for machine in running:
        for name in _named(machine):
            claim = machine.namespace, name
            if claim in seen or machine.copies > 1:
                contested.add(claim)
            seen.add(claim)
    return contested


def _named(machine: MachineSpec) -> Iterator[str]:
    """The claims that a machine's volumes name."""
    for volume in as_list(machine.spec.get("volumes")):
        for key, inner in SOURCES if isinstance(volume, dict) else ():
            if key in volume:
                name = as_map(volume[key]).get(inner)
                if isinstance(name, str):
                    yield name


def _clashes(uses: list[ClaimUse]) -> Iterator[Hit]:
    """A hit for each use after the first that conflicts with another, and for the copies of one template."""
    exclusive = next((use for use in uses if not use.shareable), None)
    for number, use in enumerate(uses):
        # a disk that is not shareable conflicts with all others, so the first such one represents all
        other = uses[0] if use is exclusive else exclusive
        if other and number and other.machine is not use.machine:
            yield _hit(use, f"{other.machine} also writes to the claim {use.name}", other)
        elif not use.shareable and use.machine.copies > 1:
            yield _hit(use, f"each of the {use.machine.copies} machines of this template writes to the claim {use.name}", None)


def _on_one_node(uses: list[ClaimUse]) -> Iterator[Hit]:
    """A hit for each shareable use after the first that may come to another node than that one."""
    first, *others = uses
    for use in others if first.shareable else ():
        if use.shareable and use.machine is not first.machine and not (_is_bound(use.machine) or _is_bound(first.machine)):
            fact = f"{first.machine} shares the claim {use.name}, which lacks {SHARED}: both run only on the same node"
            message = f"{fact}; add {SHARED} to its access modes"
            yield _hit(use, "", first).but(message=message)


def _is_bound(machine: MachineSpec) -> bool:
    """True for a machine that a node or other pods attract."""
    return any(
        get(machine.spec, path) for path in (("nodeSelector",), ("affinity", "nodeAffinity"), ("affinity", "podAffinity"))
    )


def _hit(use: ClaimUse, fact: str, other: ClaimUse | None) -> Hit:
    return Hit(
        message=f"{fact}; give each its own disk, or, to share it, set shareable on the disks and {SHARED} on the claim",
        path=use.path,
        current=use.name,
        about=use.machine.entry,
        severity="info" if use.machine.by_hand or (other and other.machine.by_hand) else "",
        related=also(other.machine.entry, other.path) if other else (),
    )


def _writes(machine: MachineSpec) -> Iterator[ClaimUse]:
    """The claims that a machine writes to. A pool creates the DataVolumes of its own templates for each machine."""
    own = {name for name, _ in _templates(machine)} if machine.pooled else set()
    disks = _by_name(get(machine.spec, ("domain", "devices", "disks")))
    filesystems = _by_name(get(machine.spec, ("domain", "devices", "filesystems")))
    for index, volume in enumerate(as_list(machine.spec.get("volumes"))):
        device = text(as_map(volume).get("name"))
        for source in SOURCES:
            name, disk = text(get(volume, source)), disks.get(device, {})
            if name and name not in own and device not in filesystems and not _read_only(disk, volume):
                path = (*machine.path, "volumes", index, *source)
                yield ClaimUse(machine=machine, path=path, name=name, shareable=disk.get("shareable") is True)


def _by_name(devices: object) -> dict[str, Object]:
    return {text(as_map(device).get("name")): as_map(device) for device in as_list(devices)}


def _read_only(disk: Object, volume: object) -> bool:
    cdrom = disk.get("cdrom")
    return (
        get(volume, ("persistentVolumeClaim", "readOnly")) is True
        or get(disk, ("disk", "readonly")) is True
        or get(disk, ("lun", "readonly")) is True
        or (isinstance(cdrom, dict) and cdrom.get("readonly") is not False)
    )


def _claims(facts: BundleFacts, running: list[MachineSpec]) -> dict[tuple[str, str], list[Object]]:
    """Namespace and name of the claims, and of what makes them, each with the specs that may have its modes."""
    found: dict[tuple[str, str], list[Object]] = {}
    for kind in ("PersistentVolumeClaim", "DataVolume"):
        for entry in facts.bundle.of_kind(kind):
            key = effective_namespace(entry.obj), name_of(entry.obj)
            found.setdefault(key, []).extend(as_map(get(entry.obj, path)) for path in CLAIMS)
    for machine in running:
        for name, template in _templates(machine):
            found.setdefault((machine.namespace, name), []).extend(as_map(get(template, path)) for path in CLAIMS)
    return found


def _is_open(claim: Object) -> bool:
    """QEMU locks a disk that is a file."""
    return SHARED in as_list(claim.get("accessModes")) and claim.get("volumeMode") != "Filesystem"


def _templates(machine: MachineSpec) -> Iterator[tuple[str, object]]:
    for template in as_list(machine.vm.get("dataVolumeTemplates")):
        yield text(get(template, ("metadata", "name"))), template
