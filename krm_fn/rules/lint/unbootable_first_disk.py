"""The disk from which a VM boots has no system.

What it finds: a machine whose first disk to boot from is data that KubeVirt makes at each start (`cloudInitNoCloud`,
`cloudInitConfigDrive`, `sysprep`, `configMap`, `secret`, `serviceAccount`, `downwardAPI`, `downwardMetrics`) or an `emptyDisk`,
while another disk may have a system. The first disk is the one with the lowest `bootOrder`; where no device has one, the first
in the list that is no CD-ROM. Machines with EFI, which looks at other disks too, or with a kernel of their own are skipped, and
those that may boot from a CD-ROM or the network.

Why it matters: the firmware tries one disk. It says `Boot failed: not a bootable disk`, and the VM runs without a system.

Fix: set `bootOrder: 1` on the disk with the system, or make it the first in the list.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain:
            memory: {guest: 1Gi}
            devices:
              disks:
              - {name: init, disk: {bus: virtio}}
              - {name: root, disk: {bus: virtio}}
          volumes:
          - {name: init, cloudInitNoCloud: {userData: "#cloud-config"}}
          - {name: root, containerDisk: {image: "quay.io/containerdisks/fedora:40"}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.machines import MachineSpec, machines

DEVICES: Path = ("domain", "devices")
FIRMWARE: Path = ("domain", "firmware")
# The sources of a volume that hold no system at a start, and those that may hold one.
EMPTY = frozenset(
    (
        "cloudInitNoCloud",
        "cloudInitConfigDrive",
        "sysprep",
        "configMap",
        "secret",
        "serviceAccount",
        "downwardAPI",
        "downwardMetrics",
        "emptyDisk",
    )
)
SYSTEMS = frozenset(("containerDisk", "dataVolume", "persistentVolumeClaim", "ephemeral", "hostDisk"))
# Their firmware is no BIOS.
OTHERS = ("arm64", "s390x")


@rule(severity="warning", upstream="pkg/virt-launcher/virtwrap/converter/converter.go:Convert_v1_Disk_To_api_Disk")
def unbootable_first_disk(facts: BundleFacts) -> Iterator[Hit]:
    efi: set[int] | None = None
    for machine in machines(facts.bundle):
        index, disk = _first(machine)
        volumes = {text(as_map(each).get("name")): as_map(each) for each in as_list(machine.spec.get("volumes"))}
        source = next((key for key in volumes.get(text(disk.get("name")), {}) if key in EMPTY), "")
        if not source or _has_other_firmware(machine.spec):
            continue
        efi = {id(entry) for entry in _preferring_efi(facts)} if efi is None else efi
        root = _root(machine.spec, volumes)
        if root and id(machine.entry) not in efi:
            fact = f"the VM boots from {text(disk.get('name'))} ({source}), which has no system, and never tries {root}"
            yield Hit(
                message=f"{fact}; set bootOrder: 1 on {root}, or list it first",
                path=(*machine.path, *DEVICES, "disks", index),
                about=machine.entry,
            )


def _first(machine: MachineSpec) -> tuple[int, Object]:
    """The disk that the BIOS tries, with its index; {} where that is a CD-ROM or the network, or may be."""
    disks = list(enumerate(map(as_map, as_list(get(machine.spec, (*DEVICES, "disks"))))))
    interfaces = [as_map(each) for each in as_list(get(machine.spec, (*DEVICES, "interfaces")))]
    ordered = [(order, -1, each) for each in interfaces if (order := _order(each))]
    ordered += [(order, index, each) for index, each in disks if (order := _order(each))]
    if ordered:
        _, index, disk = min(ordered, key=lambda each: each[0])
        return (index, {} if index < 0 or "cdrom" in disk else disk)
    sources = {text(as_map(each).get("name")): as_map(each) for each in as_list(machine.spec.get("volumes"))}
    if any("cdrom" in disk and not sources.get(text(disk.get("name")), {}).keys() & EMPTY for _, disk in disks):
        return 0, {}
    return next(((index, disk) for index, disk in disks if "cdrom" not in disk and disk), (0, {}))


def _order(device: Object) -> int:
    order = device.get("bootOrder")
    return order if type(order) is int else 0


def _root(spec: Object, volumes: dict[str, Object]) -> str:
    """The first disk that may have a system."""
    disks = {text(each.get("name")): each for each in map(as_map, as_list(get(spec, (*DEVICES, "disks"))))}
    shared = {text(as_map(each).get("name")) for each in as_list(get(spec, (*DEVICES, "filesystems")))}
    found = [name for name in (*disks, *volumes) if "cdrom" not in disks.get(name, {}) and name not in shared]
    return next((name for name in found if volumes.get(name, {}).keys() & SYSTEMS), "")


def _has_other_firmware(spec: Object) -> bool:
    firmware = as_map(get(spec, FIRMWARE))
    return (
        spec.get("architecture") in OTHERS
        or get(firmware, ("kernelBoot", "container")) is not None
        or get(firmware, ("bootloader", "efi")) is not None
    )


def _preferring_efi(facts: BundleFacts) -> Iterator[Entry]:
    for vm in facts.vms:
        preference = vm.resolution.preference
        preferred: Any = get(preference.spec, ("firmware",)) if preference else None
        if preferred and any(as_map(preferred).get(key) not in (None, False) for key in ("preferredEfi", "preferredUseEfi")):
            yield vm.entry
