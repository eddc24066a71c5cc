"""Devices: inputs, sound, video, vsock, panic devices, GPUs and host devices, and the domain's threads and reboots.

NVIDIA Grace GPUs that are passed through have conditions of their own for cluster and VM.

upstream: pkg/virt-api/webhooks/validating-webhook/admitters/grace_io_virtualization.go:validateGraceIOVirtualization
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import EACH, Path, as_map, dotted, get, is_set
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.checks import Check, Group, examine, gated, number, one_of, shut
from krm_fn.kubevirt.admission.formats import HEX
from krm_fn.kubevirt.admission.scope import REQUIRED, Cause, Scope, maps
from krm_fn.kubevirt.releases import Version

VMI = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:"

# Since this release, a frame buffer that says nothing of `enabled` is one.
UNSET_FRAME_BUFFER_COUNTS_SINCE: Version = (1, 10)

DEVICES = ("domain", "devices")

DOMAIN = (
    *(
        one_of(("ioThreadsPolicy",), policies, pointer=True, upstream=VMI + "validateIOThreadsPolicy", **releases)
        for policies, releases in (
            (("shared", "auto"), {"until": (1, 5)}),
            (("shared", "auto", "supplementalPool"), {"since": (1, 5)}),
        )
    ),
    Check(
        at=("ioThreads", "supplementalPoolThreadCount"),
        refuses=lambda value, domain, _scope: domain.get("ioThreadsPolicy") == "supplementalPool" and number(value) < 1,
        message="ioThreadsPolicy supplementalPool needs the number of threads; set ioThreads.supplementalPoolThreadCount",
        lazy=False,
        since=(1, 5),
        upstream=VMI + "validateIOThreadsPolicy",
        named="domain.ioThreads.count",
    ),
    gated(("rebootPolicy",), "RebootPolicy", since=(1, 8), upstream=VMI + "validateRebootPolicy"),
)

CHECKS = (
    gated(("downwardMetrics",), "DownwardMetrics", since=(1, 1), upstream=VMI + "validateDownwardMetrics"),
    Check(
        at=("hostDevices",),
        refuses=lambda value, _devices, scope: (value != [] or scope.as_written) and not scope.gate("HostDevices"),
        message=shut("hostDevices", "HostDevices"),
        gate="HostDevices",
        upstream=VMI + "validateHostDevicesWithPassthroughEnabled",
        named="HostDevices",
    ),
    Check(
        at=("autoattachVSOCK",),
        refuses=lambda value, _devices, scope: value is True and not scope.gate("VSOCK"),
        message="autoattachVSOCK needs the feature gate VSOCK, which is not enabled; enable it or remove the field",
        gate="VSOCK",
        upstream=VMI + "validateVSOCK",
    ),
    Check(
        at=("sound",),
        refuses=lambda value, _devices, _scope: as_map(value).get("model") not in ("ich9", "ac97", "", None),
        message="the model of the sound device is not supported; use ich9 or ac97",
        upstream=VMI + "validateSoundDevices",
        named="Sound",
    ),
    Check(
        at=("sound",),
        refuses=lambda value, _devices, _scope: not is_set(as_map(value).get("name")),
        message="the sound device has no name; set it",
        upstream=VMI + "validateSoundDevices",
        named="Sound",
    ),
    Check(
        at=("video",),
        refuses=lambda _value, devices, _scope: devices.get("autoattachGraphicsDevice") is False,
        message="video cannot be combined with autoattachGraphicsDevice: false; remove one of them",
        upstream=VMI + "validateVideoConfig",
        named="video",
    ),
    Check(
        at=("panicDevices",),
        refuses=lambda value, _devices, scope: value != [] and _architecture(scope) == "s390x",
        message="s390x does not support panicDevices; remove them",
        since=(1, 6),
        upstream=VMI + "validatePanicDevices",
    ),
)

GROUPS = (
    Group(at=("domain",), checks=DOMAIN),
    Group(at=DEVICES, checks=CHECKS),
    Group(
        at=(*DEVICES, "inputs", EACH),
        checks=(
            one_of(("bus",), ("virtio", "usb"), upstream=VMI + "validateInputDevices"),
            one_of(("type",), ("tablet",), pointer=True, lazy=False, upstream=VMI + "validateInputDevices"),
        ),
    ),
    Group(
        at=(*DEVICES, "panicDevices", EACH),
        checks=(
            one_of(
                ("model",),
                ("hyperv", "isa", "pvpanic"),
                pointer=True,
                since=(1, 6),
                upstream=VMI + "validatePanicDeviceModel",
            ),
        ),
    ),
)


def _architecture(scope: Scope) -> object:
    return scope.spec.get("architecture") or scope.cluster.default_architecture


@examine(*DEVICES, "gpus", upstream=VMI + "validateMDEVRamFB", since=(1, 3))
def two_boot_displays(scope: Scope) -> Iterator[Cause]:
    """At most one virtual GPU shows a picture before the guest's driver runs."""
    unset_counts = scope.release.within(since=UNSET_FRAME_BUFFER_COUNTS_SINCE)
    gpus = enumerate(maps(scope.devices.get("gpus")))
    found = [index for index, gpu in gpus if _has_boot_display(gpu, unset_counts=unset_counts)]
    if len(found) > 1:
        message = "only one GPU can have a display with ramFB; set ramFB.enabled to false for the others"
        yield scope.cause((*DEVICES, "gpus", found[1]), message, named="GPUs")


