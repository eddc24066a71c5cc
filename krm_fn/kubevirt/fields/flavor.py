"""The effect of each field of a flavor, the form of instancetypes in KubeVirt 0.47 to 0.55.

A VM must not set the parts of the domain that its flavor sets. Requests and limits never conflict with a flavor.

upstream: pkg/flavor/flavor.go:ApplyToVmi until 0.56
"""

from __future__ import annotations

from krm_fn.base.paths import is_nonzero
from krm_fn.base.quantity import canonical
from krm_fn.kubevirt.fields.topology import lay_out
from krm_fn.kubevirt.fields.verbs import Field, claim, forbid, overwrite

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
