"""The effect of each field of a VirtualMachineInstancetypeSpec, memory overcommit included, and of a flavor.

Flavors are the form of instancetypes in KubeVirt 0.47 to 0.55. A VM must not set the parts of the domain that its flavor sets.
Requests and limits never conflict with a flavor.

upstream: pkg/instancetype/apply/cpu.go:applyCPU, memory.go:applyMemory, nodeselector.go:applyNodeSelector,
scheduler.go:applySchedulerName, iothreads.go:applyIOThreads, iothreadpolicy.go:applyIOThreadPolicy,
launchsecurity.go:applyLaunchSecurity, gpu.go:applyGPUs, hostdevices.go:applyHostDevices;
pkg/flavor/flavor.go:ApplyToVmi until 0.56
"""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.paths import Path, copy, get, is_nonzero
from krm_fn.base.quantity import INT64, canonical, of_int, parse
from krm_fn.kubevirt.fields.devices import as_claiming_devices, as_plain_devices
from krm_fn.kubevirt.fields.others import claim_annotations
from krm_fn.kubevirt.fields.topology import lay_out
from krm_fn.kubevirt.fields.verbs import Application, Field, as_quantity, claim, filled, forbid, given, overwrite, reach

REQUESTS = ("domain", "resources", "requests")
GUEST = ("domain", "memory", "guest")


def overcommit(application: Application, value: Any, source: Path) -> None:
    """The pod requests `value` percent less than the guest's memory, in the format of the instancetype's text.

    upstream: pkg/instancetype/apply/memory.go:applyMemory
    """
    guest = parse(get(application.instancetype, ("memory", "guest")))
    if guest and type(value) is int and value > 0:
        request = str(of_int(overcommitted(guest.value(), value), guest.format))
        reach(application.spec, REQUESTS)["memory"] = request
        if application.trace:
            application.trace.note((*REQUESTS, "memory"), source, request, read=GUEST)


def overcommitted(size: int, percent: int) -> int:
    """`size` less `percent` of it, rounded after each step as 32-bit floats are: 128Mi less 15 % is 114085072."""
    if size < 0:
        return -overcommitted(-size, percent)
    left = single(1 - single(percent / 100))
    excess = max(0, size.bit_length() - 50)  # a 64-bit float holds 53; the other bits may still decide a tie
    rounded = (size >> excess << 1) | bool(size & ((1 << excess) - 1))
    request = int(single(single(rounded / 2) * left) * 2**excess)
    return request if -INT64 <= request < INT64 else -INT64


def single(number: float) -> float:
    """The number, at most a memory size, rounded to a 32-bit float: to 24 binary digits."""
    numerator, parts = number.as_integer_ratio()  # `parts` is a power of two; `struct` takes long to load
    unit: int = 1 << max(0, numerator.bit_length() - 24)
    return round(numerator / unit) * unit / parts


INSTANCETYPE = (
    Field("nodeSelector", *claim("nodeSelector", present=filled, written=copy), since=(1, 1)),
    Field("schedulerName", *claim("schedulerName"), since=(1, 1)),
    Field(
        "cpu.guest",
        forbid("domain.resources.requests.cpu"),
        forbid("domain.resources.limits.cpu"),
        forbid("domain.cpu.sockets", present=is_nonzero),
        forbid("domain.cpu.cores", present=is_nonzero),
        forbid("domain.cpu.threads", present=is_nonzero),
        lay_out,
    ),
    Field("cpu.model", *claim("domain.cpu.model"), pointer=True),
    Field(
        "cpu.dedicatedCPUPlacement",
        *claim("domain.cpu.dedicatedCpuPlacement", present=is_nonzero, upstream="domain.cpu.dedicatedCPUPlacement"),
    ),
    Field("cpu.isolateEmulatorThread", *claim("domain.cpu.isolateEmulatorThread", present=is_nonzero)),
    Field("cpu.numa", *claim("domain.cpu.numa")),
    Field("cpu.realtime", *claim("domain.cpu.realtime")),
    # upstream checks no conflict here
    Field("cpu.maxSockets", overwrite("domain.cpu.maxSockets", present=is_nonzero), since=(1, 3)),
    Field("memory.guest", forbid("domain.memory"), until=(1, 7)),  # the complete block, with any content
    Field("memory.guest", forbid("domain.memory.guest"), since=(1, 7)),
    Field(
        "memory.guest",
        forbid("domain.resources.requests.memory"),
        forbid("domain.resources.limits.memory"),
        overwrite("domain.memory.guest", written=as_quantity),
    ),
    Field("memory.overcommitPercent", overcommit),
    Field("memory.hugepages", overwrite("domain.memory.hugepages"), until=(1, 7)),
    Field("memory.hugepages", *claim("domain.memory.hugepages"), since=(1, 7)),
    Field("memory.maxGuest", overwrite("domain.memory.maxGuest", written=as_quantity), since=(1, 3), until=(1, 7)),
    Field("memory.maxGuest", *claim("domain.memory.maxGuest", written=as_quantity), since=(1, 7)),
    Field("ioThreads.supplementalPoolThreadCount", *claim("domain.ioThreads.supplementalPoolThreadCount"), since=(1, 7)),
    Field("ioThreadsPolicy", *claim("domain.ioThreadsPolicy", present=given), pointer=True),
    Field("launchSecurity", *claim("domain.launchSecurity")),
    # How Go writes the claim of a device. upstream: staging/src/kubevirt.io/api/core/v1/schema.go:ClaimRequest
    Field("gpus", *claim("domain.devices.gpus", written=as_plain_devices), until=(1, 6)),
    Field("gpus", *claim("domain.devices.gpus", written=as_claiming_devices), since=(1, 6), until=(1, 9)),
    Field("gpus", *claim("domain.devices.gpus"), since=(1, 9)),
    Field("hostDevices", *claim("domain.devices.hostDevices", written=as_plain_devices), until=(1, 6)),
    Field("hostDevices", *claim("domain.devices.hostDevices", written=as_claiming_devices), since=(1, 6), until=(1, 9)),
    Field("hostDevices", *claim("domain.devices.hostDevices"), since=(1, 9)),
    Field("annotations", claim_annotations, since=(1, 1)),
)


# The form of 0.54 and 0.55.
FLAVOR = (
    Field("cpu.guest", forbid("domain.cpu"), lay_out),  # the complete block, with any content
    Field("cpu.model", overwrite("domain.cpu.model")),
    Field("cpu.dedicatedCPUPlacement", overwrite("domain.cpu.dedicatedCpuPlacement", present=is_nonzero)),
    Field("cpu.isolateEmulatorThread", overwrite("domain.cpu.isolateEmulatorThread", present=is_nonzero)),
    Field("cpu.numa", overwrite("domain.cpu.numa")),
    Field("cpu.realtime", overwrite("domain.cpu.realtime")),
    Field("memory.guest", forbid("domain.memory"), overwrite("domain.memory.guest", written=canonical)),
    Field("memory.hugepages", overwrite("domain.memory.hugepages")),
    Field("ioThreadsPolicy", *claim("domain.ioThreadsPolicy")),
    Field("launchSecurity", *claim("domain.launchSecurity")),
    Field("gpus", *claim("domain.devices.gpus")),
    Field("hostDevices", *claim("domain.devices.hostDevices")),
)

# The form of 0.47 to 0.53: the CPU of a domain, and nothing more.
FLAVOR_CPU = (Field("cpu", *claim("domain.cpu")),)

TABLES = {"flavor": FLAVOR, "flavor-cpu": FLAVOR_CPU}
