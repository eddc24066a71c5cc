"""The effects of preferences on disks, interfaces and panic devices that a row cannot express."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_list, as_map, get, is_set
from krm_fn.kubevirt.fields.verbs import Application, as_written, enter_list, fill, given, reach

DEVICES = ("domain", "devices")
DISK_TARGETS = ("disk", "cdrom", "lun")
BINDINGS = ("bridge", "slirp", "masquerade", "sriov", "macvtap", "passt", "passtBinding", "binding")


def give_targets(application: Application, _value: Any, source: Path) -> None:
    """Make every disk without a target a plain `disk`. Every `devices` block does this, even an empty one.

    upstream: pkg/instancetype/preference/apply/disk.go:applyDiskPreferences
    """
    for number, disk in enumerate(as_list(get(application.spec, (*DEVICES, "disks")))):
        if isinstance(disk, dict) and not any(is_set(disk.get(target)) for target in DISK_TARGETS):
            fill(application, (*DEVICES, "disks", number, "disk"), disk, {}, source)


def as_sizes(block: Any) -> Any:
    """A block size as Go wrote it before sizes became optional: with both sizes of a custom one, also if they are zero."""
    custom = as_map(block).get("custom")
    if not isinstance(custom, dict):
        return as_written(block)
    sizes = {key: custom.get(key) or 0 for key in ("logical", "physical")}
    return as_written({**block, "custom": None}) | {"custom": as_written(custom) | sizes}


def as_plain_devices(devices: Any) -> Any:
    """GPUs or host devices as Go wrote them before claims were added: each with the name of its resource, even an empty one."""
    return [{"deviceName": "", **as_written(device)} for device in as_list(devices) if isinstance(device, dict)]


def as_claiming_devices(devices: Any) -> Any:
    """GPUs or host devices as Go wrote them while the names of claims were pointers: also with empty names."""
    return [as_written(device) | _claims(device) for device in as_list(devices) if isinstance(device, dict)]


def _claims(device: Object) -> Object:
    return {key: device[key] for key in ("claimName", "requestName") if isinstance(device.get(key), str)}


def is_disk(disk: Object) -> bool:
    return is_set(disk.get("disk"))


def is_virtio_disk(disk: Object) -> bool:
    return as_map(disk.get("disk")).get("bus") == "virtio"


def is_cdrom(disk: Object) -> bool:
    return is_set(disk.get("cdrom")) and not is_disk(disk)


def is_lun(disk: Object) -> bool:
    return is_set(disk.get("lun")) and not is_disk(disk) and not is_cdrom(disk)


def masquerade(application: Application, value: Any, source: Path) -> None:
    """Use masquerade for every interface on the pod network that has no binding.

    upstream: pkg/instancetype/preference/apply/interface.go:applyInterfacePreferences
    """
    for number, interface in enumerate(as_list(get(application.spec, (*DEVICES, "interfaces")))):
        bound = not isinstance(interface, dict) or any(is_set(interface.get(name)) for name in BINDINGS)
        if not bound and _on_pod_network(interface, application.spec):
            fill(application, (*DEVICES, "interfaces", number, "masquerade"), interface, value, source)


def _on_pod_network(interface: Object, spec: Object) -> bool:
    """True if the first network with the interface's name is the pod network."""
    for network in as_list(spec.get("networks")):
        if isinstance(network, dict) and network.get("name") == interface.get("name"):
            return network.get("pod") is not None
    return False


def add_panic_device(application: Application, value: Any, source: Path) -> None:
    """Give a VM without panic devices one of the preferred model.

    upstream: pkg/instancetype/preference/apply/device.go:applyPanicDevicePreferences
    """
    devices = enter_list(reach(application.spec, DEVICES), "panicDevices")
    if not devices:
        devices.append({})
        fill(application, (*DEVICES, "panicDevices", 0, "model"), devices[0], value, source, present=given)
