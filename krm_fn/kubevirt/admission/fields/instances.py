"""Checks of VirtualMachineInstances only, after their defaults are set: memory, Hyper-V, devices by architecture.

upstream: pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:ValidateVirtualMachineInstancePerArch
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_map, get, is_set
from krm_fn.base.value import Value
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.checks import count, examine, use
from krm_fn.kubevirt.admission.formats import units
from krm_fn.kubevirt.admission.scope import INVALID, NOT_SUPPORTED, REQUIRED, Cause, Scope, maps, name_of
from krm_fn.kubevirt.releases import Version

VMI = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:"
HYPERV = "pkg/virt-api/webhooks/hyperv.go:"

FEATURES = ("domain", "features", "hyperv")
# Since this release, upstream repeats the path of the features, and knows their passthrough.
TWICE, TWICE_SINCE = "domain.features.hyperv.domain.features.hyperv", (1, 3)

# A Hyper-V feature, and the feature that it needs.
NEEDS = (("evmcs", "vapic"), ("ipi", "vpindex"), ("tlbflush", "vpindex"), ("synictimer", "synic"), ("synic", "vpindex"))

RESERVED_PATHS = ("/var/run/kubevirt", "/var/run/libvirt")


WATCHDOGS = ("i6300esb", "diag288")


class Platform(Value):
    """The watchdogs and video devices that an architecture supports. `watchdogs` is None if they are not checked."""

    architecture: str
    watchdogs: tuple[str, ...] | None
    videos: tuple[str, ...]
    since: Version = ()
    until: Version = ()


PLATFORMS = (
    Platform(architecture="amd64", watchdogs=("i6300esb",), videos=("vga", "cirrus", "virtio", "ramfb", "bochs"), since=(1, 5)),
    Platform(architecture="arm64", watchdogs=(), videos=("virtio", "ramfb")),
    Platform(architecture="s390x", watchdogs=("diag288",), videos=("virtio",), since=(1, 5)),
    Platform(architecture="ppc64le", watchdogs=None, videos=("virtio", "bochs", "vga", "cirrus"), since=(1, 6), until=(1, 7)),
)
# Before this release, an architecture without a row is not checked.
PLATFORMS_COMPLETE_SINCE: Version = (1, 5)

# Before this release, a cluster could permit slirp.
SLIRP_UNTIL: Version = (1, 3)
# The releases in which arm64 refused secure boot, and later allowed only one model.
ARM64_SECURE_BOOT_UNTIL: Version = (1, 8)
ARM64_ONE_MODEL_SINCE: Version = (1, 6)


@examine("volumes", upstream=VMI + "validateVirtualMachineInstanceSpecVolumeDisks")
def volumes_without_disk(scope: Scope) -> Iterator[Cause]:
    """Each volume is a disk or a filesystem. A volume with a path of the pod is a filesystem, and not KubeVirt's own path."""
    disks = {name_of(disk) for disk in scope.disks}
    filesystems = {name_of(filesystem) for filesystem in maps(scope.devices.get("filesystems"))}
    for index, volume in enumerate(scope.volumes):
        name, at, named = name_of(volume), ("volumes", index), f"domain.volumes[{index}]"
        if volume.get("memoryDump") is not None:
            continue
        if name not in disks and name not in filesystems:
            message = f"volume {show(name)} has no disk or filesystem with this name; add it to domain.devices"
            yield scope.cause((*at, "name"), message, named=f"{named}.name")
        if volume.get("containerPath") is not None:
            if name in disks or name not in filesystems:
                yield scope.cause(
                    at, "a containerPath volume needs a filesystem instead of a disk; add it to filesystems", named=named
                )
            path = as_map(volume["containerPath"]).get("path")
            if isinstance(path, str) and path.startswith(RESERVED_PATHS):
                message = f"path {show(path)} is reserved for KubeVirt; use another path"
                yield scope.cause((*at, "containerPath", "path"), message, named=f"{named}.containerPath.path")


@examine(upstream="pkg/network/vmispec/defaults.go:SetDefaultNetworkInterface")
def default_network(scope: Scope) -> Iterator[Cause]:
    """The mutating webhook refuses an instance without a network if it can't attach it; upstream names no path."""
    if scope.networks or scope.interfaces or scope.devices.get("autoattachPodInterface") is False:
        return
    binding = scope.cluster.default_network_interface
    permitted = scope.release.within(until=SLIRP_UNTIL) and scope.cluster.setting("network", "permitSlirpInterface") is True
    if (binding == "slirp" and not permitted) or (binding == "bridge" and not scope.cluster.permits_bridge_on_pod_network):
        message = f"the instance has no networks, and the cluster does not permit {binding}, its default binding"
        yield scope.cause(("networks",), f"{message}; add networks and interfaces")


@examine(upstream=VMI + "ValidateVirtualMachineInstanceMandatoryFields")
def memory_missing(scope: Scope) -> Iterator[Cause]:
    """Upstream names no path here."""
    if units(scope.requests.get("memory")) == 0 and not count(scope.memory, ("guest", "hugepages")):
        yield scope.cause(("domain", "memory", "guest"), "the instance has no memory size; set memory.guest", reason=REQUIRED)


