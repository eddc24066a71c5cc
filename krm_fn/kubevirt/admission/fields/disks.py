"""Disks: targets and buses, addresses, serials, cache, IO, block sizes, boot order, and their volumes."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import EACH, Path, as_map
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.checks import (
    LABEL_FORM,
    Check,
    Group,
    count,
    examine,
    is_on,
    new_since,
    number,
    one_of,
    well_formed,
)
from krm_fn.kubevirt.admission.formats import is_label, is_pci_address, is_serial
from krm_fn.kubevirt.admission.scope import BUSES, NOT_SUPPORTED, REQUIRED, TARGETS, Cause, Scope, bus_of, name_of, target_of
from krm_fn.kubevirt.releases import Version

DISKS = "pkg/storage/admitters/disks.go:"
BOOT = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:validateBootOrder"

PLACE = ("domain", "devices", "disks")
# Some of upstream's messages name the list twice.
TWICE = "domain.devices.disks.domain.devices.disks[{0}]"
TWICE_PCI = "domain.devices.disks.domain.devices.disks.disk[{0}].pciAddress"

LONGEST_SERIAL = 256
SMALLEST_BLOCK, LARGEST_BLOCK = 512, 2**21

RESERVATION_SETTING_SINCE: Version = (1, 9)
BLOCKS_BY_BUS_SINCE: Version = (1, 7)
EMPTY_CDROM_SINCE: Version = (1, 6)
# The volumes of a lun; before this release, only the first.
LUN_KINDS, LUN_KINDS_SINCE = ("persistentVolumeClaim", "dataVolume"), (1, 1)
RESERVATION_GATE, EMPTY_CDROM_GATE = "PersistentReservation", "DeclarativeHotplugVolumes"


def _target(key: str) -> tuple[Check, ...]:
    """The rows of one kind of target. If there are several targets, the buses of the others are not checked."""
    return (
        Check(
            at=(key, "bus"),
            refuses=lambda value, disk, _scope: target_of(disk) == key and value not in (*BUSES, ""),
            message=f"{key}.bus {{value}} is not supported; use virtio, scsi, sata or usb",
            known=BUSES,
            upstream=DISKS + "validateBusSupport",
        ),
    )


def _dedicated_thread_off_virtio(value: object, disk: Object, _scope: object) -> bool:
    return value is True and bus_of(disk) not in ("virtio", "")


CHECKS = (
    Check(
        at=(),
        refuses=lambda _value, disk, _scope: count(disk, TARGETS) > 1,
        message="only one of disk, lun and cdrom can be set; keep one of them",
        among=TARGETS,
        upstream=DISKS + "validateDeviceTarget",
    ),
    Check(
        at=("disk", "pciAddress"),
        refuses=lambda value, disk, _scope: value != "" and as_map(disk.get("disk")).get("bus") != "virtio",
        message="pciAddress needs the bus virtio; set disk.bus to virtio",
        upstream=DISKS + "validatePciAddress",
        named=TWICE_PCI,
    ),
    well_formed(
        ("disk", "pciAddress"),
        is_pci_address,
        "a form such as 0000:81:01.0",
        upstream=DISKS + "validatePciAddress",
        named=TWICE_PCI,
    ),
    Check(
        at=("bootOrder",),
        refuses=lambda value, _disk, _scope: number(value) < 1,
        message="bootOrder {value} is out of range; count from 1",
        upstream=DISKS + "validateBootOrderValue",
    ),
    *(check for key in TARGETS for check in _target(key)),
    Check(
        at=("cdrom", "bus"),
        refuses=lambda value, disk, _scope: value == "virtio" and target_of(disk) == "cdrom",
        message="a cdrom cannot be on the bus virtio; use sata, scsi or usb",
        upstream=DISKS + "validateBusSupport",
    ),
    Check(
        at=("disk", "bus"),
        refuses=lambda value, disk, _scope: value == "sata" and disk["disk"].get("readonly") is True,
        message="a hard disk on the bus sata cannot be read-only; use virtio or scsi, or remove readonly",
        upstream=DISKS + "validateBusSupport",
    ),
    Check(
        at=("dedicatedIOThread",),
        refuses=_dedicated_thread_off_virtio,
        message="dedicatedIOThread needs the bus virtio; change the bus or remove it",
        reason=NOT_SUPPORTED,
        since=(1, 2, 1),
        upstream=DISKS + "validateBusSupport",
        named=TWICE,
    ),
    well_formed(("serial",), is_serial, "letters, digits and _.+- only", upstream=DISKS + "validateSerialNumValue"),
    Check(
        at=("serial",),
        refuses=lambda value, _disk, _scope: isinstance(value, str) and len(value) > LONGEST_SERIAL,
        message=f"serial must have at most {LONGEST_SERIAL} characters; shorten it",
        upstream=DISKS + "validateSerialNumLength",
    ),
    one_of(("cache",), ("none", "writethrough", "writeback"), upstream=DISKS + "validateCacheMode"),
    one_of(("io",), ("native", "threads"), reason=NOT_SUPPORTED, upstream=DISKS + "validateIOMode", named=TWICE + ".io"),
    one_of(
        ("errorPolicy",),
        ("stop", "ignore", "report", "enospace"),
        pointer=True,
        since=(1, 1),
        upstream=DISKS + "validateErrorPolicy",
    ),
    Check(
        at=("name",),
        refuses=lambda value, _disk, _scope: not is_label(value or ""),
        message=f"disk name {{value}} is not a DNS label; {LABEL_FORM}",
        lazy=False,
        upstream=DISKS + "validateDiskNameAsContainerName",
        named=TWICE + ".name",
    ),
    Check(
        at=("lun", "reservation"),
        refuses=lambda value, _disk, scope: value is True and not _reservations_open(scope),
        message="persistent reservation is not enabled in the cluster; enable persistentReservationConfiguration, or remove it",
        upstream="pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:validatePersistentReservation",
        gate=RESERVATION_GATE,
        named="domain.devices.disks.luns.reservation",
    ),
)

GROUPS = (Group(at=(*PLACE, EACH), checks=CHECKS),)


def _reservations_open(scope: Scope) -> bool:
    """upstream: pkg/virt-config/virt-config.go:PersistentReservationEnabled"""
    setting = scope.cluster.setting("persistentReservationConfiguration", "enabled")
    own = isinstance(setting, bool) and scope.release.within(since=RESERVATION_SETTING_SINCE)
    return bool(setting) if own else scope.cluster.has_gate(RESERVATION_GATE)


@examine(*PLACE, upstream=DISKS + "validateDiskName")
def disk_named_twice(scope: Scope) -> Iterator[Cause]:
    seen: dict[str, int] = {}
    for index, disk in enumerate(scope.disks):
        first = seen.setdefault(name_of(disk), index)
        if first != index:
            at = (*PLACE, index, "name")
            yield scope.cause(at, f"disk name {show(name_of(disk))} is used by disks[{first}] too; rename one")


@examine(*PLACE, upstream=DISKS + "validateBlockSize")
def block_size(scope: Scope) -> Iterator[Cause]:
    for index, disk in enumerate(scope.disks):
        size = as_map(disk.get("blockSize"))
        if size.get("custom") is None:
            continue
        at = (*PLACE, index, "blockSize")
        if is_on(size.get("matchVolume")):
            yield scope.cause(at, "matchVolume and custom exclude each other; keep one of them")
        else:
            yield from _custom_block_size(scope, disk, as_map(size["custom"]), (*at, "custom"))


def _custom_block_size(scope: Scope, disk: Object, custom: Object, at: Path) -> Iterator[Cause]:
    logical, physical, discard = (number(custom.get(key)) for key in ("logical", "physical", "discardGranularity"))
    newer = scope.release.within(since=BLOCKS_BY_BUS_SINCE)
    if logical > physical:
        yield scope.cause((*at, "logical"), f"logical {logical} is greater than physical {physical}; lower it")
    elif newer and bus_of(disk) == "sata" and logical != SMALLEST_BLOCK:
        message = f"logical {logical} is not supported on the bus sata; use {SMALLEST_BLOCK}"
        yield scope.cause((*at, "logical"), new_since(BLOCKS_BY_BUS_SINCE, message))
    elif newer and custom.get("discardGranularity") is not None and logical and discard % logical:
        message = f"discardGranularity {discard} must be a multiple of logical {logical}; round it"
        yield scope.cause((*at, "discardGranularity"), message)
    else:
        for key, size in (("logical", logical), ("physical", physical)):
            if not SMALLEST_BLOCK <= size <= LARGEST_BLOCK or size & (size - 1):
                message = f"{key} {size} must be a power of two from {SMALLEST_BLOCK} to {LARGEST_BLOCK}; use one"
                yield scope.cause((*at, key), message)


@examine(*PLACE, upstream=BOOT)
def volumes_of_disks(scope: Scope) -> Iterator[Cause]:
    """Each disk has a volume, and the volume's kind fits the target."""
    volumes = {name_of(volume): volume for volume in scope.volumes}
    for index, disk in enumerate(scope.disks):
        at, volume = (*PLACE, index), volumes.get(name_of(disk))
        if volume is None:
            yield from _without_volume(scope, disk, at)
        else:
            yield from _unfit_volume(scope, disk, volume, at)


