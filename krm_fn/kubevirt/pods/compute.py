"""The resources of the container `compute`, in which the guest runs.

An instance's own requests and limits stand above what KubeVirt calculates. Steps change the two in upstream's order.
upstream: pkg/virt-controller/services/renderresources.go:NewResourceRenderer, template.go:VMIResourcePredicates
"""

from __future__ import annotations

from decimal import Decimal

from krm_fn.base.annotations import Callable
from krm_fn.base.objects import Object
from krm_fn.base.paths import as_map
from krm_fn.base.quantity import Quantity, of_int, parse, wrapped
from krm_fn.base.value import Value
from krm_fn.kubevirt.configuration import EVEN_PARITY
from krm_fn.kubevirt.pods import devices
from krm_fn.kubevirt.pods.amounts import ONE, ZERO, Amounts, amount, minus, plus, whole
from krm_fn.kubevirt.pods.launch import Launch
from krm_fn.kubevirt.pods.overhead import go_float
from krm_fn.kubevirt.presets.facts import selects
from krm_fn.kubevirt.releases import Version

EPHEMERAL, EPHEMERAL_OVERHEAD = "ephemeral-storage", amount("50M")
DEFAULT_CPU_RATIO = 10
MEMORY_RATIO_LABEL = "alpha.kubevirt.io/auto-memory-limits-ratio"
DEFAULT_MEMORY_RATIO = 2.0
AUTO_LIMITS_GATE = "AutoResourceLimitsGate"
POOL_POLICY = "supplementalPool"


class Draft:
    """The resources while they are put together: the instance's own, and below them those that KubeVirt calculates."""

    __slots__ = ("calculated_limits", "calculated_requests", "claims", "launch", "limits", "overhead", "requests")

    def __init__(self, launch: Launch, overhead: Quantity) -> None:
        self.launch, self.overhead = launch, overhead
        self.requests, self.limits = dict(launch.requests), dict(launch.limits)
        self.calculated_requests: Amounts = {}
        self.calculated_limits: Amounts = {}
        self.claims: list[Object] = []

    @property
    def all_requests(self) -> Amounts:
        return {**self.calculated_requests, **self.requests}

    @property
    def all_limits(self) -> Amounts:
        return {**self.calculated_limits, **self.limits}

    def request(self, resource: str) -> None:
        """Ask for one more of a device. What the instance's own resources say of it stays what counts."""
        for own, calculated in ((self.requests, self.calculated_requests), (self.limits, self.calculated_limits)):
            calculated[resource] = plus(own.get(resource, calculated.get(resource, ZERO)), ONE)


class DraftStep(Value):
    """One change of the draft, and the releases that make it."""

    run: Callable[[Draft], None]
    since: Version = ()
    until: Version = ()


def compute_resources(launch: Launch, overhead: Quantity) -> Draft:
    """The resources of the container. Raises: PodError."""
    draft = Draft(launch, overhead)
    for step in launch.release.rows(STEPS):
        step.run(draft)
    return draft


def _ephemeral_storage(draft: Draft) -> None:
    draft.requests[EPHEMERAL] = plus(draft.requests.get(EPHEMERAL, ZERO), EPHEMERAL_OVERHEAD)
    if EPHEMERAL in draft.limits:
        draft.limits[EPHEMERAL] = plus(draft.limits[EPHEMERAL], EPHEMERAL_OVERHEAD)


def _virtualization(draft: Draft) -> None:
    """The devices of the hypervisor stand in the limits only; the API server copies them to the requests."""
    draft.limits.update(dict.fromkeys(devices.of_hypervisor(draft.launch), ONE))


