"""The parts of an object by which refusals are reported: each part has its own rule."""

from __future__ import annotations

from krm_fn.base.annotations import Iterable
from krm_fn.base.paths import Path
from krm_fn.kubevirt.admission.scope import Cause
from krm_fn.kubevirt.holders import RENDERED, SERVED

# (part, path) below an instance's spec. The first row whose path matches decides, so deeper rows come first.
IN_INSTANCE: tuple[tuple[str, Path], ...] = (
    ("cpu", ("domain", "cpu")),
    ("cpu", ("domain", "ioThreads")),
    ("cpu", ("domain", "ioThreadsPolicy")),
    ("memory", ("domain", "memory")),
    ("memory", ("domain", "resources")),
    ("disk", ("domain", "devices", "disks")),
    ("disk", ("domain", "devices", "filesystems")),
    ("network", ("domain", "devices", "interfaces")),
    ("network", ("networks",)),
    ("device", ("domain", "devices")),
    ("volume", ("volumes",)),
    ("firmware", ("domain", "firmware")),
    ("firmware", ("domain", "features")),
    ("firmware", ("domain", "machine")),
    ("firmware", ("domain", "launchSecurity")),
    ("firmware", ("domain", "clock")),
    ("firmware", ("architecture",)),
    ("probe", ("livenessProbe",)),
    ("probe", ("readinessProbe",)),
    ("credential", ("accessCredentials",)),
    ("name", ("hostname",)),
    ("name", ("subdomain",)),
    ("name", ("dnsPolicy",)),
    ("name", ("dnsConfig",)),
    ("scheduling", ("affinity",)),
    ("scheduling", ("nodeSelector",)),
    ("scheduling", ("tolerations",)),
    ("scheduling", ("topologySpreadConstraints",)),
    ("scheduling", ("evictionStrategy",)),
    ("scheduling", ("startStrategy",)),
    ("scheduling", ("schedulerName",)),
)
# (part, path) below the spec of a VirtualMachine.
IN_VM: tuple[tuple[str, Path], ...] = (
    ("data-volume-template", ("dataVolumeTemplates",)),
    ("run-strategy", ("running",)),
    ("run-strategy", ("runStrategy",)),
    ("run-strategy", ("updateVolumesStrategy",)),
    ("run-strategy", ("liveUpdateFeatures",)),
)
# The places of an instance's spec, and of a VM's, in objects; the longest first.
INSTANCES = tuple(sorted({holder.instance for holder in SERVED.values()}, key=len, reverse=True))
VMS = tuple(sorted({holder.in_vm(("spec",)) for holder in RENDERED}, key=len, reverse=True))
OTHER = "object"


def by_part(causes: Iterable[Cause]) -> dict[str, list[Cause]]:
    """The causes by the part of the object that they are in, in their order."""
    parts: dict[str, list[Cause]] = {}
    for cause in causes:
        parts.setdefault(part_of(cause.path), []).append(cause)
    return parts


def part_of(path: Path) -> str:
    """The part of an object that contains a path; `object` if no row has it."""
    if "metadata" in path[:-1]:
        return "label"
    for bases, rows in ((INSTANCES, IN_INSTANCE), (VMS, IN_VM)):
        for base in bases:
            inner = path[len(base) :] if path[: len(base)] == base else None
            for part, place in rows if inner else ():
                if inner and inner[: len(place)] == place:
                    return part
    return OTHER
