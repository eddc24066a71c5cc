"""All units of a run, judged by several processes. What comes of them does not depend on their number.

Each unit is judged by itself first. A unit that lacks what other units of its cluster have is then judged again, with what they
offer. Until then what was built of it waits in a scratch folder.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from krm_fn.base import programs
from krm_fn.repositories.judging import Options, judge
from krm_fn.repositories.sharing import Offered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from krm_fn.findings.finding import Finding
    from krm_fn.repositories.judging import Judged, Unit
    from krm_fn.sources.reading import Watch

CHUNK = 8  # units that a process takes at once, where there are many
UNUSED = frozenset(("unused-instancetype", "unused-revision"))
# What the units of each cluster offer, in a process that judges again; it does not change.
_offered: Mapping[str, Offered] = {}


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def judge_all(units: Sequence[Unit], options: Options, *, jobs: int, watch: Watch) -> list[Judged]:
    """What comes of each unit, in order. Raises: what `judge` raises for the first unit that it raises for."""
    with programs.scratch() as scratch:
        options = options.but(spool=scratch)
        numbered = list(enumerate(units))
        found = list(watch("Judging", _mapped(partial(_judged, options=options), numbered, jobs), len(units)))
        offered = _offers(units, found)
        again = [(number, unit) for number, unit in numbered if _is_offered(found[number], offered.get(unit.settings.cluster))]
        second = _mapped(partial(_judged_again, options=options), again, jobs, offered)
        for (number, _), judged in zip(again, watch("Judging", second, len(again)), strict=True):
            found[number] = judged
    used = _used_by_others(units, found)
    return [
        _without_used(judged, used[unit.settings.cluster]).but(offers=()) for unit, judged in zip(units, found, strict=True)
    ]


def _used_by_others(units: Sequence[Unit], found: Sequence[Judged]) -> dict[str, frozenset[str]]:
    """By cluster, the names of the objects that its units use and don't have."""
    names: dict[str, set[str]] = {}
    for unit, judged in zip(units, found, strict=True):
        names.setdefault(unit.settings.cluster, set()).update(judged.wants)
    return {cluster: frozenset(each) for cluster, each in names.items()}


def _without_used(judged: Judged, used: frozenset[str]) -> Judged:
    """The unit without findings about an unused object that another unit uses."""

    def is_used(finding: Finding) -> bool:
        return finding.rule in UNUSED and finding.ref is not None and finding.ref.name in used

    return judged.but(findings=tuple(finding for finding in judged.findings if not is_used(finding)))


def _judged(numbered: tuple[int, Unit], options: Options) -> Judged:
    number, unit = numbered
    return judge(unit, options.but(spool=os.path.join(options.spool, str(number))))  # noqa: PTH118


def _judged_again(numbered: tuple[int, Unit], options: Options) -> Judged:
    number, unit = numbered
    options = options.but(spool=os.path.join(options.spool, str(number)))  # noqa: PTH118
    return judge(unit, options, _offered[unit.settings.cluster])


def _offers(units: Sequence[Unit], found: Sequence[Judged]) -> dict[str, Offered]:
    by_cluster: dict[str, list[Any]] = {}
    for unit, judged in zip(units, found, strict=True):
        by_cluster.setdefault(unit.settings.cluster, []).extend(judged.offers)
    return {cluster: Offered(offers) for cluster, offers in by_cluster.items() if offers}


def _is_offered(judged: Judged, offered: Offered | None) -> bool:
    return offered is not None and not offered.names.isdisjoint(judged.wants)


def _mapped(
    work: Callable[[tuple[int, Unit]], Judged],
    numbered: Sequence[tuple[int, Unit]],
    jobs: int,
    offered: Mapping[str, Offered] = {},
) -> Iterator[Judged]:
    """What the work gives for each unit, in order."""
    jobs = min(jobs, len(numbered))
    if jobs <= 1:
        _take(offered)
        yield from map(work, numbered)
        return
    chunk = max(1, min(CHUNK, len(numbered) // (4 * jobs)))
    with ProcessPoolExecutor(jobs, initializer=_take, initargs=(offered,)) as pool:
        yield from pool.map(work, numbered, chunksize=chunk)


def _take(offered: Mapping[str, Offered]) -> None:
    global _offered  # noqa: PLW0603  a pool starts its processes with it
    _offered = offered