def _without_volume(scope: Scope, disk: Object, at: Path) -> Iterator[Cause]:
    if disk.get("cdrom") is None or not scope.release.within(since=EMPTY_CDROM_SINCE):
        message = f"disk {show(name_of(disk))} has no volume with this name; add it to volumes or remove the disk"
        yield scope.cause((*at, "name"), message)
    elif not scope.gate(EMPTY_CDROM_GATE):
        message = f"an empty cdrom needs the feature gate {EMPTY_CDROM_GATE}, which is not enabled; add a volume of its name"
        yield scope.cause((*at, "name"), message, gate=EMPTY_CDROM_GATE)


def _unfit_volume(scope: Scope, disk: Object, volume: Object, at: Path) -> Iterator[Cause]:
    kinds = LUN_KINDS if scope.release.within(since=LUN_KINDS_SINCE) else LUN_KINDS[:1]
    if disk.get("lun") is not None and not count(volume, kinds):
        yield scope.cause((*at, "lun"), f"a lun needs a volume of kind {' or '.join(kinds)}; use one, or a disk")
    if volume.get("downwardMetrics") is None:
        return
    if disk.get("disk") is None:
        yield scope.cause((*at, "disk"), "a downwardMetrics volume needs a plain disk; set disk", reason=REQUIRED)
    elif as_map(disk["disk"]).get("bus") not in ("virtio", "", None):
        yield scope.cause((*at, "disk", "bus"), "a downwardMetrics volume needs the bus virtio; set it")


@examine("domain", "devices", upstream=BOOT)
def boot_order(scope: Scope) -> Iterator[Cause]:
    """No two devices have the same boot order; disks come first, then interfaces."""
    seen: set[int] = set()
    for key, items in (("disks", scope.disks), ("interfaces", scope.interfaces)):
        for index, item in enumerate(items):
            order = item.get("bootOrder")
            if order is None:
                continue
            at = ("domain", "devices", key, index, "bootOrder")
            if key == "interfaces" and number(order) < 1:
                message = f"bootOrder {show(order)} is out of range; count from 1"
                yield scope.cause(at, message, named=f"[{index}].bootOrder")  # upstream leaves out the list's name
                continue
            if number(order) in seen:
                yield scope.cause(at, f"bootOrder {show(order)} is used by another device too; change one")
            seen.add(number(order))


EXAMINATIONS = (disk_named_twice, block_size, volumes_of_disks, boot_order)
