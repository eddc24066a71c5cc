"""CPUs, memory and placement of a running instance, as they follow the VM under the strategy LiveUpdate.

upstream: pkg/virt-controller/watch/vm/vm.go: handleCPUChangeRequest, handleAffinityChangeRequest,
handleTolerationsChangeRequest, handleMemoryHotplugRequest; pkg/liveupdate/memory/memory.go:ValidateLiveUpdateMemory
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable
from krm_fn.base.objects import Object
from krm_fn.base.paths import as_map, copy, get, put
from krm_fn.base.quantity import BINARY_SI, Quantity, of_int, parse
from krm_fn.base.value import Value
from krm_fn.kubevirt.releases import Version
from krm_fn.kubevirt.updates.references import expanded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.updates.machine import Machine, Running, World


CPU = ("domain", "cpu")
SOCKETS = (*CPU, "sockets")
MEMORY = ("domain", "memory")
GUEST, MAX_GUEST = (*MEMORY, "guest"), (*MEMORY, "maxGuest")
REQUESTS, LIMITS = ("domain", "resources", "requests"), ("domain", "resources", "limits")

SOCKETS_TOO_MANY = "CPU sockets updated in template spec to a value higher than what's available"
SOCKETS_REDUCED = "Reduction of CPU socket count requires a restart"
SOCKETS_ON_ARM = "ARM doesn't support CPU hotplug"
UPDATED = "memory updated in template spec"
NOT_MIGRATABLE = f"{UPDATED}. Memory-hotplug is only available for migratable VMs"
NOT_AVAILABLE = f"{UPDATED}. Memory-hotplug is not available for this VM configuration"
BELOW_START = f"{UPDATED} to a value lower than what the VM started with"
TOO_MUCH = f"{UPDATED} to a value higher than what's available"

DEFAULT_RATIO = 10
MILLI = 10**6  # of the nanos that quantities count in
MIB, GIB = 1 << 20, 1 << 30


class Growth(Value):
    """What an architecture lets grow while the instance runs. Rows of a release: the last that fits."""

    memory: tuple[str, ...]
    refuses_arm_cpus: bool
    requests_always: bool
    since: Version


GROWTH = (
    Growth(memory=("amd64", "arm64"), refuses_arm_cpus=False, requests_always=True, since=(1, 4)),
    Growth(memory=("amd64",), refuses_arm_cpus=False, requests_always=True, since=(1, 5)),
    Growth(memory=("amd64",), refuses_arm_cpus=True, requests_always=True, since=(1, 5, 2)),
    Growth(memory=("amd64",), refuses_arm_cpus=True, requests_always=False, since=(1, 6, 4)),
)


class Grown(Value):
    """The running instance after a step, and the message of RestartRequired where it cannot follow."""

    running: Running
    restart: str = ""


class Wanted(Value):
    """The expanded template, and the machine and world that it belongs to."""

    spec: Object
    machine: Machine
    world: World


def wanted(machine: Machine, world: World) -> Wanted | None:
    """What the instance is to follow; None where the VM cannot be expanded."""
    spec = expanded(machine, world)
    return Wanted(spec=spec, machine=machine, world=world) if spec is not None else None


def _growth(world: World) -> Growth:
    return [row for row in GROWTH if world.release.within(since=row.since)][-1]


def _cpus(wanted: Wanted, running: Running) -> Grown:
    new, now = get(wanted.spec, CPU), get(running.spec, CPU)
    if new is None or now is None or _count(new, "sockets") == _count(now, "sockets"):
        return Grown(running=running)
    if _count(new, "sockets") > _count(now, "maxSockets"):
        return Grown(running=running, restart=SOCKETS_TOO_MANY)
    if _count(new, "sockets") < _count(now, "sockets"):
        return Grown(running=running, restart=SOCKETS_REDUCED)
    if wanted.machine.spec.get("architecture") == "arm64" and _growth(wanted.world).refuses_arm_cpus:
        return Grown(running=running, restart=SOCKETS_ON_ARM)
    return Grown(running=running.but(spec=_with_sockets(wanted, new, now, running.spec)))


def _with_sockets(wanted: Wanted, new: Object, now: Object, spec: Object) -> Object:
    """The spec with more sockets, and with what they ask for where the template asks for CPUs.

    upstream: pkg/virt-controller/watch/vm/vm.go:VMICPUsPatch
    """
    spec = copy(spec)
    ratio = wanted.world.cluster.setting("developerConfiguration", "cpuAllocationRatio")
    each = 1000 // (ratio if isinstance(ratio, int) and ratio > 0 else DEFAULT_RATIO)
    more = (_vcpus(new) - _vcpus(now)) * each * MILLI
    put(spec, SOCKETS, new["sockets"])
    for at in ((*REQUESTS, "cpu"), (*LIMITS, "cpu")):
        if _nanos(wanted.spec, at):
            put(spec, at, str(_sum(parse(get(spec, at)), more)))
    return spec


def _count(cpu: Object, key: str) -> int:
    value = cpu.get(key)
    return value if isinstance(value, int) else 0


def _vcpus(cpu: Object) -> int:
    """upstream: pkg/util/hardware/hw_utils.go:GetNumberOfVCPUs"""
    product = 1
    for key in ("sockets", "cores", "threads"):
        product *= _count(cpu, key) or 1
    return product


def _nanos(spec: Object, at: tuple[str, ...]) -> int:
    amount = parse(get(spec, at))
    return amount.nanos if amount else 0


def _sum(amount: Quantity | None, more: int) -> Quantity:
    return Quantity(nanos=amount.nanos + more, format=amount.format) if amount else Quantity(nanos=more)


def _placed(wanted: Wanted, running: Running) -> Grown:
    spec = running.spec
    for key in ("affinity", "nodeSelector", "tolerations"):
        if wanted.spec.get(key) != spec.get(key):
            spec = {name: value for name, value in spec.items() if name != key}
            if key in wanted.spec:
                spec[key] = copy(wanted.spec[key])
    return Grown(running=running.but(spec=spec) if spec is not running.spec else running)


def _memory(wanted: Wanted, running: Running) -> Grown:
    new, now = parse(get(wanted.spec, GUEST)), parse(get(running.spec, GUEST))
    if new is None or now is None or running.guest is None or new.nanos == now.nanos:
        return Grown(running=running)
    restart = _memory_trouble(wanted, running, new)
    if restart:
        return Grown(running=running, restart=restart)
    return Grown(running=running.but(spec=_with_guest(wanted, running, new)))


def _memory_trouble(wanted: Wanted, running: Running, new: Quantity) -> str:
    """Why the guest's memory cannot become that while it runs, in upstream's order; "" where it can."""
    most = parse(get(running.spec, MAX_GUEST))
    if not wanted.machine.migratable:
        return NOT_MIGRATABLE
    if most is None:
        return NOT_AVAILABLE
    unsupported = memory_fault(wanted.spec, most, _growth(wanted.world).memory)
    if unsupported:
        return f"memory hotplug not supported, {unsupported}"
    boot = parse(running.boot)
    if boot and new.nanos < boot.nanos:
        return BELOW_START
    return TOO_MUCH if new.nanos > most.nanos else ""


def memory_fault(spec: Object, most: Quantity, architectures: tuple[str, ...]) -> str:
    """Why memory of a spec cannot grow up to `most`, in upstream's words; "" where it can."""
    domain = as_map(spec.get("domain"))
    if get(domain, ("cpu", "realtime")) is not None:
        return "Memory hotplug is not compatible with realtime VMs"
    if get(domain, ("cpu", "numa", "guestMappingPassthrough")) is not None:
        return "Memory hotplug is not compatible with guest mapping passthrough"
    if domain.get("launchSecurity") is not None:
        return "Memory hotplug is not compatible with encrypted VMs"
    return _size_fault(domain, most) or _platform_fault(spec, architectures)


