"""Items of a spec's lists, and the values that several groups of fields read from them, as Go reads them."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.objects import Object
from krm_fn.base.paths import as_list, as_map

INTERFACES = ("domain", "devices", "interfaces")
TARGETS = ("disk", "lun", "cdrom")
BUSES = ("virtio", "scsi", "sata", "usb")
# The volumes that virtiofs shares without the privileges of root.
CONFIG_VOLUMES = ("configMap", "secret", "downwardAPI", "serviceAccount")


def maps(value: object) -> list[dict[str, Any]]:
    """The list's items, each as a map."""
    return [as_map(item) for item in as_list(value)]


def name_of(item: dict[str, Any]) -> str:
    """The item's `name`; "" if it is absent or no string, as Go reads it."""
    name = item.get("name")
    return name if isinstance(name, str) else ""


def target_of(disk: Object) -> str:
    """Which of disk, lun and cdrom the disk is; "" if it sets none."""
    return next((key for key in TARGETS if disk.get(key) is not None), "")


def bus_of(disk: Object) -> str:
    """The bus of the disk's target; "" if it sets none. upstream: pkg/storage/admitters/disks.go:getDiskBus"""
    bus = as_map(disk.get(target_of(disk))).get("bus")
    return bus if isinstance(bus, str) else ""


def is_default_multus(network: Object) -> bool:
    return as_map(network.get("multus")).get("default") is True
