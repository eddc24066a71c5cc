"""Instances that no VM owns: what an update of one comes to, and what a template makes of one.

And what admission says of the controller's changes to the running instance of a VM.

upstream: pkg/storage/admitters/storagehotplug.go:AdmitHotplugStorage, AdmitUtilityVolumes;
pkg/virt-api/webhooks/validating-webhook/admitters/vmi-update-admitter.go:Admit
"""

from __future__ import annotations

from krm_fn.base.objects import Object, labels_of, metadata
from krm_fn.base.paths import as_map, copy, get
from krm_fn.base.value import Value
from krm_fn.base.wording import listed
from krm_fn.kubevirt.admission.fields.metadata import RESERVED_LABELS
from krm_fn.kubevirt.admission.scope import Cause
from krm_fn.kubevirt.admission.specs import admit_instance_spec
from krm_fn.kubevirt.instance import complete
from krm_fn.kubevirt.instance.refusals import start_causes
from krm_fn.kubevirt.presets import apply_presets
from krm_fn.kubevirt.releases import Version
from krm_fn.kubevirt.updates.machine import Running, World, by_name, disks_of, entries, volumes_of
from krm_fn.kubevirt.updates.references import ENTRY, compared
from krm_fn.kubevirt.updates.starting import Start, running_of
from krm_fn.kubevirt.updates.stored_form import applied, stored_spec

INSTANCE = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance"}

FIXED = "the spec of an instance cannot be changed; delete the instance and create it again, or use a VirtualMachine"
RESERVED = "the label is reserved for KubeVirt; keep it as it is"


def made_from(template: Object, name: str, namespace: str, world: World) -> Running | None:
    """The instance that is made of a template with metadata and spec, None where presets refuse it or it has no domain."""
    meta = {**metadata(template), "name": name, "namespace": namespace}
    given = {**template, **INSTANCE, "metadata": meta}
    if not isinstance(get(given, ("spec", "domain")), dict):
        return None
    made = given
    if world.presets:
        found = apply_presets(given, world.presets, release=world.release, namespace=namespace)
        if found.refused:
            return None
        made = found.instance
    completed = copy(made)
    complete(completed, world.cluster, world.release)
    return running_of(completed)


def start_of(template: Object, name: str, namespace: str, world: World) -> Start:
    """What a template makes, or why no instance starts."""
    made = made_from(template, name, namespace, world)
    if made is None:
        return Start(running=None, error="presets conflict with the instance, or it has no domain")
    instance = {**INSTANCE, "metadata": {"name": name, "namespace": namespace}, "spec": made.spec}
    causes = [cause for cause in start_causes(instance, cluster=world.cluster, release=world.release) if cause.sure]
    return Start(running=None, error=causes[0].message) if causes else Start(running=made)


def update_causes(old: Object, new: Object, live: Running, *, apply: bool) -> tuple[Cause, ...]:
    """Why KubeVirt refuses the update of an instance that runs, from one manifest to another; () where it lets it pass.

    An instance has defaults that no manifest names, so that a manifest which replaces the old one changes the spec, too.
    """
    before, after = (stored_spec(as_map(each.get("spec"))) for each in (old, new))
    edits = compared(before, after)
    sent = applied({"spec": before}, {"spec": after}, {"spec": live.spec}) if apply else {"spec": after}
    if edits and sent and stored_spec(sent["spec"]) != live.spec:
        return tuple(Cause(path=("spec", *_shown(each.steps)), message=FIXED) for each in edits)
    labels = (labels_of(each) for each in (old, new))
    had, has = ({key: each[key] for key in RESERVED_LABELS & each.keys()} for each in labels)
    keys = sorted(key for key in {*had, *has} if had.get(key) != has.get(key))
    return tuple(Cause(path=("metadata", "labels", key), message=RESERVED) for key in keys)


