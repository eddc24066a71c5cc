"""The sections of a domain that presets set. Other parts of a preset's domain have no effect in any release of KubeVirt.

upstream: pkg/virt-api/webhooks/mutating-webhook/mutators/preset.go:mergeDomainSpec
"""

from __future__ import annotations

from krm_fn.base.paths import Path
from krm_fn.base.value import Value
from krm_fn.kubevirt.releases import Release, Version


class PresetSection(Value):
    """One row: a part of the domain that is copied completely if the instance does not have it.

    `path` is its place below `spec.domain`, `upstream` the place in KubeVirt's messages. `only` restricts a map to these keys.
    `amounts` marks a map of quantities, which is compared key by key; `scalar` a plain string. `zero` lists Go's plain scalars
    below it, for which zero and false mean unset; `always` lists the empty structures that Go writes with it.
    """

    path: Path
    upstream: str
    only: tuple[str, ...] = ()
    amounts: bool = False
    scalar: bool = False
    zero: tuple[Path, ...] = ()
    always: tuple[str, ...] = ()
    since: Version = ()
    until: Version = ()


# In KubeVirt's order: the clock's timer follows the offset, which creates the clock.
SECTIONS = (
    PresetSection(path=("resources", "requests"), upstream="spec.resources.requests", amounts=True),
    PresetSection(
        path=("cpu",),
        upstream="spec.cpu",
        zero=(
            ("cores",),
            ("sockets",),
            ("threads",),
            ("maxSockets",),
            ("dedicatedCpuPlacement",),
            ("isolateEmulatorThread",),
        ),
    ),
    PresetSection(path=("firmware",), upstream="spec.firmware"),
    PresetSection(path=("clock",), upstream="spec.clock.clockoffset", only=("utc", "timezone")),
    PresetSection(path=("clock", "timer"), upstream="spec.clock.timer"),
    PresetSection(
        path=("features",),
        upstream="spec.features",
        zero=(("apic", "endOfInterrupt"), ("kvm", "hidden")),
        always=("acpi",),
    ),
    PresetSection(path=("devices", "watchdog"), upstream="spec.devices.watchdog"),
    PresetSection(path=("ioThreadsPolicy",), upstream="spec.ioThreadsPolicy", scalar=True, since=(0, 9)),
)


_sections: dict[tuple[int, int, int], tuple[PresetSection, ...]] = {}


def sections(release: Release) -> tuple[PresetSection, ...]:
    """The rows for a release, in order."""
    if release.version not in _sections:
        _sections[release.version] = tuple(row for row in SECTIONS if release.within(since=row.since, until=row.until))
    return _sections[release.version]