def _memory_request(draft: Draft) -> None:
    """The memory that the pod requests where the instance does not say. upstream: WithMemoryRequests"""
    launch = draft.launch
    if launch.requests.get("memory", ZERO).nanos:
        return
    if draft.limits.get("memory", ZERO).nanos:
        draft.requests["memory"] = draft.limits["memory"]
    size = launch.guest if launch.guest is not None else parse(launch.page_size)
    if "memory" in draft.requests or size is None or size.value() <= 0:
        return
    percent = launch.cluster.memory_overcommit
    # Go's product of 64 bits may turn negative, and its quotient is rounded toward zero
    product = wrapped(size.value() * 100)
    part = abs(product) // percent
    draft.requests["memory"] = size if percent == 100 else of_int(part if product > 0 else -part, size.format)


def _pin_cpus(draft: Draft) -> None:
    """upstream: WithCPUPinning"""
    launch = draft.launch
    if not launch.dedicated:
        return
    if launch.vcpus:
        draft.limits["cpu"] = draft.requests["cpu"] = whole(launch.vcpus + launch.pool_threads)
    else:
        for amounts in (draft.limits, draft.requests):
            if "cpu" in amounts:
                amounts["cpu"] = plus(amounts["cpu"], whole(launch.pool_threads))
    _isolate_emulator(draft, draft.limits.get("cpu", ZERO))
    if "memory" in draft.requests:
        draft.limits["memory"] = draft.requests["memory"]


def _pin_cpus_below_own(draft: Draft) -> None:
    """The limit is calculated, so the instance's own limit and request win. upstream: WithCPUPinning until 1.5.2"""
    launch = draft.launch
    if not launch.dedicated:
        return
    if launch.vcpus:
        draft.calculated_limits["cpu"] = whole(launch.vcpus)
    elif "cpu" in draft.limits:
        draft.requests["cpu"] = draft.limits["cpu"]
    elif "cpu" in draft.requests:
        draft.limits["cpu"] = draft.requests["cpu"]
    _isolate_emulator(draft, draft.calculated_limits.get("cpu", ZERO))
    draft.limits["memory"] = draft.requests.get("memory", ZERO)


def _isolate_emulator(draft: Draft, limit: Quantity) -> None:
    """One CPU more for QEMU's own threads; two where the cluster wants an even number of them in all."""
    launch = draft.launch
    if launch.cpu.get("isolateEmulatorThread") is not True:
        return
    in_pool = launch.pool_threads if launch.domain.get("ioThreadsPolicy") == POOL_POLICY else 0
    # the threads of the pool are in the limit already, and are counted once more
    even = EVEN_PARITY in launch.annotations and (limit.value() + in_pool) % 2 == 0
    more = whole(2 if even else 1)
    draft.limits["cpu"] = plus(limit, more)
    if "cpu" in draft.requests:
        draft.requests["cpu"] = plus(draft.requests["cpu"], more)


def _share_cpus(draft: Draft) -> None:
    """A part of a CPU for each vCPU and thread. upstream: WithoutDedicatedCPU"""
    _share(draft, draft.launch.pool_threads)


def _share_cpus_of_guest(draft: Draft) -> None:
    """The same without the threads. upstream: WithoutDedicatedCPU until 1.5.2"""
    _share(draft, 0)


def _share(draft: Draft, threads: int) -> None:
    launch = draft.launch
    if launch.dedicated:
        return
    configured = launch.cluster.setting("developerConfiguration", "cpuAllocationRatio")
    ratio = configured if type(configured) is int and configured else DEFAULT_CPU_RATIO
    count = launch.vcpus + threads
    if not count or ratio <= 0:
        return
    draft.calculated_requests["cpu"] = shared_cpus(count, ratio)
    if _limits_cpu(launch):
        draft.calculated_limits["cpu"] = whole(count)


def shared_cpus(count: int, ratio: int) -> Quantity:
    """So many CPUs divided by the ratio, as text of Go's shortest form, which may be finer than thousandths."""
    share = count / ratio
    return amount(str(share)) if share >= 1 else amount(f"{Decimal(repr(share * 1000)):f}m")


