"""Dynamic resource allocation: GPUs and host devices from claims, and the claims.

upstream: pkg/dra/admitter/dra_admitter.go:validateCreationDRA
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import EACH, Path, as_map, is_set
from krm_fn.base.value import Value
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.checks import LABEL_FORM, Check, Group, dns_subdomain, examine, shut
from krm_fn.kubevirt.admission.formats import is_label
from krm_fn.kubevirt.admission.scope import DUPLICATE, REQUIRED, Cause, Scope, maps, name_of
from krm_fn.kubevirt.releases import Version

DRA = "pkg/dra/admitter/dra_admitter.go:"
DEVICES = ("domain", "devices")

CLAIMED_NETWORKS_SINCE: Version = (1, 9)
# Before this release, the names of claim and request are pointers in Go: an empty text is set, and means a claim. Since then, a
# mutating webhook removes it. A device that no webhook rewrites, such as one of an instancetype, still has it.
EMPTY_IS_UNSET_SINCE: Version = (1, 9)

GROUPS = (
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
                message="a claim must have exactly one source; set either resourceClaimName or resourceClaimTemplateName",
                since=(1, 9),
                upstream=DRA + "validateResourceClaims",
            ),
        ),
    ),
)


@examine("resourceClaims", upstream=DRA + "validateResourceClaims", since=(1, 9))
def claim_names(scope: Scope) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, claim in enumerate(maps(scope.spec.get("resourceClaims"))):
        at, name = ("resourceClaims", index, "name"), name_of(claim)
        if not name:
            yield scope.cause(at, "name is missing; set it", reason=REQUIRED)
        elif name in seen:
            yield scope.cause(at, f"claim name {show(name)} is used by another claim too; rename one", reason=DUPLICATE)
        elif not is_label(name):
            message = f"claim name {show(name)} is not a DNS label; {LABEL_FORM}"
            yield scope.cause(at, message)
        seen.add(name)


class DeviceKind(Value):
    """A kind of device, which comes from a device plugin by name, or from dynamic resource allocation by claim."""

    key: str
    gate: str
    unmixed: bool  # all devices of a VM must be of one sort


KINDS = (
    DeviceKind(key="gpus", gate="GPUsWithDRA", unmixed=True),
    DeviceKind(key="hostDevices", gate="HostDevicesWithDRA", unmixed=False),
)


def _by_claim(device: Object, scope: Scope, key: str) -> bool:
    """True for a device from a claim: it names a claim or a request, and no device. `key` is that of its kind."""
    return not is_set(device.get("deviceName")) and _has_claim(device, scope, key)


def _has_claim(device: Object, scope: Scope, key: str) -> bool:
    names = device.get("claimName"), device.get("requestName")
    rewritten = not scope.as_written and not is_set(scope.instancetype.get(key))
    if rewritten and scope.release.within(since=EMPTY_IS_UNSET_SINCE):
        return any(is_set(name) for name in names)
    return any(name is not None for name in names)


def _given(scope: Scope, key: str) -> list[Object]:
    """The original devices of a kind, with empty names, which the expanded VM does not have."""
    return maps(scope.instancetype.get(key)) or maps(scope.devices.get(key))


@examine(upstream=DRA + "validateCreationDRA", since=(1, 8))
def claimed_devices(scope: Scope) -> Iterator[Cause]:
    """Devices have a name or a claim, no two share a pair of claim and request, and each claim is listed."""
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
        message = f"resourceClaims has no {show(missing[0])}, which a device uses; add it"
        yield scope.cause(("resourceClaims",), message)


def _devices_of_kind(scope: Scope, kind: DeviceKind, owners: dict[tuple[str, str], Path]) -> Iterator[Cause]:
    devices, at = _given(scope, kind.key), (*DEVICES, kind.key)
    claims = [_by_claim(device, scope, kind.key) for device in devices]
    claimed = [index for index, claim in enumerate(claims) if claim]
    named = f"domain.devices.{kind.key}"
    if kind.unmixed and claimed and len(claimed) < len(devices):
        yield scope.cause(
            (*at, claimed[0]),
            f"{kind.key} by name and {kind.key} by claim exclude each other; use only one of the two",
            named=named,
        )
        return
    for index, device in enumerate(devices):
        if not is_set(device.get("deviceName")) and not claims[index]:
            message = "the device has neither a name nor a claim; set deviceName, or claimName and requestName"
            yield scope.cause((*at, index), message, reason=REQUIRED, named=named)
        elif not claims[index] and _has_claim(device, scope, kind.key):
            yield scope.cause((*at, index), "the device has both a name and a claim; remove one of them", named=named)
    if claimed and not scope.gate(kind.gate):
        message = f"{kind.key} with claims need the feature gate {kind.gate}, which is not enabled; enable it or use deviceName"
        yield scope.cause((*at, claimed[0]), message, named=named, gate=kind.gate)
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
        message = f"request {show(pair[1])} of claim {show(pair[0])} is used twice; use another request"
        yield scope.cause(at, message, reason=DUPLICATE)


def _claimed_networks(scope: Scope, owners: dict[tuple[str, str], Path]) -> Iterator[Cause]:
    """Networks that share a request with a device. Another check reports two networks that share one."""
    seen: set[tuple[str, str]] = set()
    for index, network in enumerate(scope.networks):
        source = as_map(network.get("resourceClaim"))
        if is_set(source.get("claimName")) and is_set(source.get("requestName")):
            pair = str(source["claimName"]), str(source["requestName"])
            if pair in owners and pair not in seen:
                yield from _claim_once(scope, source, ("networks", index), owners)
            seen.add(pair)


@examine("domain", "devices", "gpus", upstream=DRA + "validateCreationDRA", since=(1, 6), until=(1, 8))
def claimed_gpus(scope: Scope) -> Iterator[Cause]:
    """GPUs by name or by claim, as the first releases with claims check them; upstream names `spec` twice."""
    gpus, named = _given(scope, "gpus"), "spec.domain.devices.gpus"
    at = ("domain", "devices", "gpus")
    claims = [_by_claim(gpu, scope, "gpus") for gpu in gpus]
    for index, gpu in enumerate(gpus):
        if not is_set(gpu.get("deviceName")) and not claims[index]:
            yield scope.cause((*at, index), "the GPU has no device; set deviceName", named=named)
            return
        if is_set(gpu.get("deviceName")) and _has_claim(gpu, scope, "gpus"):
            yield scope.cause((*at, index), "the GPU has both a name and a claim; remove one of them", named=named)
    gate = "GPUsWithDRA"
    if any(claims) and not scope.gate(gate):
        yield scope.cause((*at, claims.index(True)), shut("GPUs with claims", gate), named=named, gate=gate)
        return
    known = {name_of(claim) for claim in maps(scope.spec.get("resourceClaims"))}
    used = [gpu.get("claimName") for gpu, claimed in zip(gpus, claims, strict=True) if claimed]
    missing = next((name for name in used if not isinstance(name, str) or name not in known), None)
    if missing is not None:
        yield scope.cause(("resourceClaims",), f"resourceClaims has no {show(missing)}, which a GPU uses; add it")


@examine("resourceClaims", upstream=DRA + "validateCreationDRA", since=(1, 8), until=(1, 9))
def claim_named_twice(scope: Scope) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, claim in enumerate(maps(scope.spec.get("resourceClaims"))):
        if name_of(claim) in seen:
            yield scope.cause(("resourceClaims", index, "name"), f"claim name {show(name_of(claim))} is used twice; rename one")
        seen.add(name_of(claim))


EXAMINATIONS = (claim_names, claimed_devices, claimed_gpus, claim_named_twice)