def _size_fault(domain: Object, most: Quantity) -> str:
    guest = parse(get(domain, ("memory", "guest")))
    pages = get(domain, ("memory", "hugepages", "pageSize"))
    block, word = (GIB, "1Gi") if pages == "1Gi" else (2 * MIB, "2Mi")
    if guest is None:
        return "Guest memory must be configured when memory hotplug is enabled"
    if guest.nanos > most.nanos:
        return "Guest memory is greater than the configured maxGuest memory"
    if guest.value() % block:
        return f"Guest memory must be {word} aligned"
    return f"MaxGuest must be {word} aligned" if most.value() % block else ""


def _platform_fault(spec: Object, architectures: tuple[str, ...]) -> str:
    guest = parse(get(spec, GUEST))
    if spec.get("architecture") not in architectures:
        return "Memory hotplug is only available for x86_64 VMs"
    small = guest is not None and guest.value() < GIB
    return "Memory hotplug is only available for VMs with at least 1Gi of guest memory" if small else ""


def _with_guest(wanted: Wanted, running: Running, new: Quantity) -> Object:
    """The spec with another size of the guest, and with what it asks for beside it."""
    spec: Object = copy(running.spec)
    current = parse(running.guest)
    more = new.value() - (current.value() if current else 0)
    put(spec, GUEST, str(new))
    asked = parse(get(spec, (*REQUESTS, "memory")))
    if (asked and asked.nanos) or _growth(wanted.world).requests_always:
        request = _sum(asked, of_int(more, BINARY_SI).nanos) if asked else of_int(more, BINARY_SI)
        if request.nanos < new.nanos:
            # upstream takes the difference to the request that it has just set, which is none
            request, more = new, 0
        put(spec, (*REQUESTS, "memory"), str(request))
    if _nanos(wanted.spec, (*LIMITS, "memory")):
        put(spec, (*LIMITS, "memory"), str(_sum(parse(get(spec, (*LIMITS, "memory"))), of_int(more, BINARY_SI).nanos)))
    return spec


# What makes the instance follow, one change of it after the other.
STEPS: tuple[Callable[[Wanted, Running], Grown], ...] = (_cpus, _placed, _memory)