def _limits_cpu(launch: Launch) -> bool:
    """True where the namespace makes KubeVirt limit the CPUs. upstream: template.go:doesVMIRequireAutoCPULimits"""
    if _limited_by_quota(launch, "cpu"):
        return True
    selector = launch.cluster.pointer("autoCPULimitNamespaceLabelSelector")
    return "cpu" not in launch.limits and selects(selector, launch.around.labels)


def _limited_by_quota(launch: Launch, resource: str) -> bool:
    """upstream: template.go:doesVMIRequireAutoResourceLimits"""
    return resource not in launch.limits and launch.gate(AUTO_LIMITS_GATE) and launch.around.limits_quota(resource)


def _limit_pool_threads(draft: Draft) -> None:
    """The threads of the pool are added to the limit alone. upstream: WithIOThreads until 1.5.2"""
    launch = draft.launch
    if launch.domain.get("ioThreadsPolicy") == POOL_POLICY and launch.pool_threads > 0:
        draft.limits["cpu"] = plus(draft.limits.get("cpu", ZERO), whole(launch.pool_threads))


def _add_overhead(draft: Draft) -> None:
    """upstream: WithHugePages, WithMemoryOverhead"""
    if draft.launch.page_size is not None:
        _move_to_huge_pages(draft, f"hugepages-{draft.launch.page_size}")
        return
    overcommitted = draft.launch.resources.get("overcommitGuestOverhead") is True
    request = draft.requests.get("memory", ZERO)
    draft.requests["memory"] = request if overcommitted else plus(request, draft.overhead)
    if "memory" in draft.limits:
        draft.limits["memory"] = plus(draft.limits["memory"], draft.overhead)


def _move_to_huge_pages(draft: Draft, resource: str) -> None:
    """The guest's memory is in huge pages; plain memory is the overhead, and what is requested beyond the guest's."""
    guest, request = draft.launch.guest, draft.requests.get("memory", ZERO)
    pages = guest if guest is not None and request.value() > guest.value() else request
    draft.calculated_requests[resource] = draft.calculated_limits[resource] = pages
    draft.requests["memory"] = plus(_beyond(request, guest), draft.overhead)
    if "memory" in draft.limits:
        draft.limits["memory"] = plus(_beyond(draft.limits["memory"], guest), draft.overhead)


def _beyond(memory: Quantity, guest: Quantity | None) -> Quantity:
    return minus(memory, guest) if guest is not None and memory.value() > guest.value() else ZERO


def _limit_memory(draft: Draft) -> None:
    """A limit where the namespace has a quota of limits. upstream: WithAutoMemoryLimits"""
    if not _limited_by_quota(draft.launch, "memory"):
        return
    request = draft.requests.get("memory", ZERO)
    most = int(float(request.value()) * _memory_ratio(draft.launch.around.labels))
    draft.calculated_limits["memory"] = of_int(most, request.format)


def _memory_ratio(labels: Object) -> float:
    """upstream: getMemoryLimitsRatio"""
    ratio = go_float(str(as_map(labels).get(MEMORY_RATIO_LABEL, "")))
    return DEFAULT_MEMORY_RATIO if ratio is None or not ratio >= 1.0 else ratio


def _devices(draft: Draft) -> None:
    for resource in devices.requested(draft.launch):
        draft.request(resource)
    draft.claims = devices.claims(draft.launch)


# upstream makes no difference of patch releases; these came with them
STEPS = (
    DraftStep(run=_ephemeral_storage),
    DraftStep(run=_virtualization),
    DraftStep(run=_memory_request, since=(1, 6, 4)),  # before, the instance got the request
    DraftStep(run=_pin_cpus_below_own, until=(1, 5, 2)),
    DraftStep(run=_pin_cpus, since=(1, 5, 2)),
    DraftStep(run=_share_cpus_of_guest, until=(1, 5, 2)),
    DraftStep(run=_share_cpus, since=(1, 5, 2)),
    DraftStep(run=_add_overhead),
    DraftStep(run=_limit_memory),
    DraftStep(run=_devices),
    DraftStep(run=_limit_pool_threads, since=(1, 5), until=(1, 5, 2)),
)
