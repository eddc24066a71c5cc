"""Windows is installed to a virtio disk without its drivers, or comes from a hypervisor that has none.

What it finds: a Windows VM that boots from an empty disk on the bus virtio and has one CD-ROM with an installer, and no disk
with the virtio drivers. Also one that boots on virtio from a disk that CDI imports as it is from VMware or oVirt (`vddk`,
`imageio`): an info, because the drivers may be there. What makes it a Windows VM is its preference, a label or annotation with
the operating system, or Hyper-V features. A disk has the drivers if its name, its image or its claim says `virtio`, `driver` or
`guest-tools`.

Why it matters: Windows has no virtio drivers of its own. Its setup shows no disk, and an unattended one stops. An imported
Windows stops with INACCESSIBLE_BOOT_DEVICE.

Fix: add the drivers as a second CD-ROM (`quay.io/kubevirt/virtio-container-disk`), or set the bus of the disk to `sata`. An
imported Windows can change to virtio after its first start on `sata`, with the drivers installed.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: windows}
    spec:
      runStrategy: Always
      dataVolumeTemplates:
      - metadata: {name: windows-root}
        spec: {source: {blank: {}}, storage: {resources: {requests: {storage: 64Gi}}}}
      template:
        metadata: {annotations: {vm.kubevirt.io/os: windows2022}}
        spec:
          domain:
            memory: {guest: 4Gi}
            devices:
              disks:
              - {name: root, bootOrder: 2, disk: {bus: virtio}}
              - {name: installer, bootOrder: 1, cdrom: {bus: sata}}
          volumes:
          - {name: root, dataVolume: {name: windows-root}}
          - {name: installer, persistentVolumeClaim: {claimName: windows-iso}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.machines import MachineSpec, machines

DISKS: Path = ("domain", "devices", "disks")
OS = ("kubevirt.io/os", "vm.kubevirt.io/os")
OS_KEY = "os.template.kubevirt.io/win"
DRIVERS = ("virtio", "driver", "guest-tools")
# The sources of a volume that hold no installer.
DATA = ("sysprep", "cloudInitNoCloud", "cloudInitConfigDrive", "configMap", "secret", "downwardAPI", "serviceAccount")
# Sources of a disk: those that leave it empty, and those that copy the disk of another hypervisor.
EMPTY, IMPORTS = ("emptyDisk", "blank"), ("vddk", "imageio")
LAST = 1 << 32  # a disk without bootOrder comes after those with one


@rule(severity="warning")
def windows_without_drivers(facts: BundleFacts) -> Iterator[Hit]:
    for machine in machines(facts.bundle):
        disks = [as_map(disk) for disk in as_list(get(machine.spec, DISKS))]
        volumes = {text(as_map(each).get("name")): as_map(each) for each in as_list(machine.spec.get("volumes"))}
        boot = min((disk for disk in disks if "cdrom" not in disk), key=_order, default=None)
        source = _source(volumes.get(text((boot or {}).get("name")), {}), machine, facts)
        if not boot or not source or not _is_windows(machine) or _bus(boot, machine) != "virtio":
            continue
        if source in IMPORTS:
            fact = (
                f"{text(boot.get('name'))} is on virtio, and CDI imports Windows as it is ({source}), perhaps without drivers"
            )
            yield Hit(
                message=f"{fact}; install them before, or set the bus to sata for the first start",
                path=(*machine.path, *DISKS, disks.index(boot)),
                about=machine.entry,
                severity="info",
            )
        elif source in EMPTY:
            found = [volumes.get(text(disk.get("name")), {}) for disk in disks if "cdrom" in disk]
            installers = [each for each in found if not any(key in each for key in DATA)]
            if len(installers) == 1 and not any(map(_has_drivers, volumes.values())):
                fact = f"Windows setup finds no disk: {text(boot.get('name'))} is on virtio, and no disk has the drivers"
                yield Hit(
                    message=f"{fact}; add them as a CD-ROM, or set the bus to sata",
                    path=(*machine.path, *DISKS, disks.index(boot)),
                    about=machine.entry,
                )


def _is_windows(machine: MachineSpec) -> bool:
    template = as_map(get(machine.entry.obj, machine.path[:-1])).get("metadata")
    notes = [
        as_map(get(each, (key,))) for each in (template, machine.entry.obj.get("metadata")) for key in ("labels", "annotations")
    ]
    named = [text(each.get(key)) for each in notes for key in OS] + [_preference(machine)]
    keys = (key for each in notes for key in each if isinstance(key, str))
    hyperv = get(machine.spec, ("domain", "features", "hyperv")) is not None
    return hyperv or any(each.lower().startswith("win") for each in named) or any(key.startswith(OS_KEY) for key in keys)


def _preference(machine: MachineSpec) -> str:
    return text(get(machine.vm, ("preference", "name")))


def _order(disk: Object) -> int:
    order = disk.get("bootOrder")
    return order if type(order) is int else LAST


def _bus(disk: Object, machine: MachineSpec) -> str:
    """The bus of a disk; the preferences for Windows that KubeVirt deploys say in their name whether they set virtio."""
    return text(get(disk, ("disk", "bus"))) or ("virtio" if _preference(machine).endswith(".virtio") else "")


def _source(volume: Object, machine: MachineSpec, facts: BundleFacts) -> str:
    """The first of EMPTY and IMPORTS that fills a volume, "" for others."""
    if "emptyDisk" in volume:
        return "emptyDisk"
    name = get(volume, ("dataVolume", "name")) or get(volume, ("persistentVolumeClaim", "claimName"))
    if not isinstance(name, str):
        return ""
    templates = (each for each in as_list(machine.vm.get("dataVolumeTemplates")) if get(each, ("metadata", "name")) == name)
    entry = facts.bundle.find("DataVolume", machine.namespace, name)
    source = get(next(templates, entry.obj if entry else None), ("spec", "source"))
    return next((key for key in (*EMPTY, *IMPORTS) if as_map(source).get(key) is not None), "")


def _has_drivers(volume: Object) -> bool:
    words = (
        volume.get("name"),
        get(volume, ("containerDisk", "image")),
        get(volume, ("dataVolume", "name")),
        get(volume, ("persistentVolumeClaim", "claimName")),
    )
    return any(mark in word.lower() for word in words if isinstance(word, str) for mark in DRIVERS)