@examine(*FEATURES, upstream=HYPERV + "ValidateVirtualMachineInstanceHyperv")
def hyperv_features(scope: Scope) -> Iterator[Cause]:
    features = as_map(get(scope.spec, FEATURES))
    twice = scope.release.within(since=TWICE_SINCE)
    for key, needed in NEEDS:
        if _enabled(features, key) and not _enabled(features, needed):
            message = f"{key} needs {needed}; enable both or neither"
            yield scope.cause((*FEATURES, key), message, named=f"{TWICE}.{key}" if twice else "")
    if twice and get(scope.domain, ("features", "hypervPassthrough")) is not None:
        yield scope.cause(FEATURES, "hyperv and hypervPassthrough exclude each other; keep one of them")
    evmcs = features.get("evmcs")
    if evmcs is not None and as_map(evmcs).get("enabled") is not False:
        yield from _vmx(scope)


def _enabled(features: Object, key: str) -> bool:
    return as_map(features.get(key)).get("enabled") is True


def _vmx(scope: Scope) -> Iterator[Cause]:
    """Enlightened VMCS needs the CPU feature vmx; upstream names these places without the path of the spec."""
    at: Path = ("domain", "cpu", "features")
    features = maps(scope.cpu.get("features"))
    if not features:
        yield scope.cause(at, "evmcs needs the CPU feature vmx; add it", reason=REQUIRED, absolute="spec.domain.cpu.features")
    for index, feature in enumerate(features):
        if feature.get("name") == "vmx" and feature.get("policy") != "require":
            message = "evmcs needs the CPU feature vmx; set its policy to require"
            yield scope.cause((*at, index, "policy"), message, absolute=f"spec.domain.cpu.features[{index}].policy")


@examine(upstream=VMI + "ValidateVirtualMachineInstancePerArch")
def architecture_limits(scope: Scope) -> Iterator[Cause]:
    architecture = scope.spec.get("architecture")
    known = scope.release.rows(PLATFORMS)
    platform = next((row for row in known if row.architecture == architecture), None)
    if platform is None:
        if scope.release.within(since=PLATFORMS_COMPLETE_SINCE):
            message = f"architecture {show(architecture)} is not supported; {use([row.architecture for row in known])}"
            yield scope.cause(("architecture",), message, reason=INVALID)
        return
    yield from _platform_limits(scope, platform)
    if architecture == "arm64":
        yield from _arm64(scope)


def _platform_limits(scope: Scope, platform: Platform) -> Iterator[Cause]:
    architecture, watchdogs = platform.architecture, platform.watchdogs
    watchdog, video = scope.devices.get("watchdog"), scope.devices.get("video")
    kinds = tuple(kind for kind in WATCHDOGS if as_map(watchdog).get(kind) is not None)
    if watchdog is not None and watchdogs is not None and (not watchdogs or kinds != watchdogs):
        known = use(watchdogs) if watchdogs else "remove it"
        at: Path = ("domain", "devices", "watchdog")
        yield scope.cause(at, f"the watchdog is not supported on {architecture}; {known}", reason=NOT_SUPPORTED)
    if video is not None and as_map(video).get("type") not in platform.videos:
        message = f"video type {show(as_map(video).get('type'))} is not supported on {architecture}; {use(platform.videos)}"
        yield scope.cause(("domain", "devices", "video", "type"), message, reason=NOT_SUPPORTED)


def _arm64(scope: Scope) -> Iterator[Cause]:
    """upstream: pkg/virt-api/webhooks/arm64.go:ValidateVirtualMachineInstanceArm64Setting"""
    if get(scope.domain, ("firmware", "bootloader", "bios")) is not None:
        at: Path = ("domain", "firmware", "bootloader", "bios")
        yield scope.cause(at, "arm64 supports only UEFI; use bootloader.efi", reason=NOT_SUPPORTED)
    if scope.release.within(until=ARM64_SECURE_BOOT_UNTIL) and scope.has_secure_boot():
        at = ("domain", "firmware", "bootloader", "efi", "secureBoot")
        named = "domain.firmware.bootloader.efi.secureboot"
        yield scope.cause(
            at,
            "arm64 does not support secure boot, which is on by default; set secureBoot to false",
            reason=NOT_SUPPORTED,
            named=named,
        )
    model, one = scope.cpu.get("model"), scope.release.within(since=ARM64_ONE_MODEL_SINCE)
    if (is_set(model) and model != "host-passthrough") if one else model == "host-model":
        message = f"CPU model {show(model)} is not supported on arm64; use host-passthrough"
        yield scope.cause(("domain", "cpu", "model"), message, reason=NOT_SUPPORTED)
    for index, disk in enumerate(scope.disks):
        for key in ("disk", "cdrom", "lun"):
            bus = as_map(disk.get(key)).get("bus")
            if bus not in (None, "", "virtio", "scsi"):
                at = ("domain", "devices", "disks", index, key, "bus")
                yield scope.cause(at, f"bus {show(bus)} is not supported on arm64; use virtio or scsi", reason=NOT_SUPPORTED)
    if scope.devices.get("sound") is not None:
        yield scope.cause(
            ("domain", "devices", "sound"), "arm64 does not support sound devices; remove it", reason=NOT_SUPPORTED
        )


EXAMINATIONS = (default_network, volumes_without_disk, memory_missing, hyperv_features, architecture_limits)
