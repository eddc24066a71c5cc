"""All units of a run, judged by several processes. What comes of them does not depend on their number.

Each unit is judged by itself first. A unit that lacks what other units of its cluster have is then judged again, with what they
offer. Until then what was built of it waits in a scratch folder.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from krm_fn.base import programs
from krm_fn.repositories import keys, sharing
from krm_fn.repositories.judging import UnitResult, judge
from krm_fn.repositories.keys import Keys
from krm_fn.repositories.pools import mapped
from krm_fn.repositories.sharing import Offered, Reach

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from krm_fn.findings.finding import Finding
    from krm_fn.repositories.cache import Cache
    from krm_fn.repositories.distributing import Workers
    from krm_fn.repositories.judging import Options, Unit
    from krm_fn.repositories.sharing import Offer
    from krm_fn.sources.reading import Watch

    Numbered = tuple[int, Unit]

FILES = "the files that no kustomization uses"
# What the units of each cluster offer, in a process that judges again; it does not change.
_offered: Mapping[str, Offered] = {}


def judge_all(
    units: Sequence[Unit],
    options: Options,
    *,
    jobs: int,
    watch: Watch,
    cache: Cache | None = None,
    workers: Workers | None = None,
) -> list[UnitResult]:
    """What comes of each unit, in order; what the cache has is not done again, and it gets the rest.

    `workers` are other machines that judge, None where there are none.

    Raises: what `judge` raises for the first unit that it raises for; InputError for a unit whose process dies.
    """
    with programs.scratch() as scratch, closing(cache) if cache else nullcontext():
        run = _Run(units, options.but(spool=scratch, runs=sharing.runs(units)), jobs, cache, workers)
        found = list(watch("Judging", run.first(), len(units)))
        offered = offers_of(units, found)
        again = [number for number, unit in enumerate(units) if is_offered(found[number], offered.get(unit.settings.cluster))]
        for number, result in zip(again, watch("Judging", run.second(again, offered), len(again)), strict=True):
            found[number] = result
    used = used_by_others(units, found)
    return [without_used(result, used[unit.settings.cluster]).but(offers=()) for unit, result in zip(units, found, strict=True)]


class _Run:
    """The units of a run, what judges them, and what the cache has of them."""

    def __init__(
        self, units: Sequence[Unit], options: Options, jobs: int, cache: Cache | None, workers: Workers | None
    ) -> None:
        self._units, self._jobs, self._cache, self._is_listed = units, jobs, cache, options.listed
        self._workers = workers
        if cache and cache.is_on:  # a later run may want another format
            options = options.but(listed=True, quoted=True, kept=True)
        self._options = options
        self._keys = Keys(options) if options.kept else None
        self._key = [self._keys.of(unit) if self._keys else None for unit in units]

    def first(self) -> Iterator[UnitResult]:
        """Each unit, judged by itself."""
        known = {number: result for number, key in enumerate(self._key) if (result := self._result(key))}
        return self._all(range(len(self._units)), known, _result, self._keep_first)

    def second(self, numbers: Sequence[int], offered: Mapping[str, Offered]) -> Iterator[UnitResult]:
        """Some units, judged with what others offer."""
        known = {}
        for number in numbers:
            reach = self._kept(self._reach_key(number))
            if isinstance(reach, Reach) and (result := self._result(self._second_key(number, reach, offered))):
                known[number] = result
        return self._all(numbers, known, _second_result, partial(self._keep_second, offered=offered), offered)

    def _all(
        self,
        numbers: Iterable[int],
        known: Mapping[int, UnitResult],
        work: Callable[..., UnitResult],
        keep: Callable[[int, UnitResult], None],
        offered: Mapping[str, Offered] | None = None,
    ) -> Iterator[UnitResult]:
        """What is known of units, and what the work gives for the others, in order."""
        new = [(number, self._units[number]) for number in numbers if number not in known]
        done = self._done(partial(work, options=self._options), new, offered)
        for number in numbers:
            if number in known:
                yield known[number]
                continue
            result = _small(next(done))
            keep(number, result)
            yield result.but(reach=None) if self._is_listed else result.but(reach=None, subjects=())
        next(done, None)  # its processes end

    def _done(
        self, work: Callable[[Numbered], UnitResult], new: Sequence[Numbered], offered: Mapping[str, Offered] | None
    ) -> Iterator[UnitResult]:
        """What the work gives for units, in order: here, or on other machines."""
        if not self._workers:
            return mapped(work, new, self._jobs, named=name, start=_take, given=(offered or {},))
        return self._workers.mapped(work, new, options=self._options, jobs=self._jobs, named=name, start=_take, offered=offered)

    def _result(self, key: bytes | None) -> UnitResult | None:
        """A unit as it is kept, with its objects where they are wanted."""
        result = self._kept(key)
        subjects = self._kept(keys.subjects(key)) if key and result and self._is_listed else ()
        if not isinstance(result, UnitResult) or not isinstance(subjects, tuple):
            return None
        return _small(result.but(subjects=subjects))

    def _kept(self, key: bytes | None) -> Any:
        return self._cache.get(key) if self._cache and key else None

    def _keep_first(self, number: int, result: UnitResult) -> None:
        self._keep(number, self._key[number], result)

    def _keep_second(self, number: int, result: UnitResult, offered: Mapping[str, Offered]) -> None:
        if result.reach and self._keep(number, self._second_key(number, result.reach, offered), result):
            self._put(self._reach_key(number), result.reach)

    def _keep(self, number: int, key: bytes | None, result: UnitResult) -> bool:
        """Keep what is sure to come again: why a target was not built may be gone the next time. True where it is kept."""
        if not (key and result.built and self._keys and self._keys.is_current(self._units[number])):
            return False
        self._put(key, result.but(reach=None, subjects=()))
        self._put(keys.subjects(key), result.subjects)
        return True

    def _put(self, key: bytes | None, value: object) -> None:
        if self._cache and key:
            self._cache.put(key, value)

    def _reach_key(self, number: int) -> bytes | None:
        key = self._key[number]
        return keys.reach(key) if key else None

    def _second_key(self, number: int, reach: Reach, offered: Mapping[str, Offered]) -> bytes | None:
        key, cluster = self._key[number], self._units[number].settings.cluster
        return keys.second(key, sharing.taken_by(reach, offered[cluster])) if key else None


def name(numbered: Numbered) -> str:
    """What messages call a unit."""
    return numbered[1].name or FILES


def _small(result: UnitResult) -> UnitResult:
    """The same with the texts that other units have, too: each process brings its own."""
    return result.but(files=tuple(map(sys.intern, result.files)), offers=tuple(map(_small_offer, result.offers)))


def _small_offer(offer: Offer) -> Offer:
    return offer.but(**{name: sys.intern(value) for name, value in vars(offer).items() if isinstance(value, str)})


def used_by_others(units: Sequence[Unit], found: Sequence[UnitResult]) -> dict[str, frozenset[str]]:
    """By cluster, the names of the objects that its units use and don't have."""
    names: dict[str, set[str]] = {}
    for unit, result in zip(units, found, strict=True):
        names.setdefault(unit.settings.cluster, set()).update(result.wants)
    return {cluster: frozenset(each) for cluster, each in names.items()}


