"""Devices: inputs, sound, video, vsock, panic devices, GPUs and host devices, and the domain's threads and reboots."""

from __future__ import annotations

from krm_fn.admission.causes import DUPLICATE, REQUIRED, shown
from krm_fn.admission.checks import EACH, Check, Group, dns_subdomain, examine, gated, number, one_of
from krm_fn.admission.formats import is_label
from krm_fn.admission.scope import maps, name_of
from krm_fn.paths import as_map, get, is_set
from krm_fn.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.admission.causes import Cause
    from krm_fn.admission.scope import Scope
    from krm_fn.paths import Path
    from krm_fn.releases import Version
    from krm_fn.resource import Object

VMI = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:"
DRA = "pkg/dra/admitter/dra_admitter.go:"

DEVICES = ("domain", "devices")

CLAIMED_NETWORKS_SINCE: Version = (1, 9)

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
        message="ioThreadsPolicy supplementalPool needs a number of threads; set ioThreads.supplementalPoolThreadCount",
        lazy=False,
        since=(1, 5),
        upstream=VMI + "validateIOThreadsPolicy",
        named="domain.ioThreads.count",
    ),
    gated(("rebootPolicy",), "RebootPolicy", since=(1, 8), upstream=VMI + "validateRebootPolicy"),
)

