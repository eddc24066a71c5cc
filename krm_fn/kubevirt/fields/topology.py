"""The layout of an instancetype's vCPUs as sockets, cores and threads."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_map, copy, drop, get, is_nonzero
from krm_fn.base.value import Value
from krm_fn.kubevirt.fields.verbs import Application, reach
from krm_fn.kubevirt.releases import Release, Version

CPU = ("domain", "cpu")
DEFAULT_TOPOLOGY = "sockets"
DEFAULT_RATIO = 2
THREADS_PER_CORE = 2
UINT32 = 2**32

# The fields of a preference that decide the layout.
WISHES: tuple[Path, ...] = (
    ("cpu", "preferredCPUTopology"),
    ("cpu", "spreadOptions", "across"),
    ("cpu", "spreadOptions", "ratio"),
    ("preferSpreadSocketToCoreRatio",),
)

# The deprecated names that v1beta1 still accepts for the topologies.
DEPRECATED = {
    "preferSockets": "sockets",
    "preferCores": "cores",
    "preferThreads": "threads",
    "preferSpread": "spread",
    "preferAny": "any",
}

# The field that gets all vCPUs.
COUNT_IN = {"sockets": "sockets", "cores": "cores", "threads": "threads", "any": "sockets"}

TOPOLOGIES = frozenset((*COUNT_IN, "spread"))

# The release since which both spellings of a topology have their effect. Others before it: (since, until), the names.
NAMED_SINCE: Version = (1, 4)
EARLIER_NAMES: tuple[tuple[Version, Version, frozenset[str]], ...] = (
    ((), (1, 1), frozenset(("preferSockets", "preferCores", "preferThreads"))),
    ((1, 1), NAMED_SINCE, frozenset(DEPRECATED)),
)
# What a preference is in a release that does not know its topology: all vCPUs but one are lost.
UNKNOWN = ""
# The release since which a preference says what to spread across. Before it, only the other field for the ratio is read.
OPTIONS_SINCE: Version = (1, 3)
# The release since which a single vCPU is never spread.
SINGLE_SINCE: Version = (1, 3)


class Across(Value):
    """One way to spread: the product of `fields` counts; the ratio and the rest apply to `counted`."""

    fields: tuple[str, ...]
    ratio: str
    rest: str
    threads: int = 1


SPREAD_ACROSS = {
    "SocketsCores": Across(fields=("sockets", "cores"), ratio="cores", rest="sockets"),
    "CoresThreads": Across(fields=("cores", "threads"), ratio="threads", rest="cores"),
    "SocketsCoresThreads": Across(
        fields=("sockets", "cores", "threads"), ratio="cores", rest="sockets", threads=THREADS_PER_CORE
    ),
}
DEFAULT_ACROSS = "SocketsCores"


def named_topology(preference: Object | None) -> str:
    """The topology as the preference names it; "" if it names none."""
    named = get(preference, ("cpu", "preferredCPUTopology"))
    return named if isinstance(named, str) else ""


def preferred_topology(preference: Object | None, release: Release) -> str:
    """The topology's name in its present spelling; any other word does not change. `UNKNOWN` if the release ignores the name.

    upstream: pkg/instancetype/preference/apply/cpu.go:GetPreferredTopology
    """
    named = get(preference, ("cpu", "preferredCPUTopology"))
    if not isinstance(named, str):
        return DEFAULT_TOPOLOGY
    if not release.within(since=NAMED_SINCE) and named not in names_of(release):
        return UNKNOWN
    return DEPRECATED.get(named, named)


def ignored_topology(instancetype: Object | None, preference: Object | None, release: Release) -> str:
    """The topology that the release does not know, so that all vCPUs of the instancetype but one are lost; "" if none is."""
    if release.within(since=NAMED_SINCE) or whole_number(get(instancetype, ("cpu", "guest"))) < 2:
        return ""
    named = named_topology(preference)
    return "" if named in names_of(release) else named


def names_of(release: Release) -> frozenset[str]:
    """The names of topologies that have an effect in the release."""
    earlier = (names for since, until, names in EARLIER_NAMES if release.within(since=since, until=until))
    return next(earlier, TOPOLOGIES.union(DEPRECATED))


def spread_options(preference: Object | None, release: Release) -> tuple[int, str]:
    """The ratio, and what to spread across.

    upstream: pkg/instancetype/preference/apply/cpu.go:GetSpreadOptions, which divides by a ratio of zero; here it is unset
    """
    options = as_map(get(preference, ("cpu", "spreadOptions"))) if release.within(since=OPTIONS_SINCE) else {}
    ratios = options.get("ratio"), as_map(preference).get("preferSpreadSocketToCoreRatio")
    ratio = next((whole_number(ratio) for ratio in ratios if whole_number(ratio)), DEFAULT_RATIO)
    across = options.get("across")
    return ratio, across if isinstance(across, str) else DEFAULT_ACROSS


def whole_number(value: object) -> int:
    """The value if it is a whole number from 0 on, otherwise 0. The API server reads 2.0 and 2e0 as 2."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and value > 0 else 0


def lay_out(application: Application, value: Any, source: Path) -> None:
    """Write the vCPUs into domain.cpu.

    upstream: pkg/instancetype/apply/cpu.go:applyGuestCPUTopology
    """
    cpu = reach(application.spec, CPU)
    layout = laid_out(whole_number(value), application.preference, application.release)
    for field, count in layout.items():
        if count:
            cpu[field] = count
        else:
            cpu.pop(field, None)  # Go does not write a plain zero
    if application.trace:
        others = [(path, _without(application, path, whole_number(value))) for path in WISHES]
        for field, count in ((field, count) for field, count in layout.items() if count):
            deciding = (("preference", ("spec", *path)) for path, other in others if other[field] != count)
            application.trace.note((*CPU, field), source, count, beside=tuple(deciding))


def _without(application: Application, path: Path, vcpus: int) -> dict[str, int]:
    """The layout without a field of the preference."""
    preference = copy(application.preference)
    drop(preference, path)
    return laid_out(vcpus, preference, application.release)


def laid_out(vcpus: int, preference: Object | None, release: Release) -> dict[str, int]:
    """Sockets, cores and threads for a number of vCPUs; 1, 1, 1 for an unknown topology."""
    layout = {"sockets": 1, "cores": 1, "threads": 1}
    topology = preferred_topology(preference, release)
    if vcpus == 1 and (topology != "spread" or release.within(since=SINGLE_SINCE)):
        return layout
    if topology in COUNT_IN:
        return {**layout, COUNT_IN[topology]: vcpus}
    ratio, named = spread_options(preference, release)
    across = SPREAD_ACROSS.get(named)
    if topology != "spread" or across is None:
        return layout
    return {**layout, "threads": across.threads, across.ratio: ratio, across.rest: vcpus // across.threads // ratio}


def counts(cpu: Object) -> dict[str, int]:
    """Sockets, cores and threads as domain.cpu sets them, 0 if it does not."""
    return {field: whole_number(cpu.get(field)) for field in ("sockets", "cores", "threads")}


def states_topology(cpu: Object) -> bool:
    """True if domain.cpu sets any of the three."""
    return any(is_nonzero(cpu.get(field)) for field in ("sockets", "cores", "threads"))