def without_used(result: UnitResult, used: frozenset[str]) -> UnitResult:
    """The unit without findings about an unused object that another unit uses."""

    def is_used(finding: Finding) -> bool:
        return finding.rule in sharing.UNUSED and finding.ref is not None and finding.ref.name in used

    return result.but(findings=tuple(finding for finding in result.findings if not is_used(finding)))


def _result(numbered: Numbered, options: Options) -> UnitResult:
    number, unit = numbered
    return judge(unit, options.but(spool=os.path.join(options.spool, str(number))))  # noqa: PTH118


def _second_result(numbered: Numbered, options: Options) -> UnitResult:
    number, unit = numbered
    options = options.but(spool=os.path.join(options.spool, str(number)))  # noqa: PTH118
    return judge(unit, options, _offered[unit.settings.cluster])


def offers_of(units: Sequence[Unit], found: Sequence[UnitResult]) -> dict[str, Offered]:
    """What the units of each cluster offer."""
    return offers_of_all((unit.settings.cluster, result.offers) for unit, result in zip(units, found, strict=True))


def offers_of_all(offers: Iterable[tuple[str, Iterable[Offer]]]) -> dict[str, Offered]:
    """What is offered in each cluster, by the name of the cluster."""
    by_cluster: dict[str, list[Offer]] = {}
    for cluster, found in offers:
        by_cluster.setdefault(cluster, []).extend(found)
    return {cluster: Offered(found) for cluster, found in by_cluster.items() if found}


def is_offered(result: UnitResult, offered: Offered | None) -> bool:
    """True for a unit that lacks something of what is offered."""
    return offered is not None and not offered.names.isdisjoint(result.wants)


def _take(offered: Mapping[str, Offered]) -> None:
    global _offered  # noqa: PLW0603  a pool starts its processes with it
    _offered = offered
