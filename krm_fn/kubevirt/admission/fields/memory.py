"""Memory: requests and limits, huge pages, guest memory, reserved overhead, and the conditions of memory hotplug."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.paths import Path, as_map
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.checks import Check, Group, examine, gated
from krm_fn.kubevirt.admission.formats import quantity, units
from krm_fn.kubevirt.admission.scope import Cause, Scope
from krm_fn.kubevirt.releases import Version

VMI = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:"
HOTPLUG = "pkg/liveupdate/memory/memory.go:ValidateLiveUpdateMemory"

REQUEST = ("domain", "resources", "requests", "memory")
LIMIT = ("domain", "resources", "limits", "memory")
GUEST = ("domain", "memory", "guest")
PAGE_SIZE = ("domain", "memory", "hugepages", "pageSize")

SMALLEST_REQUEST = 10**6
GIB, TWO_MIB = 2**30, 2**21

# Releases differ in the path of the page size, in the memory that is compared with it, and in which VMs may grow.
PAGE_SIZE_NAMED_UNTIL: Version = (1, 8)
GUEST_READ_SINCE: Version = (1, 6)
ARM64_GROWS_UNTIL: Version = (1, 5)
LEAST_GROWING_SINCE: Version = (1, 3, 1)
LIMIT_FOLLOWS_SINCE: Version = (1, 2, 1)


def _too_small(value: object, _item: object, _scope: object) -> bool:
    found = quantity(value)
    return found is not None and found.value() > 0 and found.nanos < SMALLEST_REQUEST * 10**9


GROUPS = (
    Group(
        at=("domain", "resources", "requests"),
        checks=(
            Check(
                at=("memory",),
                refuses=lambda value, _item, _scope: units(value) < 0,
                message="requests.memory {value} must not be negative; set it to zero or more",
                upstream=VMI + "validateMemoryRequestsNegativeOrNull",
            ),
            Check(
                at=("memory",),
                refuses=_too_small,
                message="requests.memory {value} is less than 1M; request more",
                upstream=VMI + "validateMemoryRequestsNegativeOrNull",
            ),
        ),
    ),
    Group(
        at=("domain", "resources", "limits"),
        checks=(
            Check(
                at=("memory",),
                refuses=lambda value, _item, _scope: units(value) < 0,
                message="limits.memory {value} must not be negative; set it to zero or more",
                upstream=VMI + "validateMemoryLimitsNegativeOrNull",
            ),
        ),
    ),
    Group(
        at=("domain", "memory"),
        checks=(
            gated(
                ("reservedOverhead",),
                "ReservedOverheadMemlock",
                since=(1, 8),
                upstream=VMI + "validateReservedOverheadMemlock",
            ),
        ),
    ),
)


@examine("domain", "resources", "limits", upstream=VMI + "validateMemoryLimitsNegativeOrNull")
def request_above_limit(scope: Scope) -> Iterator[Cause]:
    requested, limit = scope.requests.get("memory"), scope.limits.get("memory")
    if 0 < units(limit) < units(requested):
        yield scope.cause(REQUEST, f"requests.memory {show(requested)} must be at most limits.memory {show(limit)}; lower it")


@examine("domain", "memory", "guest", upstream=VMI + "validateGuestMemoryLimit")
def guest_above_limit(scope: Scope) -> Iterator[Cause]:
    """Only if the cluster does not roll out changes live. Otherwise the limit follows the guest's memory."""
    guest, limit = scope.memory.get("guest"), scope.limits.get("memory")
    follows = scope.rolls_out_live() and scope.release.within(since=LIMIT_FOLLOWS_SINCE)
    if not follows and units(limit) != 0 and units(limit) < units(guest):
        yield scope.cause(GUEST, f"memory.guest {show(guest)} must be at most limits.memory {show(limit)}; lower it")