def _has_boot_display(gpu: Object, *, unset_counts: bool) -> bool:
    display = get(gpu, ("virtualGPUOptions", "display"))
    if not isinstance(display, dict) or display.get("enabled") is False:
        return False
    enabled = get(display, ("ramFB", "enabled"))
    return display.get("ramFB") is None or enabled is True or (unset_counts and enabled is None)


EXAMINATIONS = (two_boot_displays,)


SOURCE = "pkg/virt-api/webhooks/validating-webhook/admitters/grace_io_virtualization.go:"

GRACE_SINCE: Version = (1, 9)
NVIDIA = "10DE"
GRACE = frozenset(("2342", "2348", "2941"))
GATE = "GraceIOVirtualization"
GATES_BESIDE = ("PCINUMAAwareTopology", "IOMMUFD")

# Annotations that, with the value "true", cannot be combined with a Grace GPU.
ANNOTATIONS = {
    "kubevirt.io/placePCIDevicesOnRootComplex": "a Grace GPU cannot be placed on the root complex; remove the annotation",
    "kubevirt.io/disablePCIHole64": "a Grace GPU needs the 64-bit PCI hole; remove the annotation",
}


def graces(scope: Scope) -> tuple[list[Path], list[Path]]:
    """The places of devices that are Grace GPUs by the cluster's permitted devices, and of those that may be any NVIDIA GPU."""
    selectors = scope.cluster.pci_devices
    sure: list[Path] = []
    unsure: list[Path] = []
    for key in ("gpus", "hostDevices") if selectors else ():
        for index, device in enumerate(maps(scope.devices.get(key))):
            name = device.get("deviceName")
            vendor, product = _ids(selectors.get(name) if isinstance(name, str) else None)
            if vendor == NVIDIA and (product in GRACE or product == "*"):
                (unsure if product == "*" else sure).append(("domain", "devices", key, index, "deviceName"))
    return sure, unsure


def _ids(selector: object) -> tuple[str, str]:
    """Vendor and product of `10DE:2342`, in upper case; two empty strings if the selector is not valid.

    upstream: pkg/util/hardware/grace.go:ParsePCIVendorSelector
    """
    parts = selector.split(":") if isinstance(selector, str) else []
    if len(parts) != 2:
        return "", ""
    vendor, product = (part.strip().upper().removeprefix("0X") for part in parts)
    sound = _is_id(vendor) and (product == "*" or _is_id(product))
    return (vendor, product) if sound else ("", "")


def _is_id(text: str) -> bool:
    return len(text) == 4 and HEX.issuperset(text)


@examine("domain", "devices", upstream=SOURCE + "validateGraceIOVirtualization", since=GRACE_SINCE)
def grace_devices(scope: Scope) -> Iterator[Cause]:
    if not scope.devices.get("gpus") and not scope.devices.get("hostDevices"):
        return
    sure, unsure = graces(scope)
    if not scope.gate(GATE):
        for at in sure:
            message = f"a Grace GPU needs the feature gate {GATE}, which is not enabled; enable it or use another GPU"
            yield scope.cause(at, message, gate=GATE)
        return
    for at in unsure:
        yield scope.cause(
            at, "pciVendorSelector matches any NVIDIA device; name the product in the pciVendorSelector of the cluster"
        )
    if sure:
        yield from _needs(scope)


def grace_annotations(metadata: Object, at: Path, scope: Scope) -> Iterator[Cause]:
    """Annotations that cannot be combined with a Grace GPU."""
    notes = as_map(metadata.get("annotations"))
    known = scope.release.within(since=GRACE_SINCE)
    if not known or not any(notes.get(note) == "true" for note in ANNOTATIONS) or not graces(scope)[0]:
        return
    for note, message in ANNOTATIONS.items():
        if notes.get(note) == "true":
            yield Cause(
                path=(*at, "annotations", note),
                message=message,
                upstream_path=f"{dotted(at)}.annotations[{note}]",
                upstream=SOURCE + "validateGraceIOVirtualizationAnnotations",
            )


def _needs(scope: Scope) -> Iterator[Cause]:
    architecture = scope.spec.get("architecture") or scope.cluster.default_architecture
    if architecture != "arm64":
        yield scope.cause(("architecture",), f"a Grace GPU needs architecture arm64, not {show(architecture)}; set it")
    machine = as_map(scope.domain.get("machine")).get("type")
    machine = machine if isinstance(machine, str) and machine else scope.cluster.machine_type(str(architecture), scope.release)
    if not machine.startswith("virt"):
        yield scope.cause(("domain", "machine", "type"), f"a Grace GPU needs machine type virt, not {show(machine)}; set it")
    if scope.cpu.get("dedicatedCpuPlacement") is not True:
        at = ("domain", "cpu", "dedicatedCpuPlacement")
        yield scope.cause(at, "a Grace GPU needs dedicated CPUs; set dedicatedCpuPlacement to true", reason=REQUIRED)
    for gate in GATES_BESIDE:
        if not scope.gate(gate):
            message = f"a Grace GPU needs the feature gate {gate}, which is not enabled; enable it"
            yield scope.cause(("domain", "devices"), message, gate=gate)


GRACE_EXAMINATIONS = (grace_devices,)
