"""CPU: requests and limits, topology, dedicated placement, NUMA, realtime, CPU features."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import EACH, as_map, is_nonzero
from krm_fn.base.quantity import wrapped
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.checks import Check, Group, examine, gated, number, one_of
from krm_fn.kubevirt.admission.formats import is_some, thousandths, units
from krm_fn.kubevirt.admission.scope import NOT_SUPPORTED, REQUIRED, Cause, Scope
from krm_fn.kubevirt.fields.topology import UINT32
from krm_fn.kubevirt.releases import Version

VMI = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:"

CPU = ("domain", "cpu")
REQUEST = ("domain", "resources", "requests", "cpu")
LIMIT = ("domain", "resources", "limits", "cpu")
DEDICATED = (*CPU, "dedicatedCpuPlacement")
PASSTHROUGH = (*CPU, "numa", "guestMappingPassthrough")

MOST_PINNED_THREADS = 2

# Since this release, guest memory and huge pages are enough to set the memory of VMs with dedicated CPUs.
GUEST_COUNTS_SINCE: Version = (1, 6)
# Since this release, arm64 has one thread per core.
ARM64_THREADS_SINCE: Version = (1, 1)
# Since this release, amounts of memory that are too large for 64 bits count, too.
LARGE_COUNTS_SINCE: Version = (1, 7)


def _negative(value: object, _item: object, _scope: object) -> bool:
    return thousandths(value) < 0


GROUPS = (
    Group(
        at=("domain", "resources", "requests"),
        checks=(
            Check(
                at=("cpu",),
                refuses=_negative,
                message="requests.cpu {value} must not be negative; set it to zero or more",
                upstream=VMI + "validateCPURequestNotNegative",
            ),
        ),
    ),
    Group(
        at=("domain", "resources", "limits"),
        checks=(
            Check(
                at=("cpu",),
                refuses=_negative,
                message="limits.cpu {value} must not be negative; set it to zero or more",
                upstream=VMI + "validateCPULimitNotNegative",
            ),
        ),
    ),
    Group(
        at=CPU,
        checks=(
            Check(
                at=("isolateEmulatorThread",),
                refuses=lambda value, cpu, _scope: value is True and cpu.get("dedicatedCpuPlacement") is not True,
                message="isolateEmulatorThread needs dedicatedCpuPlacement; set both or neither",
                upstream=VMI + "validateCPUIsolatorThread",
            ),
            gated(("numa", "guestMappingPassthrough"), "NUMA", upstream=VMI + "validateNUMA"),
            Check(
                at=("numa", "guestMappingPassthrough"),
                refuses=lambda _value, cpu, _scope: cpu.get("dedicatedCpuPlacement") is not True,
                message="guestMappingPassthrough needs dedicatedCpuPlacement; set it to true",
                upstream=VMI + "validateNUMA",
            ),
            Check(
                at=("numa", "guestMappingPassthrough"),
                refuses=lambda _value, _cpu, scope: scope.memory.get("hugepages") is None,
                message="guestMappingPassthrough needs huge pages; set domain.memory.hugepages",
                upstream=VMI + "validateNUMA",
            ),
            Check(
                at=("sockets",),
                refuses=lambda value, cpu, _scope: 0 < number(cpu.get("maxSockets")) < number(value),
                message="sockets {value} is greater than maxSockets; raise maxSockets or lower sockets",
                upstream=VMI + "validateCPUHotplug",
            ),
        ),
    ),
    Group(
        at=(*CPU, "features", EACH),
        checks=(
            one_of(
                ("policy",),
                ("force", "require", "optional", "disable", "forbid"),
                reason=NOT_SUPPORTED,
                upstream=VMI + "validateCPUFeaturePolicies",
            ),
        ),
    ),
)


@examine("domain", "resources", "limits", upstream=VMI + "validateCpuRequestDoesNotExceedLimit")
def request_above_limit(scope: Scope) -> Iterator[Cause]:
    requested, limit = scope.requests.get("cpu"), scope.limits.get("cpu")
    if 0 < thousandths(limit) < thousandths(requested):
        yield scope.cause(REQUEST, f"requests.cpu {show(requested)} must be at most limits.cpu {show(limit)}; lower it")


@examine("domain", "cpu", "realtime", upstream=VMI + "validateRealtime")
def realtime(scope: Scope) -> Iterator[Cause]:
    if scope.cpu.get("dedicatedCpuPlacement") is not True:
        yield scope.cause(DEDICATED, "realtime needs dedicatedCpuPlacement; set it to true", reason=REQUIRED)
    if as_map(scope.cpu.get("numa")).get("guestMappingPassthrough") is None:
        yield scope.cause(PASSTHROUGH, "realtime needs cpu.numa.guestMappingPassthrough; set it", reason=REQUIRED)


@examine("domain", "cpu", "dedicatedCpuPlacement", upstream=VMI + "validateCpuPinning")
def pinned(scope: Scope) -> Iterator[Cause]:
    """The conditions of dedicated CPUs for requests, limits and topology."""
    if scope.cpu.get("dedicatedCpuPlacement") is not True:
        return
    yield from _pinned_memory(scope)
    for kind, at, amounts in (("limits", LIMIT, scope.limits), ("requests", REQUEST, scope.requests)):
        amount = amounts.get("cpu")
        if units(amount) > 0 and wrapped(units(amount) * 1000) != thousandths(amount):  # Go multiplies in 64 bits
            yield scope.cause(at, f"{kind}.cpu {show(amount)} must be an integer with dedicated CPUs; round it")
    yield from _pinned_counts(scope)
    yield from _pinned_threads(scope)


def _pinned_memory(scope: Scope) -> Iterator[Cause]:
    requested, limit = scope.requests.get("memory"), scope.limits.get("memory")
    says = is_some if scope.release.within(since=LARGE_COUNTS_SINCE) else units
    provided = says(requested) or says(limit)
    if scope.release.within(since=GUEST_COUNTS_SINCE):
        provided = provided or says(scope.memory.get("guest")) or scope.memory.get("hugepages") is not None
    if not provided:
        at = ("domain", "resources", "limits", "memory")
        yield scope.cause(at, "dedicated CPUs need a memory size; set domain.memory.guest or limits.memory")
    if units(requested) > 0 and units(limit) > 0 and units(requested) != units(limit):
        at = ("domain", "resources", "requests", "memory")
        yield scope.cause(at, f"requests.memory {show(requested)} must equal limits.memory {show(limit)}; make them equal")


def _pinned_counts(scope: Scope) -> Iterator[Cause]:
    requested, limit = units(scope.requests.get("cpu")), units(scope.limits.get("cpu"))
    vcpus = vcpus_of(scope)
    if requested == limit == vcpus == 0:
        yield scope.cause(DEDICATED, "dedicatedCpuPlacement needs the number of CPUs; set cpu.cores")
    if requested > 0 and limit > 0 and requested != limit:
        yield scope.cause(DEDICATED, "dedicatedCpuPlacement needs requests.cpu and limits.cpu to be equal; set one of them")
    if (requested > 0 or limit > 0) and 0 < vcpus != requested and vcpus != limit:
        yield scope.cause(
            DEDICATED,
            f"requests.cpu or limits.cpu must equal the {vcpus} vCPUs of the topology; change one of them",
        )


def _pinned_threads(scope: Scope) -> Iterator[Cause]:
    threads = number(scope.cpu.get("threads"))
    architecture = scope.spec.get("architecture") or scope.cluster.default_architecture
    if threads > 1 and architecture == "arm64" and scope.release.within(since=ARM64_THREADS_SINCE):
        yield scope.cause(
            ("architecture",), f"cpu.threads is {threads}, but arm64 supports only 1 thread per core; set it to 1"
        )
    if threads > MOST_PINNED_THREADS:
        yield scope.cause(DEDICATED, f"cpu.threads is {threads}, but dedicated CPUs have at most 2 threads per core; lower it")


def vcpus_of(scope: Scope) -> int:
    """The product of sockets, cores and threads, without those that are zero; 0 if all are zero. Go counts in 32 bits.

    upstream: pkg/util/hardware/hw_utils.go:GetNumberOfVCPUs
    """
    product = 0
    for key in ("cores", "sockets", "threads"):
        factor = scope.cpu.get(key)
        if is_nonzero(factor):
            product = product * number(factor) % UINT32 if product else number(factor)
    return product


EXAMINATIONS = (request_above_limit, realtime, pinned)
