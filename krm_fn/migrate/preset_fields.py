"""The fields of presets, and what they become in an instancetype or a preference.

A preset's firmware is skipped. It never reaches the instance of a VM, which has a firmware before presets are applied.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_map, copy, get, put
from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.fields.preset import sections
from krm_fn.kubevirt.fields.topology import counts
from krm_fn.kubevirt.presets.domain import offered
from krm_fn.kubevirt.releases import Release

Misfit = tuple[str, Path, Any]


class Becomes(Value):
    """A field of a domain, and its place in the spec of an instancetype or a preference (`to`)."""

    field: Path
    to: str
    place: Path


FIELDS = (
    Becomes(field=("resources", "requests", "memory"), to="instancetype", place=("memory", "guest")),
    Becomes(field=("cpu", "model"), to="instancetype", place=("cpu", "model")),
    Becomes(field=("cpu", "dedicatedCpuPlacement"), to="instancetype", place=("cpu", "dedicatedCPUPlacement")),
    Becomes(field=("cpu", "isolateEmulatorThread"), to="instancetype", place=("cpu", "isolateEmulatorThread")),
    Becomes(field=("cpu", "numa"), to="instancetype", place=("cpu", "numa")),
    Becomes(field=("cpu", "realtime"), to="instancetype", place=("cpu", "realtime")),
    Becomes(field=("cpu", "maxSockets"), to="instancetype", place=("cpu", "maxSockets")),
    Becomes(field=("ioThreadsPolicy",), to="instancetype", place=("ioThreadsPolicy",)),
    Becomes(field=("cpu", "features"), to="preference", place=("cpu", "preferredCPUFeatures")),
    Becomes(field=("clock", "utc"), to="preference", place=("clock", "preferredClockOffset", "utc")),
    Becomes(field=("clock", "timezone"), to="preference", place=("clock", "preferredClockOffset", "timezone")),
    Becomes(field=("clock", "timer"), to="preference", place=("clock", "preferredTimer")),
    Becomes(field=("features", "acpi"), to="preference", place=("features", "preferredAcpi")),
    Becomes(field=("features", "apic"), to="preference", place=("features", "preferredApic")),
    Becomes(field=("features", "hyperv"), to="preference", place=("features", "preferredHyperv")),
    Becomes(field=("features", "kvm"), to="preference", place=("features", "preferredKvm")),
    Becomes(field=("features", "pvspinlock"), to="preference", place=("features", "preferredPvspinlock")),
    Becomes(field=("features", "smm"), to="preference", place=("features", "preferredSmm")),
)
KNOWN = {row.field: row for row in FIELDS}
TOPOLOGY = tuple(("cpu", part) for part in ("sockets", "cores", "threads"))
PASSED_OVER = (("firmware",),)
UNDIVIDED = (("clock", "timer"), ("devices", "watchdog"))


def translated(domain: Object, release: Release) -> tuple[dict[str, Object], list[Misfit]]:
    """The specs for a preset's domain, by `instancetype` and `preference`, and the misfits, which these cannot express.

    A misfit is a reason, the place in the domain, and the value there.
    """
    specs: dict[str, Object] = {}
    misfits: list[Misfit] = []
    given = _given(domain, release)
    for path, value in given:
        row = KNOWN.get(path)
        if row:
            put(specs.setdefault(row.to, {}), row.place, copy(value))
        elif path not in TOPOLOGY:
            misfits.append(("preset-field", path, value))
    if any(path in TOPOLOGY for path, _ in given):
        misfits += _lay_out(as_map(domain.get("cpu")), specs)
    instancetype = specs.get("instancetype")
    if instancetype is not None:
        if get(instancetype, ("memory", "guest")) is None:
            misfits.append(("preset-without-memory", (), UNSET))
        if get(instancetype, ("cpu", "guest")) is None:
            put(instancetype, ("cpu", "guest"), 1)  # the value of a VM that sets none
    return dict(sorted(specs.items())), misfits


def _given(domain: Object, release: Release) -> list[tuple[Path, Any]]:
    """The fields that a preset sets, two levels deep, without fields that presets never apply."""
    found: list[tuple[Path, Any]] = []
    for section in sections(release):
        value = offered(domain, section)
        if section.path in PASSED_OVER or value is UNSET:
            continue
        if isinstance(value, dict) and section.path not in UNDIVIDED:
            found += [((*section.path, key), below) for key, below in value.items() if below is not None]
        else:
            found.append((section.path, value))
    return found


def _lay_out(cpu: Object, specs: dict[str, Object]) -> list[Misfit]:
    """Write the number of vCPUs, and the topology if it is not the usual one. A layout with several kinds is a misfit."""
    layout = {part: count or 1 for part, count in counts(cpu).items()}
    several = [part for part, count in layout.items() if count > 1]
    if len(several) > 1:
        return [("preset-topology", ("cpu",), cpu)]
    put(specs.setdefault("instancetype", {}), ("cpu", "guest"), layout["sockets"] * layout["cores"] * layout["threads"])
    if several and several != ["sockets"]:
        put(specs.setdefault("preference", {}), ("cpu", "preferredCPUTopology"), several[0])
    return []
