"""Which rule tells of a refusal: the one whose part of the object the refusal's path is in."""

from __future__ import annotations

from krm_fn.limits import COUNTED, MOST, counted
from krm_fn.rules import Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.admission import Cause
    from krm_fn.facts import AdmissionFacts
    from krm_fn.paths import Path

# (rule, path): below an instance's spec. The first row that the path starts with decides; deeper rows stand first.
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
# The same below the spec of a VirtualMachine.
IN_VM: tuple[tuple[str, Path], ...] = (
    ("data-volume-template", ("dataVolumeTemplates",)),
    ("run-strategy", ("running",)),
    ("run-strategy", ("runStrategy",)),
    ("run-strategy", ("updateVolumesStrategy",)),
)
# Where an instance's spec, and a VM's, may stand in an object; the longest first.
INSTANCES: tuple[Path, ...] = (
    ("spec", "virtualMachineTemplate", "spec", "template", "spec"),
    ("spec", "template", "spec"),
    ("spec",),
)
VMS: tuple[Path, ...] = (("spec", "virtualMachineTemplate", "spec"), ("spec",))
OTHER = "object"
KEPT = "parts"


def hits(facts: AdmissionFacts, part: str) -> Iterator[Hit]:
    """A hit for each cause whose path is in that part of the object, but no more than are told of one rule."""
    causes = _parts(facts).get(part, ())
    more = max(len(causes) - MOST, 0) + sum(cause.more for cause in causes)
    at_least = any(cause.more >= COUNTED - MOST for cause in causes)
    for number, cause in enumerate(causes[:MOST], 1):
        last = number in (MOST, len(causes))
        yield Hit(
            message=counted(cause.message, more if last else 0, at_least=at_least),
            path=cause.path,
            current=cause.current,
            upstream="admission",
            upstream_path=cause.upstream_path,
        )


def _parts(facts: AdmissionFacts) -> dict[str, list[Cause]]:
    """The causes by the part of the object they are in; kept with the facts, since each rule asks for its own."""
    kept: dict[str, dict[str, list[Cause]]] = vars(facts)
    if KEPT not in kept:
        parts = kept[KEPT] = {}
        for cause in facts.causes:
            parts.setdefault(part_of(cause.path), []).append(cause)
    return kept[KEPT]


def part_of(path: Path) -> str:
    """The part of an object that a path is in; `object` for what no row names."""
    if "metadata" in path[:-1]:
        return "label"
    for bases, rows in ((INSTANCES, IN_INSTANCE), (VMS, IN_VM)):
        for base in bases:
            inner = path[len(base) :] if path[: len(base)] == base else None
            for part, place in rows if inner else ():
                if inner and inner[: len(place)] == place:
                    return part
    return OTHER
