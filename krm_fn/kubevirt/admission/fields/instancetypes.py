"""Instancetypes and preferences: the refusals and warnings of their own webhooks."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import Path, as_map, get
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.checks import Check, Group, bounded, examine, number
from krm_fn.kubevirt.admission.scope import Cause, Scope
from krm_fn.kubevirt.releases import Version

INSTANCETYPES = "pkg/instancetype/webhooks/admitter.go:"
PREFERENCES = "pkg/instancetype/preference/webhooks/admitter.go:"

TOPOLOGIES = ("sockets", "cores", "threads", "spread", "any")
DEPRECATED_TOPOLOGIES = {"prefer" + word.capitalize(): word for word in TOPOLOGIES}
SPREAD = ("preferSpread", "spread")
SPREAD_NAMES_SINCE: Version = (1, 4)
SPREADS = ("SocketsCores", "CoresThreads", "SocketsCoresThreads")
THREADS_A_CORE = 2

INSTANCETYPE_GROUPS = (
    Group(
        at=("memory",),
        checks=(
            bounded(("overcommitPercent",), low=0, high=100, upstream=INSTANCETYPES + "validateMemoryOvercommitPercentSetting"),
            Check(
                at=("overcommitPercent",),
                refuses=lambda value, memory, _scope: number(value) != 0 and memory.get("hugepages") is not None,
                message="overcommitPercent and hugepages exclude each other; keep one of them",
                upstream=INSTANCETYPES + "validateMemoryOvercommitPercentNoHugepages",
            ),
        ),
    ),
)

PREFERENCE_GROUPS = (
    Group(
        at=("cpu",),
        checks=(
            Check(
                at=("preferredCPUTopology",),
                refuses=lambda value, _cpu, _scope: value not in (*TOPOLOGIES, *DEPRECATED_TOPOLOGIES),
                message="preferredCPUTopology {value} is not supported; use sockets, cores, threads, spread or any",
                since=(1, 4),
                upstream=PREFERENCES + "validatePreferredCPUTopology",
            ),
        ),
    ),
)


@examine("cpu", "preferredCPUTopology", upstream=PREFERENCES + "validateSpreadOptions", since=(1, 3))
def spread_options(scope: Scope) -> Iterator[Cause]:
    """The options for spreading vCPUs: only over known parts, and over threads only by two."""
    spec, options = scope.spec, as_map(get(scope.spec, ("cpu", "spreadOptions")))
    names = SPREAD if scope.release.within(since=SPREAD_NAMES_SINCE) else SPREAD[:1]
    if get(spec, ("cpu", "preferredCPUTopology")) not in names:
        return
    across = options.get("across") if options.get("across") is not None else SPREADS[0]
    own, general = options.get("ratio"), number(spec.get("preferSpreadSocketToCoreRatio"))
    ratio = number(own) if own is not None else general or THREADS_A_CORE
    at: Path = ("cpu", "spreadOptions")
    if across not in SPREADS:
        yield scope.cause((*at, "across"), f"across {show(across)} is not supported; use one of {', '.join(SPREADS)}")
    elif across == "CoresThreads" and ratio != THREADS_A_CORE:
        yield scope.cause((*at, "ratio"), f"ratio {ratio} is not possible across cores and threads; use {THREADS_A_CORE}")


PREFERENCE_EXAMINATIONS = (spread_options,)