CHECKS = (
    gated(("downwardMetrics",), "DownwardMetrics", upstream=VMI + "validateDownwardMetrics"),
    gated(("hostDevices",), "HostDevices", upstream=VMI + "validateHostDevicesWithPassthroughEnabled", named="HostDevices"),
    Check(
        at=("autoattachVSOCK",),
        refuses=lambda value, _devices, scope: value is True and not scope.gate("VSOCK"),
        message="autoattachVSOCK needs the feature gate VSOCK, which is not open; list it or remove the field",
        upstream=VMI + "validateVSOCK",
    ),
    Check(
        at=("sound",),
        refuses=lambda value, _devices, _scope: as_map(value).get("model") not in ("ich9", "ac97", "", None),
        message="the sound device's model is not known; use ich9 or ac97",
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
        message="video does not go with autoattachGraphicsDevice false; remove one",
        upstream=VMI + "validateVideoConfig",
        named="video",
    ),
    Check(
        at=("panicDevices",),
        refuses=lambda value, _devices, scope: value != [] and _architecture(scope) == "s390x",
        message="s390x knows no panic devices of one's own; remove them",
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
    Group(
        at=("resourceClaims", EACH),
        checks=(
            *(
                dns_subdomain((key,), pointer=True, since=(1, 9), upstream=DRA + "validateResourceClaims")
                for key in ("resourceClaimName", "resourceClaimTemplateName")
            ),
            Check(
                at=(),
                refuses=lambda _value, claim, _scope: (
                    (claim.get("resourceClaimName") is None) == (claim.get("resourceClaimTemplateName") is None)
                ),
                message="a claim has exactly one source; set one of resourceClaimName and resourceClaimTemplateName",
                since=(1, 9),
                upstream=DRA + "validateResourceClaims",
            ),
        ),
    ),
)


def _architecture(scope: Scope) -> object:
    return scope.spec.get("architecture") or scope.cluster.default_architecture


@examine(*DEVICES, "gpus", upstream=VMI + "validateMDEVRamFB")
def two_boot_displays(scope: Scope) -> Iterator[Cause]:
    """One virtual GPU at most shows a picture before the guest's driver runs."""
    found = [index for index, gpu in enumerate(maps(scope.devices.get("gpus"))) if _has_boot_display(gpu)]
    if len(found) > 1:
        message = "only one GPU can have a display with ramFB; set ramFB.enabled to false on the others"
        yield scope.cause((*DEVICES, "gpus", found[1]), message, named="GPUs")


def _has_boot_display(gpu: Object) -> bool:
    display = get(gpu, ("virtualGPUOptions", "display"))
    if not isinstance(display, dict) or display.get("enabled") is False:
        return False
    return display.get("ramFB") is None or get(display, ("ramFB", "enabled")) is True


@examine("resourceClaims", upstream=DRA + "validateResourceClaims", since=(1, 9))
def claim_names(scope: Scope) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, claim in enumerate(maps(scope.spec.get("resourceClaims"))):
        at, name = ("resourceClaims", index, "name"), name_of(claim)
        if not name:
            yield scope.cause(at, "name is missing; set it", reason=REQUIRED)
        elif name in seen:
            yield scope.cause(at, f"claim name {shown(name)} is that of another claim too; rename one", reason=DUPLICATE)
        elif not is_label(name):
            message = f"claim name {shown(name)} is no DNS label; use at most 63 of a-z, 0-9 and '-'"
            yield scope.cause(at, message)
        seen.add(name)


class Kind(Value):
    """A kind of device that comes by name from a device plugin, or by claim from dynamic resource allocation."""

    key: str
    gate: str
    unmixed: bool  # all of them are of one sort


KINDS = (
    Kind(key="gpus", gate="GPUsWithDRA", unmixed=True),
    Kind(key="hostDevices", gate="HostDevicesWithDRA", unmixed=False),
)


def claims_of(device: Object) -> bool:
    """True for a device that comes by claim: it names a claim or a request, and no device."""
    return not is_set(device.get("deviceName")) and _has_claim(device)


def _has_claim(device: Object) -> bool:
    return is_set(device.get("claimName")) or is_set(device.get("requestName"))


@examine(upstream=DRA + "validateCreationDRA", since=(1, 8))
def claimed_devices(scope: Scope) -> Iterator[Cause]:
    """Devices by name or by claim, each pair of claim and request once, each claim listed."""
    owners: dict[tuple[str, str], Path] = {}
    for kind in KINDS:
        if scope.devices.get(kind.key) is not None:
            yield from _devices_of_kind(scope, kind, owners)
    if not owners:
        return
    used = {claim for claim, _request in owners}
    if scope.release.within(since=CLAIMED_NETWORKS_SINCE) and scope.gate("NetworkDevicesWithDRA"):
        yield from _claimed_networks(scope, owners)
    missing = sorted(used - {name_of(claim) for claim in maps(scope.spec.get("resourceClaims"))})
    if missing:
        message = f"resourceClaims lacks {shown(missing[0])}, which a device uses; add it"
        yield scope.cause(("resourceClaims",), message)


def _devices_of_kind(scope: Scope, kind: Kind, owners: dict[tuple[str, str], Path]) -> Iterator[Cause]:
    devices, at = maps(scope.devices.get(kind.key)), (*DEVICES, kind.key)
    claimed = [index for index, device in enumerate(devices) if claims_of(device)]
    named = f"domain.devices.{kind.key}"
    if kind.unmixed and claimed and len(claimed) < len(devices):
        yield scope.cause((*at, claimed[0]), f"{kind.key} by name and by claim do not go together; use one sort", named=named)
        return
    for index, device in enumerate(devices):
        if not is_set(device.get("deviceName")) and index not in claimed:
            message = "a device comes by name or by claim; set deviceName, or claimName and requestName"
            yield scope.cause((*at, index), message, reason=REQUIRED, named=named)
        elif index not in claimed and _has_claim(device):
            yield scope.cause((*at, index), "a device comes by name or by claim; remove one of the two", named=named)
    if claimed and not scope.gate(kind.gate):
        message = f"{kind.key} by claim need the feature gate {kind.gate}, which is not open; list it or use deviceName"
        yield scope.cause((*at, claimed[0]), message, named=named)
        return
    for index in claimed:
        yield from _claim_of_device(scope, devices[index], (*at, index), owners)


def _claim_of_device(scope: Scope, device: Object, at: Path, owners: dict[tuple[str, str], Path]) -> Iterator[Cause]:
    missing = [key for key in ("claimName", "requestName") if not is_set(device.get(key))]
    for key in missing:
        yield scope.cause((*at, key), f"{key} is missing; set it", reason=REQUIRED)
    if not missing:
        yield from _claim_once(scope, device, at, owners)


def _claim_once(scope: Scope, source: Object, at: Path, owners: dict[tuple[str, str], Path]) -> Iterator[Cause]:
    pair = str(source["claimName"]), str(source["requestName"])
    if owners.setdefault(pair, at) != at:
        message = f"request {shown(pair[1])} of claim {shown(pair[0])} is used twice; use another request"
        yield scope.cause(at, message, reason=DUPLICATE)


def _claimed_networks(scope: Scope, owners: dict[tuple[str, str], Path]) -> Iterator[Cause]:
    """Networks that share a request with a device; two networks that share one are the networks' own check."""
    seen: set[tuple[str, str]] = set()
    for index, network in enumerate(scope.networks):
        source = as_map(network.get("resourceClaim"))
        if is_set(source.get("claimName")) and is_set(source.get("requestName")):
            pair = str(source["claimName"]), str(source["requestName"])
            if pair in owners and pair not in seen:
                yield from _claim_once(scope, source, ("networks", index), owners)
            seen.add(pair)


EXAMINATIONS = (two_boot_displays, claim_names, claimed_devices)
