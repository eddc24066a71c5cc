"""The requirements of a preference. KubeVirt's admission checks them, its expander does not.

The kinds of `Unmet`: `vcpus`, `memory` and `architecture` are requirements; `spread` is a topology that does not divide the
instancetype's vCPUs, with `ratio` and `across` in its detail. For `vcpus`, `counted` names the fields that count.
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_map, get, is_set
from krm_fn.base.quantity import Quantity, canonical, parse
from krm_fn.base.value import Value
from krm_fn.kubevirt.facts import Unmet
from krm_fn.kubevirt.fields.topology import (
    COUNT_IN,
    CPU,
    OPTIONS_SINCE,
    SPREAD_ACROSS,
    TOPOLOGIES,
    UINT32,
    counts,
    preferred_topology,
    spread_options,
    whole_number,
)
from krm_fn.kubevirt.holders import INSTANCE_SPEC
from krm_fn.kubevirt.releases import Release, Version

MATCHER = ("spec", "instancetype")
RATIO = ("spec", "preferSpreadSocketToCoreRatio")
REQUIREMENTS = ("spec", "requirements")
# Before this release KubeVirt names the fields of a spread topology as "cores, sockets".
SPREAD_IN_ORDER_SINCE: Version = (1, 3)


class Requirement(Value):
    """One requirement: its place in a preference, its check, and the releases that know it.

    `check` gets the instancetype (or None), the preference, the rendered VMI spec and the release.
    """

    source: Path
    check: Callable[[Object | None, Object, Object, Release], Unmet | None]
    since: Version = ()


def unmet_requirements(spec: Object, *, instancetype: Object | None, preference: Object, release: Release) -> tuple[Unmet, ...]:
    """The requirements that a rendered VMI spec with defaults does not meet.

    upstream: pkg/instancetype/preference/requirements/checker.go:Check, which stops at the first
    """
    stated = get(preference, ("requirements",))
    if not isinstance(stated, dict):
        return ()
    checked = (
        row.check(instancetype, preference, spec, release)
        for row in REQUIRED
        if release.within(since=row.since) and get(preference, row.source[1:]) is not None
    )
    return tuple(found for found in checked if found)


def indivisible_vcpus(instancetype: Object | None, preference: Object | None, release: Release) -> tuple[Unmet, ...]:
    """The spread topology that does not divide the instancetype's vCPUs, or nothing.

    upstream: pkg/instancetype/preference/validation/cpu.go:CheckSpreadCPUTopology
    """
    if instancetype is None or preferred_topology(preference, release) != "spread":
        return ()
    ratio, named = spread_options(preference, release)
    across = SPREAD_ACROSS.get(named)
    vcpus = whole_number(get(instancetype, ("cpu", "guest")))
    if across is None or vcpus % (ratio * across.threads) == 0:
        return ()
    unmet = Unmet(
        kind="spread",
        path=MATCHER,
        required=ratio * across.threads,
        actual=vcpus,
        source_path=("spec", "cpu", "spreadOptions") if release.within(since=OPTIONS_SINCE) else RATIO,
        upstream_path="instancetype.spec.cpu.guest",
        detail=(("ratio", ratio), ("across", named)),
    )
    return (unmet,)


def _vcpus(instancetype: Object | None, preference: Object, spec: Object, release: Release) -> Unmet | None:
    """upstream: pkg/instancetype/preference/requirements/cpu.go:checkCPU"""
    required = whole_number(get(preference, ("requirements", "cpu", "guest")))
    wanted: tuple[str, ...] = ()  # what counts once it is set
    if instancetype is not None:
        fields: tuple[str, ...] = ()
        actual = whole_number(get(instancetype, ("cpu", "guest")))
    elif get(spec, CPU) is None:  # only in 1.0.0, which judges the VM without its defaults
        fields, actual = (), 0
        wanted = _counted(preference, release) if preferred_topology(preference, release) in TOPOLOGIES else ("sockets",)
    elif preferred_topology(preference, release) not in TOPOLOGIES:
        return None  # upstream counts nothing here
    else:
        fields = _counted(preference, release)
        actual = _product(counts(as_map(get(spec, CPU))), fields)
    if actual >= required:
        return None
    cpu = (*INSTANCE_SPEC, *CPU)
    return Unmet(
        kind="vcpus",
        path=MATCHER if instancetype is not None else (*cpu, *fields) if len(fields) == 1 else cpu,
        required=required,
        actual=actual,
        source_path=(*REQUIREMENTS, "cpu", "guest"),
        upstream_path=", ".join(".".join((*cpu, field)) for field in fields) if len(fields) > 1 else "",
        detail=(("counted", fields or wanted),),
    )


def _counted(preference: Object, release: Release) -> tuple[str, ...]:
    """The fields of domain.cpu whose product counts for a VM without instancetype, in KubeVirt's order."""
    topology = preferred_topology(preference, release)
    if topology == "any":
        return "cores", "sockets", "threads"
    if topology == "spread":
        across = SPREAD_ACROSS.get(spread_options(preference, release)[1])
        fields = across.fields if across else ()
        return fields if release.within(since=SPREAD_IN_ORDER_SINCE) else fields[::-1]
    return (COUNT_IN[topology],)


def _product(sizes: dict[str, int], fields: tuple[str, ...]) -> int:
    """The product in upstream's 32-bit integers; 0 for no fields."""
    total = 1 if fields else 0
    for field in fields:
        total = total * sizes[field] % UINT32
    return total


def _memory(instancetype: Object | None, preference: Object, spec: Object, _: Release) -> Unmet | None:
    """upstream: pkg/instancetype/preference/requirements/memory.go:checkMemory"""
    required = get(preference, ("requirements", "memory", "guest"))
    if instancetype is None and get(spec, ("domain", "memory")) is None:
        return None  # upstream compares nothing; since 1.3 a default always creates the block
    own = get(spec, ("domain", "memory", "guest"))
    actual = own if is_set(own) else get(instancetype, ("memory", "guest"))
    needed, given = parse(required), parse(actual) or Quantity(nanos=0)
    if needed is None or given.nanos >= needed.nanos:
        return None
    return Unmet(
        kind="memory",
        path=MATCHER if instancetype is not None else (*INSTANCE_SPEC, "domain", "memory"),
        required=canonical(required),
        actual=str(given),
        source_path=(*REQUIREMENTS, "memory", "guest"),
    )


def _architecture(_: Object | None, preference: Object, spec: Object, __: Release) -> Unmet | None:
    """upstream: pkg/instancetype/preference/requirements/arch.go:checkArch"""
    required = get(preference, ("requirements", "architecture"))
    actual = spec.get("architecture")
    if actual == required:
        return None
    return Unmet(
        kind="architecture",
        path=(*INSTANCE_SPEC, "architecture"),
        required=required,
        actual=actual,
        source_path=(*REQUIREMENTS, "architecture"),
    )


REQUIRED = (
    Requirement(source=(*REQUIREMENTS, "cpu", "guest"), check=_vcpus),
    Requirement(source=(*REQUIREMENTS, "memory", "guest"), check=_memory),
    Requirement(source=(*REQUIREMENTS, "architecture"), check=_architecture, since=(1, 7)),
)