def _shown(steps: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """The steps to a difference, without those inside a list, of whose entries the places are not known."""
    return steps[: steps.index(ENTRY)] if ENTRY in steps else steps


# Until this release a changed instance passes all checks of a new one.
LOOKED_AT_UNTIL: Version = (1, 7)
GATE = "DeclarativeHotplugVolumes"


class PluggedBuses(Value):
    """The buses of disks that are plugged in; a row holds until the release of the next one."""

    disk: tuple[str, ...]
    lun: tuple[str, ...]
    since: Version


BUSES = (
    PluggedBuses(disk=("scsi",), lun=("scsi",), since=(1, 4)),
    PluggedBuses(disk=("scsi", "virtio"), lun=("scsi",), since=(1, 6)),
)


def refusal(spec: Object, running: Running, world: World) -> str:
    """Why an instance may not be changed to that spec, "" where it may."""
    before = running.spec
    if spec == before:
        return ""
    return _mismatch(spec, world) or _permanent(spec, running) or _plugged(spec, running, world) or _whole(spec, world)


def _whole(spec: Object, world: World) -> str:
    """What is wrong with the spec as a whole, which earlier releases look at here, too."""
    if not world.release.within(until=LOOKED_AT_UNTIL):
        return ""
    causes = admit_instance_spec(spec, ("spec",), cluster=world.cluster, release=world.release)
    return causes[0].message if causes else ""


def _mismatch(spec: Object, world: World) -> str:
    """upstream: validateExpectedDisksAndFilesystems"""
    names = {name for name, volume in by_name(volumes_of(spec)).items() if volume.get("memoryDump") is None}
    required = len(entries(spec, "domain", "devices", "filesystems"))
    for disk in disks_of(spec):
        empty = disk.get("name") not in names and disk.get("cdrom") is not None and world.gate(GATE)
        required += not empty
    if required == len(names):
        return ""
    return f"the instance has {len(names)} volumes for {required} disks and filesystems; each needs one of the other"


def _permanent(spec: Object, running: Running) -> str:
    """upstream: verifyPermanentVolumes"""
    fixed = running.volumes - running.plugged
    new, old = by_name(volumes_of(spec)), by_name(volumes_of(running.spec))
    if len(fixed & set(new)) != len(fixed & set(old)):
        return "a volume that the instance was started with is added or removed"
    disks, former = by_name(disks_of(spec)), by_name(disks_of(running.spec))
    for name in sorted(fixed & set(new)):
        if name not in running.moving and (new[name] != old.get(name) or disks.get(name) != former.get(name)):
            return f"volume {name}, with which the instance was started, or its disk changes"
    return ""


def _plugged(spec: Object, running: Running, world: World) -> str:
    """upstream: verifyHotplugVolumes"""
    fixed = running.volumes - running.plugged
    old, disks, former = by_name(volumes_of(running.spec)), by_name(disks_of(spec)), by_name(disks_of(running.spec))
    for name, volume in by_name(volumes_of(spec)).items():
        if name in fixed or volume.get("memoryDump") is not None:
            continue
        if name in old and name not in running.moving and volume != old[name]:
            return f"volume {name} changes while it is plugged in"
        if name not in disks:
            return f"volume {name} has no disk"
        if name in old:
            if disks[name] != former.get(name):
                return f"disk {name} changes while it is plugged in"
        elif name not in former and (fault := _disk_fault(disks[name], name, world)):
            return fault
    return ""


def _disk_fault(disk: Object, name: str, world: World) -> str:
    """upstream: ValidateHotplugDiskConfiguration"""
    row = [row for row in BUSES if world.release.within(since=row.since)][-1]
    kind = next((key for key in ("disk", "lun") if disk.get(key) is not None), "")
    if not kind:
        return f"disk {name} cannot be plugged in: only disks and LUNs can"
    bus = as_map(disk[kind]).get("bus") or ""
    allowed = row.disk if kind == "disk" else row.lun
    if bus not in allowed:
        return f"disk {name} cannot be plugged in: its bus {bus} is none of {listed(allowed)}"
    if disk.get("dedicatedIOThread") is True and bus != "virtio":
        return f"disk {name} cannot be plugged in: an I/O thread of its own needs the bus virtio"
    return "" if disk.get("bootOrder", 1) >= 1 else f"disk {name} cannot be plugged in: its boot order is below 1"