@examine("domain", "memory", "hugepages", upstream=VMI + "validateHugepagesMemoryRequests")
def hugepages(scope: Scope) -> Iterator[Cause]:
    """The page size is a quantity, and the VM's memory is a multiple of it."""
    size = as_map(scope.memory.get("hugepages")).get("pageSize")
    page = quantity(size)
    if page is None:
        named = "domain.hugepages.size" if scope.release.within(until=PAGE_SIZE_NAMED_UNTIL) else ""
        wrong = "is missing" if size is None else f"{show(size)} is not a quantity"
        message = f"pageSize {wrong}; use 2Mi, 1Gi or another size that the nodes have"
        yield scope.cause(PAGE_SIZE, message, named=named)
        return
    at, amount = _compared(scope)
    memory, pages = units(amount), page.value()
    named = ".".join(REQUEST)  # upstream names the request, whichever field it read
    if memory < pages and (memory != 0 or not scope.release.within(since=GUEST_READ_SINCE)):
        yield scope.cause(at, f"memory {show(amount)} is less than one huge page of {show(size)}; increase it", named=named)
    elif pages and memory % pages:  # upstream divides by a page size of 0
        yield scope.cause(
            at, f"memory {show(amount)} must be a multiple of the huge page size {show(size)}; round it", named=named
        )


def _compared(scope: Scope) -> tuple[Path, Any]:
    """The memory that must be a multiple of the page size, and its place."""
    requested, guest = scope.requests.get("memory"), scope.memory.get("guest")
    if units(requested) or not scope.release.within(since=GUEST_READ_SINCE):
        return REQUEST, requested
    return (GUEST, guest) if units(guest) else (LIMIT, scope.limits.get("memory"))


@examine("domain", "memory", "maxGuest", upstream=HOTPLUG, since=(1, 3))
def hotplug(scope: Scope) -> Iterator[Cause]:
    """The conditions of memory hotplug for a VM with maxGuest, checked for VirtualMachines on clusters that roll out live."""
    if scope.rolls_out_live():
        wrong = _hotplug_trouble(scope)
        if wrong:
            at = ("domain", "memory", "maxGuest")  # upstream always names the guest's memory
            yield scope.cause(at, f"memory hotplug (memory.maxGuest) {wrong}", named=".".join(GUEST))


def _hotplug_trouble(scope: Scope) -> str:
    """The first condition, in upstream's order, that forbids memory hotplug; "" if none does."""
    cpu, guest, most = scope.cpu, quantity(scope.memory.get("guest")), quantity(scope.memory.get("maxGuest"))
    if cpu.get("realtime") is not None:
        return "cannot be combined with realtime; remove one of them"
    if as_map(cpu.get("numa")).get("guestMappingPassthrough") is not None:
        return "cannot be combined with guestMappingPassthrough; remove one of them"
    if scope.domain.get("launchSecurity") is not None:
        return "cannot be combined with launchSecurity; remove one of them"
    if guest is None or most is None:
        return "needs memory.guest; set it"
    if guest.nanos > most.nanos:
        return "needs memory.guest to be at most maxGuest; lower guest or raise maxGuest"
    return _hotplug_size(scope, guest.value(), most.value())


def _hotplug_size(scope: Scope, guest: int, most: int) -> str:
    gigantic = as_map(scope.memory.get("hugepages")).get("pageSize") == "1Gi"
    block, word = (GIB, "1Gi") if gigantic else (TWO_MIB, "2Mi")
    if guest % block:
        return f"needs memory.guest to be a multiple of {word}; round it"
    if most % block:
        return f"needs memory.maxGuest to be a multiple of {word}; round it"
    growing = ("amd64", "arm64") if scope.release.within(until=ARM64_GROWS_UNTIL) else ("amd64",)
    if scope.spec.get("architecture") not in growing:
        return f"works only on {' and '.join(growing)}; remove maxGuest"
    small = guest < GIB and scope.release.within(since=LEAST_GROWING_SINCE)
    return "needs at least 1Gi of guest memory; raise memory.guest" if small else ""


EXAMINATIONS = (request_above_limit, guest_above_limit, hugepages)
VM_EXAMINATIONS = (hotplug,)
