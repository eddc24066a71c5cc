"""Checks that only KubeVirt 1.0 to 1.3 make."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import EACH, Path, as_list, as_map
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.checks import Check, Group, count, examine, number, shut
from krm_fn.kubevirt.admission.scope import (
    BUSES,
    CONFIG_VOLUMES,
    DUPLICATE,
    INTERFACES,
    NOT_SUPPORTED,
    TARGETS,
    Cause,
    Scope,
    maps,
    name_of,
)
from krm_fn.kubevirt.releases import Version

VMI = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:"
VMS = "pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go:"

DEVICES = ("domain", "devices")
DISKS = (*DEVICES, "disks")
TWICE = "domain.devices.disks.domain.devices.disks[{0}]"  # upstream names the list twice

# The lists that the webhook limits; later, the CustomResourceDefinition does.
LONGEST_LIST = 256
LIMITED: tuple[Path, ...] = (DISKS, ("volumes",), INTERFACES, ("networks",), ("accessCredentials",))
UNLIMITED_SINCE: Version = (1, 3)


def _too_long(at: Path) -> Group:
    return Group(
        at=at[:-1],
        checks=(
            Check(
                at=at[-1:],
                refuses=lambda value, _item, _scope: len(as_list(value)) > LONGEST_LIST,
                message=f"{at[-1]} has more than {LONGEST_LIST} items; remove some",
                until=UNLIMITED_SINCE,
                upstream=VMI + "ValidateVirtualMachineInstanceSpec",
            ),
        ),
    )


def last_target(disk: Object) -> str:
    """The target whose bus is checked if a disk has several; "" if it has at most one."""
    found = [key for key in TARGETS if disk.get(key) is not None]
    return found[-1] if len(found) > 1 else ""


def _bus_of_last(disk: Object) -> object:
    return as_map(disk.get(last_target(disk))).get("bus")


def _on_sata(_value: object, disk: Object, _scope: object) -> bool:
    return disk.get("dedicatedIOThread") is True and as_map(disk.get("disk")).get("bus") == "sata"


def _of_last_target(key: str) -> Check:
    """The bus of the last of several targets; rows of later releases check that of the first."""
    return Check(
        at=(key, "bus"),
        refuses=lambda value, disk, _scope: (
            last_target(disk) == key and (value not in (*BUSES, "") or (key == "cdrom" and value == "virtio"))
        ),
        message=f"{key}.bus {{value}} is not supported; use {'' if key == 'cdrom' else 'virtio, '}scsi, sata or usb",
        until=(1, 3),
        upstream=VMI + "validateDisks",
    )


GROUPS = (
    *(_too_long(at) for at in LIMITED),
    Group(
        at=DEVICES,
        checks=(
            Check(
                at=("gpus",),
                refuses=lambda value, _devices, scope: (value != [] or scope.as_written) and not scope.gate("GPU"),
                message=shut("gpus", "GPU"),
                gate="GPU",
                until=(1, 4),
                upstream=VMI + "validateGPUsWithPassthroughEnabled",
                named="GPUs",
            ),
        ),
    ),
    Group(
        at=(*DISKS, EACH),
        checks=(
            *(_of_last_target(key) for key in TARGETS[1:]),
            Check(
                at=("disk", "readonly"),
                refuses=lambda value, disk, _scope: value is True and _bus_of_last(disk) == "sata",
                message="a hard disk on the bus sata cannot be read-only; use virtio or scsi, or remove readonly",
                until=(1, 3),
                upstream=VMI + "validateDisks",
                named="domain.devices.disks[{0}].disk.bus",
            ),
            Check(
                at=("dedicatedIOThread",),
                refuses=_on_sata,
                message="dedicatedIOThread does not work on the bus sata; use virtio, or remove it",
                reason=NOT_SUPPORTED,
                until=(1, 2, 1),
                upstream=VMI + "validateDisks",
                named=TWICE,
            ),
            Check(
                at=("dedicatedIOThread",),
                refuses=lambda value, disk, _scope: value is True and _bus_of_last(disk) not in ("virtio", "", None),
                message="dedicatedIOThread needs the bus virtio; change the bus or remove it",
                reason=NOT_SUPPORTED,
                since=(1, 2, 1),
                until=(1, 3),
                upstream=VMI + "validateDisks",
                named=TWICE,
            ),
        ),
    ),
)


@examine(*DEVICES, "filesystems", upstream=VMI + "validateFilesystemsWithVirtIOFSEnabled", until=(1, 2))
def privileged_filesystems(scope: Scope) -> Iterator[Cause]:
    """virtiofs with a volume that it can share only as root needs a feature gate; upstream reports this once."""
    gate, volumes = "ExperimentalVirtiofsSupport", {name_of(volume): volume for volume in scope.volumes}
    if scope.gate(gate):
        return
    for index, filesystem in enumerate(maps(scope.devices.get("filesystems"))):
        volume = volumes.get(name_of(filesystem))
        if volume is not None and not count(volume, CONFIG_VOLUMES):
            message = shut("virtiofs with a volume other than a ConfigMap, a Secret and the like", gate)
            yield scope.cause((*DEVICES, "filesystems", index), message, named="Filesystems", gate=gate)
            return


@examine(*INTERFACES, upstream=VMI + "validateInterfaceNetworkBasics", until=(1, 3))
def passt_beside_others(scope: Scope) -> Iterator[Cause]:
    for index, interface in enumerate(scope.interfaces):
        if interface.get("passt") is not None and len(scope.interfaces) > 1:
            named = f"domain.devices.interfaces[{index}].name"
            message = "passt works only as the single interface of the VM; remove the others, or use masquerade"
            yield scope.cause((*INTERFACES, index, "passt"), message, named=named)


@examine(*INTERFACES, upstream=VMI + "validateForwardPortName", until=(1, 3))
def port_of_another_interface(scope: Scope) -> Iterator[Cause]:
    """A name of a port that an earlier interface of the pod network uses. Later releases compare the ports of one interface."""
    networks = {name_of(network): network for network in scope.networks}
    seen: set[str] = set()
    for index, interface in enumerate(scope.interfaces):
        if networks.get(name_of(interface), {}).get("pod") is None:
            continue
        names = [name_of(port) for port in maps(interface.get("ports"))]
        for position, name in enumerate(names):
            if name in seen:
                at = (*INTERFACES, index, "ports", position, "name")
                yield scope.cause(at, f"port name {show(name)} is used by another interface; rename one", reason=DUPLICATE)
        seen.update(name for name in names if name)


@examine("domain", "cpu", "maxSockets", upstream=VMS + "validateLiveUpdateFeatures", until=(1, 2))
def most_sockets(scope: Scope) -> Iterator[Cause]:
    if number(scope.cpu.get("maxSockets")) != 0:
        message = "maxSockets cannot be set in a VM; use spec.liveUpdateFeatures, or remove it"
        yield scope.cause(("domain", "cpu", "maxSockets"), message, reason=NOT_SUPPORTED)


@examine("domain", "memory", "maxGuest", upstream=VMS + "validateLiveUpdateFeatures", since=(1, 1), until=(1, 2))
def most_memory(scope: Scope) -> Iterator[Cause]:
    message = "maxGuest cannot be set in a VM; use spec.liveUpdateFeatures, or remove it"
    yield scope.cause(("domain", "memory", "maxGuest"), message, reason=NOT_SUPPORTED)


EXAMINATIONS = (privileged_filesystems, passt_beside_others, port_of_another_interface)
VM_EXAMINATIONS = (most_sockets, most_memory)
