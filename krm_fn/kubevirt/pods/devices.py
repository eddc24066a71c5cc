"""The devices of the container `compute`: of the hypervisor, of networks, GPUs, host devices, and of the guest's features.

upstream: pkg/virt-controller/services/renderresources.go:NewResourceRenderer, template.go:newResourceRenderer
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable, Iterable, Iterator
from krm_fn.base.external import covering
from krm_fn.base.objects import Object, annotations_of, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.pods.launch import Launch, MissingObjectError, PodError
from krm_fn.kubevirt.releases import Version

PREFIX = "devices.kubevirt.io/"
NETWORK = "NetworkAttachmentDefinition"
RESOURCE_NAME = "k8s.v1.cni.cncf.io/resourceName"
HYPERVISOR_GATE, HYPERV_DIRECT = "ConfigurableHypervisor", "hyperv-direct"
INJECTION_GATE = "ExternalNetResourceInjection"
GPU_GATE, HOST_DEVICE_GATE, NETWORK_GATE = "GPUsWithDRA", "HostDevicesWithDRA", "NetworkDevicesWithDRA"
# Before, a claim counted once by its name, whatever it requests. upstream: WithGPUsDRA, WithHostDevicesDRA
ALL_CLAIMS_SINCE: Version = (1, 8, 3)


def of_hypervisor(launch: Launch) -> list[str]:
    """What the hypervisor needs. upstream: getRequiredResources"""
    emulated = launch.cluster.setting("developerConfiguration", "useEmulation") is True
    needed = (
        ("tun", bool(launch.interfaces) or launch.devices.get("autoattachPodInterface") is not False),
        ("vhost-net", not emulated and _has_virtio_interface(launch)),
        (_hypervisor(launch), not emulated),
        ("vhost-vsock", launch.devices.get("autoattachVSOCK") is True),
    )
    return [PREFIX + name for name, is_needed in needed if is_needed]


def _has_virtio_interface(launch: Launch) -> bool:
    return any(text(interface.get("model")) in ("", "virtio") for interface in launch.interfaces)


def _hypervisor(launch: Launch) -> str:
    """The hypervisor's device. upstream: pkg/virt-config/virt-config.go:GetHypervisorFromKvConfig"""
    first = get(launch.cluster.setting("hypervisors"), (0, "name"))
    return "mshv" if launch.gate(HYPERVISOR_GATE) and first == HYPERV_DIRECT else "kvm"


def requested(launch: Launch) -> Iterator[str]:
    """What stands in requests and limits, each as often as it is needed. Raises: PodError."""
    yield from network_resources(launch)
    yield from _named(_devices(launch, "gpus"))
    yield from _named(_devices(launch, "hostDevices"))
    for row in FEATURES:
        if launch.release.within(since=row.since) and row.needed(launch):
            yield PREFIX + row.device


def network_resources(launch: Launch) -> Iterator[str]:
    """The resources of the network definitions, where no other webhook adds them. Raises: PodError.

    upstream: pkg/network/multus/nad.go:NetworkToResource
    """
    if launch.gate(INJECTION_GATE):
        return
    for network in launch.networks:
        if network.get("multus") is None:
            continue
        namespace, slash, name = text(get(network, ("multus", "networkName"))).partition("/")
        namespace, name = (namespace, name) if slash else (launch.around.namespace, namespace)
        found = launch.around.bundle.find(NETWORK, namespace, name)
        if found is None and not covering(launch.around.bundle.external, NETWORK, namespace, name):
            raise MissingObjectError(f"failed to locate network attachment definition {namespace}/{name}")
        resource = text(annotations_of(found.obj).get(RESOURCE_NAME)) if found else ""
        if resource:
            yield resource


def _devices(launch: Launch, key: str) -> list[Object]:
    return [as_map(device) for device in as_list(launch.devices.get(key))]


def _named(devices: Iterable[Object]) -> Iterator[str]:
    """The names of the devices that no claim provides."""
    for device in devices:
        if text(device.get("deviceName")) and _request_of(device) is None:
            yield device["deviceName"]


def _request_of(device: Object) -> tuple[str, str] | None:
    """The claim and the request in it that provide a device; None for a device of a plug-in."""
    claim, request = device.get("claimName"), device.get("requestName")
    return None if claim is None and request is None else (text(claim), text(request))


def claims(launch: Launch) -> list[Object]:
    """The claims of dynamic resource allocation: for GPUs, host devices, networks."""
    found: list[tuple[str, str]] = []
    for key, gate in (("gpus", GPU_GATE), ("hostDevices", HOST_DEVICE_GATE)):
        if launch.gate(gate):
            for device in _devices(launch, key):
                request = _request_of(device)
                if request is not None and not text(device.get("deviceName")):
                    found.append(request)
    if launch.gate(NETWORK_GATE):
        sources = (network.get("resourceClaim") for network in launch.networks)
        found += [request for source in sources if source is not None and (request := _request_of(as_map(source)))]
    if not launch.release.within(since=ALL_CLAIMS_SINCE):
        found = [each for number, each in enumerate(found) if all(each[0] != before[0] for before in found[:number])]
    return [{"name": claim, "request": request} for claim, request in found]


class Permission(Value):
    """Which devices `permittedHostDevices` is asked for: all but those that a claim provides, or none at all with the gate."""

    key: str
    word: str
    gate: str
    since: Version = ()
    until: Version = ()
    by_claim: bool = True


PERMISSIONS = (
    Permission(key="gpus", word="GPU", gate=GPU_GATE, until=(1, 9), by_claim=False),
    Permission(key="gpus", word="GPU", gate=GPU_GATE, since=(1, 9)),
    Permission(key="hostDevices", word="HostDevice", gate="", until=(1, 9)),
    Permission(key="hostDevices", word="HostDevice", gate=HOST_DEVICE_GATE, since=(1, 9)),
)


def check_permitted(launch: Launch) -> None:
    """Raises: PodError where the cluster permits some devices, and the instance uses others.

    upstream: validatePermittedHostDevices
    """
    permitted = launch.cluster.pointer("permittedHostDevices")
    if permitted is None:
        return
    kinds = ("pciHostDevices", "mediatedDevices", "usb")
    known = {as_map(each).get("resourceName") for kind in kinds for each in as_list(as_map(permitted).get(kind))}
    wrong = [
        f"{row.word} {name} is not permitted in permittedHostDevices configuration"
        for row in launch.release.rows(PERMISSIONS)
        for name in _checked(launch, row)
        if name not in known
    ]
    if wrong:
        raise PodError(" ".join(wrong))


def _checked(launch: Launch, row: Permission) -> Iterator[str]:
    spared = bool(row.gate) and launch.gate(row.gate)
    for device in _devices(launch, row.key):
        if not spared or (row.by_claim and _request_of(device) is None):
            yield text(device.get("deviceName"))


class Feature(Value):
    """A device that a feature of the guest, or of the cluster, needs."""

    device: str
    needed: Callable[[Launch], bool]
    since: Version = ()


def has_reservation(launch: Launch) -> bool:
    """True where a LUN uses persistent reservations. upstream: pkg/storage/reservation/pr.go:HasVMISpecPersistentReservation"""
    return any(as_map(disk.get("lun")).get("reservation") is True for disk in launch.disks)


FEATURES = (
    Feature(device="sev", needed=lambda launch: launch.has_sev),
    Feature(device="tdx", needed=lambda launch: launch.secured_by("tdx"), since=(1, 9)),
    Feature(device="pr-helper", needed=has_reservation),
    Feature(device="iommufd", needed=lambda launch: launch.gate("IOMMUFD"), since=(1, 9)),
)
