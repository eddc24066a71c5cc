"""What is asked of VirtualMachineInstances only, once their defaults are set: memory, Hyper-V, devices by architecture.

upstream: pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go
"""

from __future__ import annotations

from krm_fn.admission.amounts import whole
from krm_fn.admission.causes import INVALID, NOT_SUPPORTED, REQUIRED, shown
from krm_fn.admission.checks import count, examine, use
from krm_fn.admission.scope import maps, name_of
from krm_fn.paths import as_map, get, is_set
from krm_fn.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.admission.causes import Cause
    from krm_fn.admission.scope import Scope
    from krm_fn.paths import Path
    from krm_fn.resource import Object

VMI = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:"
HYPERV = "pkg/virt-api/webhooks/hyperv.go:"

FEATURES = ("domain", "features", "hyperv")
# Upstream puts the features' path behind itself.
TWICE = "domain.features.hyperv.domain.features.hyperv"

# A Hyper-V feature, and the one it needs.
NEEDS = (("evmcs", "vapic"), ("ipi", "vpindex"), ("tlbflush", "vpindex"), ("synictimer", "synic"), ("synic", "vpindex"))

RESERVED_PATHS = ("/var/run/kubevirt", "/var/run/libvirt")


class Platform(Value):
    """What an architecture can do: the kinds of watchdog and of video; `uefi_only` where it is picky as arm64 is."""

    watchdogs: tuple[str, ...]
    videos: tuple[str, ...]
    picky: bool = False


PLATFORMS = {
    "amd64": Platform(watchdogs=("i6300esb",), videos=("vga", "cirrus", "virtio", "ramfb", "bochs")),
    "arm64": Platform(watchdogs=(), videos=("virtio", "ramfb"), picky=True),
    "s390x": Platform(watchdogs=("diag288",), videos=("virtio",)),
}
WATCHDOGS = ("i6300esb", "diag288")


@examine("volumes", upstream=VMI + "validateVirtualMachineInstanceSpecVolumeDisks")
def volumes_without_disk(scope: Scope) -> Iterator[Cause]:
    """Each volume is a disk or a filesystem; one that shows a path of the pod is a filesystem, and not KubeVirt's own path."""
    disks = {name_of(disk) for disk in scope.disks}
    filesystems = {name_of(filesystem) for filesystem in maps(scope.devices.get("filesystems"))}
    for index, volume in enumerate(scope.volumes):
        name, at, named = name_of(volume), ("volumes", index), f"domain.volumes[{index}]"
        if volume.get("memoryDump") is not None:
            continue
        if name not in disks and name not in filesystems:
            message = f"volume {shown(name)} has no disk or filesystem of that name; add it to domain.devices"
            yield scope.cause((*at, "name"), message, named=f"{named}.name")
        if volume.get("containerPath") is not None:
            if name in disks or name not in filesystems:
                yield scope.cause(
                    at, "a containerPath volume needs a filesystem, and no disk; add it to filesystems", named=named
                )
            path = as_map(volume["containerPath"]).get("path")
            if isinstance(path, str) and path.startswith(RESERVED_PATHS):
                message = f"path {shown(path)} is KubeVirt's own; use another"
                yield scope.cause((*at, "containerPath", "path"), message, named=f"{named}.containerPath.path")


@examine(upstream=VMI + "ValidateVirtualMachineInstanceMandatoryFields")
def memory_missing(scope: Scope) -> Iterator[Cause]:
    """Upstream names no path here."""
    if whole(scope.requests.get("memory")) == 0 and not count(scope.memory, ("guest", "hugepages")):
        yield scope.cause(("domain", "memory", "guest"), "the instance asks for no memory; set memory.guest", reason=REQUIRED)


@examine(*FEATURES, upstream=HYPERV + "ValidateVirtualMachineInstanceHyperv")
def hyperv_features(scope: Scope) -> Iterator[Cause]:
    features = as_map(get(scope.spec, FEATURES))
    for key, needed in NEEDS:
        if _enabled(features, key) and not _enabled(features, needed):
            message = f"{key} needs {needed}; enable both or neither"
            yield scope.cause((*FEATURES, key), message, named=f"{TWICE}.{key}")
    if get(scope.domain, ("features", "hypervPassthrough")) is not None:
        yield scope.cause(FEATURES, "hyperv and hypervPassthrough exclude each other; keep one")
    evmcs = features.get("evmcs")
    if evmcs is not None and as_map(evmcs).get("enabled") is not False:
        yield from _vmx(scope)


def _enabled(features: Object, key: str) -> bool:
    return as_map(features.get(key)).get("enabled") is True


def _vmx(scope: Scope) -> Iterator[Cause]:
    """Enlightened VMCS needs the CPU feature vmx; upstream names these places without the spec's own path."""
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
    platform = PLATFORMS.get(architecture) if isinstance(architecture, str) else None
    if platform is None:
        message = f"architecture {shown(architecture)} is not known; {use(list(PLATFORMS))}"
        yield scope.cause(("architecture",), message, reason=INVALID)
        return
    watchdog, video = scope.devices.get("watchdog"), scope.devices.get("video")
    kinds = tuple(kind for kind in WATCHDOGS if as_map(watchdog).get(kind) is not None)
    if watchdog is not None and (not platform.watchdogs or kinds != platform.watchdogs):
        known = use(platform.watchdogs) if platform.watchdogs else "remove it"
        at: Path = ("domain", "devices", "watchdog")
        yield scope.cause(at, f"the watchdog is not one of {architecture}; {known}", reason=NOT_SUPPORTED)
    if video is not None and as_map(video).get("type") not in platform.videos:
        message = f"video type {shown(as_map(video).get('type'))} is not one of {architecture}; {use(platform.videos)}"
        yield scope.cause(("domain", "devices", "video", "type"), message, reason=NOT_SUPPORTED)
    if platform.picky:
        yield from _arm64(scope)


def _arm64(scope: Scope) -> Iterator[Cause]:
    """upstream: pkg/virt-api/webhooks/arm64.go:ValidateVirtualMachineInstanceArm64Setting"""
    if get(scope.domain, ("firmware", "bootloader", "bios")) is not None:
        at: Path = ("domain", "firmware", "bootloader", "bios")
        yield scope.cause(at, "arm64 boots by UEFI only; use bootloader.efi", reason=NOT_SUPPORTED)
    if is_set(scope.cpu.get("model")) and scope.cpu["model"] != "host-passthrough":
        message = f"CPU model {shown(scope.cpu['model'])} is not one of arm64; use host-passthrough"
        yield scope.cause(("domain", "cpu", "model"), message, reason=NOT_SUPPORTED)
    for index, disk in enumerate(scope.disks):
        for key in ("disk", "cdrom", "lun"):
            bus = as_map(disk.get(key)).get("bus")
            if bus not in (None, "", "virtio", "scsi"):
                at = ("domain", "devices", "disks", index, key, "bus")
                yield scope.cause(at, f"bus {shown(bus)} is not one of arm64; use virtio or scsi", reason=NOT_SUPPORTED)
    if scope.devices.get("sound") is not None:
        yield scope.cause(("domain", "devices", "sound"), "arm64 knows no sound device; remove it", reason=NOT_SUPPORTED)


EXAMINATIONS = (volumes_without_disk, memory_missing, hyperv_features, architecture_limits)
