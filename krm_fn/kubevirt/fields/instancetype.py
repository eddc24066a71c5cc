"""The effect of each field of a VirtualMachineInstancetypeSpec.

upstream: pkg/instancetype/apply/cpu.go:applyCPU, memory.go:applyMemory, nodeselector.go:applyNodeSelector,
scheduler.go:applySchedulerName, iothreads.go:applyIOThreads, iothreadpolicy.go:applyIOThreadPolicy,
launchsecurity.go:applyLaunchSecurity, gpu.go:applyGPUs, hostdevices.go:applyHostDevices
"""

from __future__ import annotations

from krm_fn.base.paths import copy, is_nonzero
from krm_fn.kubevirt.fields.devices import as_claiming_devices, as_plain_devices
from krm_fn.kubevirt.fields.memory import overcommit
from krm_fn.kubevirt.fields.others import claim_annotations
from krm_fn.kubevirt.fields.topology import lay_out
from krm_fn.kubevirt.fields.verbs import Field, as_quantity, claim, filled, forbid, given, overwrite

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
