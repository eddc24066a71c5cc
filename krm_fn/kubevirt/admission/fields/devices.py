"""Devices: inputs, sound, video, vsock, panic devices, GPUs and host devices, and the domain's threads and reboots."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import EACH, as_map, get, is_set
from krm_fn.kubevirt.admission.checks import Check, Group, examine, gated, number, one_of, shut
from krm_fn.kubevirt.admission.scope import Cause, Scope, maps
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
