"""What keeps an instance from being live-migrated: one row for each reason, in the order in which KubeVirt looks.

upstream: pkg/virt-handler/vm.go:calculateLiveMigrationCondition, calculateLiveStorageMigrationCondition
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable, Iterable, Iterator
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.pods import nodes
from krm_fn.kubevirt.pods.devices import has_reservation
from krm_fn.kubevirt.pods.launch import Launch
from krm_fn.kubevirt.releases import Version

BRIDGE_MIGRATES = "kubevirt.io/allow-pod-bridge-network-live-migration"
VGPU_GATE = "VGPULiveMigration"
DEVICES: Path = ("domain", "devices")
# What a cause may hang on beside the instance: the TSC frequency of nodes, and a volume's claim.
TSC = "Node/tsc-frequency"
CLAIM = "PersistentVolumeClaim"

NOT_MASQUERADE = "cannot migrate VMI which does not use masquerade or a migratable plugin to connect to the pod network"
NO_PLUGIN = (
    "cannot migrate VMI which does not use masquerade, bridge with "
    f"{BRIDGE_MIGRATES} VM annotation or a migratable plugin to connect to the pod network"
)
BEFORE_PLUGINS = (
    "cannot migrate VMI which does not use masquerade to connect to the pod network or bridge with "
    f"{BRIDGE_MIGRATES} VM annotation"
)
NOT_SHARED = (
    "cannot migrate VMI: PVC {} is not shared, live migration requires that all PVCs must be shared "
    "(using ReadWriteMany access mode)"
)
HOST_DISK = "cannot migrate VMI with non-shared HostDisk"
NO_TSC = (
    "HyperV Reenlightenment VMIs cannot migrate when TSC Frequency is not exposed on the cluster: "
    "guest timers might be inconsistent"
)


class ObstacleCause(Value):
    """A cause: KubeVirt's message, and where it stands in the instance's spec.

    `hangs_on` is TSC or CLAIM where it is one only if the nodes expose no frequency, or the claim of the volume is not shared.
    """

    message: str
    path: Path
    hangs_on: str = ""


class Obstacle(Value):
    """A reason: its causes in an instance, and whether they are obstacles for the memory (`live`) and with volumes (`storage`).

    `live` counts for the condition LiveMigratable, `storage` for StorageLiveMigratable.
    """

    reason: str
    causes: Callable[[Launch], Iterable[ObstacleCause]]
    live: bool = True
    storage: bool = True
    since: Version = ()
    until: Version = ()


def _where(holds: Callable[[Launch], object], message: str, path: Path) -> Callable[[Launch], Iterable[ObstacleCause]]:
    cause = ObstacleCause(message=message, path=path)
    return lambda launch: (cause,) if holds(launch) else ()


def _interface(message: str, hidden: tuple[str, ...]) -> Callable[[Launch], Iterator[ObstacleCause]]:
    """The binding to the pod network; those in `hidden` migrate.

    upstream: pkg/network/vmispec/interface.go:VerifyVMIMigratable
    """

    def causes(launch: Launch) -> Iterator[ObstacleCause]:
        pod = next((network.get("name") for network in launch.networks if network.get("pod") is not None), None)
        if pod is None:
            return
        for number, interface in enumerate(launch.interfaces):
            if interface.get("name") == pod:
                if not _migrates(interface, hidden, launch):
                    yield ObstacleCause(message=message, path=(*DEVICES, "interfaces", number))
                return

    return causes


def _migrates(interface: dict[str, object], hidden: tuple[str, ...], launch: Launch) -> bool:
    if any(interface.get(key) is not None for key in hidden):
        return True
    if interface.get("bridge") is not None:
        return BRIDGE_MIGRATES in launch.annotations
    plugin = text(get(interface.get("binding"), ("name",)))
    return bool(plugin) and launch.cluster.pointer("network", "binding", plugin, "migration") is not None


def _disks(launch: Launch) -> Iterator[ObstacleCause]:
    """Volumes that only one node has. upstream: checkVolumesForMigration"""
    for number, volume in enumerate(launch.volumes):
        if claim_of(volume) is not None:
            yield ObstacleCause(message=NOT_SHARED, path=("volumes", number), hangs_on=CLAIM)
        elif volume.get("hostDisk") is not None and as_map(volume["hostDisk"]).get("shared") is not True:
            yield ObstacleCause(message=HOST_DISK, path=("volumes", number, "hostDisk"))


def claim_of(volume: dict[str, object]) -> str | None:
    """The claim whose access modes count; None for a volume without one."""
    if volume.get("persistentVolumeClaim") is not None:
        return text(get(volume, ("persistentVolumeClaim", "claimName")))
    return text(get(volume, ("dataVolume", "name"))) if volume.get("dataVolume") is not None else None


def _any_device(launch: Launch) -> Iterator[ObstacleCause]:
    for key in ("hostDevices", "gpus"):
        if as_list(launch.devices.get(key)):
            yield ObstacleCause(message="VMI uses a PCI host devices", path=(*DEVICES, key))
            return


def _host_devices(launch: Launch) -> Iterator[ObstacleCause]:
    if as_list(launch.devices.get("hostDevices")):
        yield ObstacleCause(message="VMI specifies non-migratable generic PCI host device", path=(*DEVICES, "hostDevices"))


def _gpus(launch: Launch) -> Iterator[ObstacleCause]:
    """upstream: vmiContainsNonMigratablePCIHostDevices"""
    gpus = [as_map(gpu) for gpu in as_list(launch.devices.get("gpus"))]
    if len(gpus) > 1:
        yield ObstacleCause(message="VMI specifies too many GPUs", path=(*DEVICES, "gpus"))
    elif gpus and not launch.gate(VGPU_GATE):
        message = f"VMI specifies a GPU but feature gate {VGPU_GATE} is not enabled"
        yield ObstacleCause(message=message, path=(*DEVICES, "gpus", 0))
    elif gpus:
        shared = as_list(launch.cluster.pointer("permittedHostDevices", "mediatedDevices"))
        if all(text(as_map(each).get("resourceName")) != text(gpus[0].get("deviceName")) for each in shared):
            yield ObstacleCause(message="VMI specifies non-migratable GPU device", path=(*DEVICES, "gpus", 0))


def _is_tdx_alone(launch: Launch) -> bool:
    return launch.secured_by("tdx") and not launch.has_sev


def _is_secure_execution(launch: Launch) -> bool:
    """upstream: pkg/util/s390x.go:IsSecureExecutionVMI"""
    plain = launch.launch_security is not None and not launch.has_sev and not launch.secured_by("tdx")
    return plain and launch.spec.get("architecture") == "s390x"


def _frequency(launch: Launch) -> Iterator[ObstacleCause]:
    """upstream: pkg/virt-controller/watch/topology/tsc.go:GetTscFrequencyRequirement, hinter.go:TopologyHintsForVMI"""
    feature = get(launch.features, ("hyperv", "reenlightenment"))
    kept = get(launch.status, ("topologyHints", "tscFrequency"))
    if feature is None or as_map(feature).get("enabled") is False or nodes.has_invtsc(launch):
        return
    if type(kept) is int and kept > 0:
        return
    path: Path = ("domain", "features", "hyperv", "reenlightenment")
    frequency = launch.cluster.pointer(*nodes.TSC_FREQUENCY)
    if launch.spec.get("architecture") == "amd64" and type(frequency) is int and frequency > 0:
        return
    known = launch.spec.get("architecture") != "amd64" or type(frequency) is int
    yield ObstacleCause(message=NO_TSC, path=path, hangs_on="" if known else TSC)


def _passes_hyperv(launch: Launch) -> bool:
    """upstream: virt-handler panics where `enabled` is left out."""
    return get(launch.features, ("hypervPassthrough", "enabled")) is True


def _isolates(launch: Launch) -> bool:
    return launch.dedicated and launch.cpu.get("isolateEmulatorThread") is True


# Where what an obstacle needs stands: in an instance, in an instancetype and in a preference.
NEEDED: tuple[Path, ...] = (
    *((*DEVICES, key) for key in ("hostDevices", "gpus", "filesystems")),
    *(("domain", "features", key) for key in ("hyperv", "hypervPassthrough")),
    *(("domain", "launchSecurity"), ("domain", "cpu", "isolateEmulatorThread")),
    *((key,) for key in ("hostDevices", "gpus", "launchSecurity")),
    *(("cpu", "isolateEmulatorThread"), ("features", "preferredHyperv"), ("features", "preferredHypervPassthrough")),
)


def may_have_some(spec: Object, sources: Iterable[Object], is_shared: Callable[[str], bool | None]) -> bool:
    """False for an instance that surely has no obstacle, from its spec as the VM states it, and what an instancetype and a
    preference give. No instance has to be made to see that.
    """
    pod = next(
        (as_map(each).get("name") for each in as_list(spec.get("networks")) if as_map(each).get("pod") is not None), None
    )
    interfaces = [as_map(each) for each in as_list(get(spec, (*DEVICES, "interfaces")))]
    if not interfaces or any(each.get("name") == pod and each.get("masquerade") is None for each in interfaces):
        return True
    if any(get(each, path) is not None for each in (spec, *sources) for path in NEEDED):
        return True
    if any(get(each, ("lun", "reservation")) is not None for each in as_list(get(spec, (*DEVICES, "disks")))):
        return True
    volumes = [as_map(each) for each in as_list(spec.get("volumes"))]
    claims = filter(None, map(claim_of, volumes))
    return any("hostDisk" in each for each in volumes) or any(is_shared(name) is False for name in claims)


DISKS, DEVICE = "DisksNotLiveMigratable", "HostDeviceNotLiveMigratable"
INTERFACE, RESERVATION = "InterfaceNotLiveMigratable", "PersistentReservationNotLiveMigratable"
SECURITY: Path = ("domain", "launchSecurity")
USES_RESERVATION = "VMI uses SCSI persistent reservation"
OBSTACLES = (
    Obstacle(reason=DISKS, causes=_disks, storage=False, until=(1, 6)),
    Obstacle(reason=INTERFACE, causes=_interface(BEFORE_PLUGINS, ("masquerade",)), until=(1, 2)),
    Obstacle(reason=INTERFACE, causes=_interface(NO_PLUGIN, ("masquerade",)), since=(1, 2), until=(1, 8)),
    Obstacle(reason=INTERFACE, causes=_interface(NOT_MASQUERADE, ("masquerade", "passtBinding")), since=(1, 8)),
    Obstacle(
        reason="VirtIOFSNotLiveMigratable",
        causes=_where(
            lambda launch: as_list(launch.devices.get("filesystems")), "VMI uses virtiofs", (*DEVICES, "filesystems")
        ),
        until=(1, 5),
    ),
    Obstacle(reason=DEVICE, causes=_any_device, until=(1, 9)),
    Obstacle(reason=DEVICE, causes=_host_devices, since=(1, 9)),
    Obstacle(reason=DEVICE, causes=_gpus, since=(1, 9)),
    Obstacle(reason="SEVNotLiveMigratable", causes=_where(lambda launch: launch.has_sev, "VMI uses SEV", SECURITY)),
    Obstacle(reason="TDXNotLiveMigratable", causes=_where(_is_tdx_alone, "VMI uses TDX", SECURITY), since=(1, 7)),
    Obstacle(
        reason="SecureExecutionNotLiveMigratable",
        causes=_where(_is_secure_execution, "VMI uses Secure Execution", SECURITY),
        storage=False,
        since=(1, 6),
    ),
    Obstacle(
        reason=RESERVATION,
        causes=_where(has_reservation, "VMI uses SCSI persitent reservation", (*DEVICES, "disks")),  # as upstream spells it
        until=(1, 7),
    ),
    Obstacle(
        reason=RESERVATION, causes=_where(has_reservation, USES_RESERVATION, (*DEVICES, "disks")), since=(1, 7), until=(1, 9)
    ),
    Obstacle(
        reason=RESERVATION, causes=_where(has_reservation, USES_RESERVATION, (*DEVICES, "disks")), live=False, since=(1, 9)
    ),
    Obstacle(reason="NoTSCFrequencyNotLiveMigratable", causes=_frequency),
    Obstacle(
        reason="DedicatedCPUNotLiveMigratable",
        causes=_where(_isolates, "VMI uses dedicated CPUs and emulator thread isolation", ("domain", "cpu")),
        until=(1, 1),
    ),
    Obstacle(
        reason="HypervPassthroughNotLiveMigratable",
        causes=_where(_passes_hyperv, "VMI uses hyperv passthrough", ("domain", "features", "hypervPassthrough")),
        since=(1, 3),
    ),
    Obstacle(reason=DISKS, causes=_disks, storage=False, since=(1, 6)),
)
