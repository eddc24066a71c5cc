"""All units of a run, loaded and worked on by several processes. What comes of them does not depend on their number.

Each unit is loaded once. When all of its cluster are there, each is worked on once, with what the others offer. A unit that is
alone in its cluster waits for nobody.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from krm_fn.findings.finding import Finding
from krm_fn.repositories import keys, loading, sharing
from krm_fn.repositories.cache import Cache
from krm_fn.repositories.judging import UnitResult, judge
from krm_fn.repositories.keys import Keys
from krm_fn.repositories.loading import Loaded, Options, Parsed, Unit, UnitPiece
from krm_fn.repositories.pools import mapped
from krm_fn.repositories.sharing import NOTHING, Offer, Offered, Taken
from krm_fn.sources.reading import Watch

if TYPE_CHECKING:
    from krm_fn.repositories.distributing import Workers
Work = Callable[[Unit, Parsed, Taken, Options], Any]


FILES = "the files that no kustomization uses"
SMALL = 128 << 10  # bytes
LONE = Loaded()  # stands for a unit that is alone in its cluster


def run(
    units: Sequence[Unit],
    options: Options,
    work: Work,
    *,
    title: str,
    jobs: int,
    watch: Watch,
    others: Sequence[Unit] = (),
    here: bool = False,
) -> list[Any]:
    """What the work gives for each unit, in order. It is a function of a module, which other processes find there.

    `title` says what is done, for those who watch. `others` are units that only offer what they have. `here`: what comes of a
    unit is large, so the work is done in this process, once all units are loaded.
    Raises: what the work raises for the first unit; InputError for a unit whose process dies.
    """
    return list(_Run(units, options, work, jobs, others, here=here).all(watch, title, watch))


def judge_all(
    units: Sequence[Unit],
    options: Options,
    *,
    jobs: int,
    watch: Watch,
    reading: Watch,
    others: Sequence[Unit] = (),
    cache: Cache | None = None,
    workers: Workers | None = None,
) -> list[UnitResult]:
    """What `judge` gives for each unit, in order; what the cache has is not done again, and it gets the rest.

    `others` are units that only offer what they have. `reading` watches the files of an only unit. `workers` are other machines
    that load and judge, None for none. Raises: as `run`.
    """
    with closing(cache) if cache else nullcontext():
        run_of_all = _Judged(units, options, jobs, others, (cache, workers))
        found = list(run_of_all.all(watch, "Judging", reading))
    used = used_by_others([*units, *others], [*found, *run_of_all.beside])
    return [without_used(result, used[unit.settings.cluster]) for unit, result in zip(units, found, strict=True)]


class _Run:
    """The units of a run, and what works on them."""

    def __init__(
        self, units: Sequence[Unit], options: Options, work: Work, jobs: int, others: Sequence[Unit] = (), *, here: bool = False
    ) -> None:
        self._units, self._every, self._here = units, [*units, *others], here
        sizes = Counter(unit.settings.cluster for unit in self._every)
        self._waiting = [number for number, unit in enumerate(self._every) if sizes[unit.settings.cluster] > 1]
        self.beside: list[Loaded] = []  # the others, once they are loaded
        self._options, self._work, self._jobs = options.but(runs=sharing.runs(units)), work, jobs

    def all(self, watch: Watch, title: str, reading: Watch) -> Iterator[Any]:
        """What comes of each unit, in order. `reading` watches the files of an only one."""
        count, waiting = len(self._units), self._waiting
        if not count:
            return
        if len(self._every) == 1:
            yield from watch(title, self.alone(self._every[0], reading), 0)
            return
        loaded = [LONE] * len(self._every)
        for number, each in zip(waiting, watch("Loading", self.loaded(), len(waiting)) if waiting else (), strict=True):
            loaded[number] = each
        self.beside = loaded[count:]
        offers = ((self._every[number].settings.cluster, loaded[number].offers) for number in waiting)
        yield from watch(title, self.worked(loaded, sharing.offered_by_cluster(offers)), count)

    def alone(self, unit: Unit, reading: Watch) -> Iterator[Any]:
        """What comes of the only unit."""
        yield self._work(unit, loading.read(unit, self._options, reading), NOTHING, self._options)

    def loaded(self) -> Iterator[Loaded]:
        """Each unit that waits for others, loaded."""
        return self._done(_loaded, [UnitPiece(number, self._every[number]) for number in self._waiting], self._options)

    def worked(self, loaded: Sequence[Loaded], offered: Mapping[str, Offered]) -> Iterator[Any]:
        """What comes of each unit."""
        pieces = [UnitPiece(number, unit, loaded[number].texts) for number, unit in enumerate(self._units)]
        if self._here:
            return (_worked(piece, self._options, offered, work=self._work) for piece in pieces)
        return self._done(partial(_worked, work=self._work), pieces, self._options, offered)

    def _done(self, work: Callable[..., Any], pieces: Sequence[UnitPiece], *given: Any) -> Iterator[Any]:
        return mapped(work, pieces, self._jobs, named=name, given=given)


def _is_large(units: Iterable[Unit]) -> bool:
    """False where the units are judged in less time than the keys of a cache are made."""
    size = 0
    for unit in units:
        size += sum(os.path.getsize(file) for file in unit.inputs if os.path.exists(file))  # noqa: PTH110, PTH202
        if unit.target or size > SMALL:
            return True
    return False


class _Judged(_Run):
    """The units of a run, judged: with what a cache has of them, and by workers on other machines."""

    def __init__(
        self,
        units: Sequence[Unit],
        options: Options,
        jobs: int,
        others: Sequence[Unit],
        by: tuple[Cache | None, Workers | None],
    ) -> None:
        (self._cache, self._workers), self._is_listed = by, options.listed
        cache = self._cache
        super().__init__(units, options, judge, jobs, others)
        whole = self._options.but(listed=True, quoted=True)  # a later run may want another format
        self._keys = Keys(whole) if cache and _is_large(self._every) and cache.is_on else None
        self._key = [self._keys.of(unit) if self._keys else None for unit in self._every]
        if any(self._key):
            self._options = whole

    def alone(self, unit: Unit, reading: Watch) -> Iterator[UnitResult]:
        second = keys.second(key, NOTHING) if (key := self._key[0]) else b""
        result = self._result(second)
        if result is None:
            result = next(super().alone(unit, reading))
            self._keep(0, second, result)
        yield self._shown(result)

    def loaded(self) -> Iterator[Loaded]:
        kept = ((number, self._kept(self._key[number] or b"")) for number in self._waiting)
        known = {number: _small_load(found) for number, found in kept if isinstance(found, Loaded)}
        new = [UnitPiece(number, self._every[number]) for number in self._waiting if number not in known]
        done = self._done(partial(_loaded, reach=self._keys is not None), new, self._options)
        for number in self._waiting:
            key, found = self._key[number], known.get(number)
            if not found:
                found = _small_load(next(done))
                if key and self._is_current(self._every[number], found):
                    self._put(key, found.but(texts=b""))
            yield found.but(reach=None) if found.reach else found
        next(done, None)  # its processes end

    def worked(self, loaded: Sequence[Loaded], offered: Mapping[str, Offered]) -> Iterator[UnitResult]:
        own = enumerate(loaded[: len(self._units)])
        kept = ((number, self._kept_result(number, offered, lone=each is LONE)) for number, each in own if not each.texts)
        known = {number: result for number, result in kept if result}
        new = [
            UnitPiece(number, unit, loaded[number].texts, self._key[number] or b"")
            for number, unit in enumerate(self._units)
            if number not in known
        ]
        done = self._done(_judged, new, self._options, offered)
        for number in range(len(self._units)):
            if number in known:
                yield self._shown(known[number])
                continue
            result, second = next(done)
            result = _small_result(result)
            self._keep(number, second, result)
            yield self._shown(result)
        next(done, None)

    def _done(self, work: Callable[..., Any], pieces: Sequence[UnitPiece], *given: Any) -> Iterator[Any]:
        if not self._workers:
            return super()._done(work, pieces, *given)
        return self._workers.mapped(work, pieces, given, jobs=self._jobs, named=name)

    def _kept_result(self, number: int, offered: Mapping[str, Offered], *, lone: bool) -> UnitResult | None:
        """A unit that was not loaded in this run, as it was judged with the same things of others."""
        key = self._key[number]
        if lone:
            return self._result(keys.second(key, NOTHING) if key else b"")
        found = self._kept(key or b"")
        if not (key and isinstance(found, Loaded) and found.reach):
            return None
        of_cluster = offered.get(self._units[number].settings.cluster)
        return self._result(keys.second(key, sharing.taken_by(found.reach, of_cluster) if of_cluster else NOTHING))

    def _shown(self, result: UnitResult) -> UnitResult:
        return result.but(subjects=()) if result.subjects and not self._is_listed else result

    def _result(self, key: bytes) -> UnitResult | None:
        """A unit as it is kept, with its objects where they are wanted."""
        result = self._kept(key)
        subjects = self._kept(keys.subjects(key)) if result and self._is_listed else ()
        if not isinstance(result, UnitResult) or not isinstance(subjects, tuple):
            return None
        return _small_result(result.but(subjects=subjects))

    def _kept(self, key: bytes) -> Any:
        return self._cache.get(key) if self._cache and key else None

    def _keep(self, number: int, key: bytes, result: UnitResult) -> None:
        """Keep what is sure to come again: why a target was not built may be gone the next time."""
        if key and self._is_current(self._units[number], result):
            self._put(key, result.but(subjects=()))
            self._put(keys.subjects(key), result.subjects)

    def _is_current(self, unit: Unit, found: Loaded | UnitResult) -> bool:
        return bool(found.built and self._keys and self._keys.is_current(unit))

    def _put(self, key: bytes, value: object) -> None:
        if self._cache:
            self._cache.put(key, value)


def name(piece: UnitPiece) -> str:
    """What messages call a unit."""
    return piece.unit.name or FILES


def _small_load(loaded: Loaded) -> Loaded:
    """The same with the texts that other units have, too: each process brings its own."""
    return loaded.but(offers=tuple(map(_small_offer, loaded.offers))) if loaded.offers else loaded


def _small_offer(offer: Offer) -> Offer:
    return offer.but(**{name: sys.intern(value) for name, value in vars(offer).items() if isinstance(value, str)})


def _small_result(result: UnitResult) -> UnitResult:
    return result.but(files=tuple(map(sys.intern, result.files)))


def used_by_others(units: Sequence[Unit], found: Sequence[UnitResult | Loaded]) -> dict[str, frozenset[str]]:
    """By cluster, the names of the objects that its units use and don't have."""
    names: dict[str, set[str]] = {}
    for unit, result in zip(units, found, strict=True):
        names.setdefault(unit.settings.cluster, set()).update(result.wants)
    return {cluster: frozenset(each) for cluster, each in names.items()}


def without_used(result: UnitResult, used: frozenset[str]) -> UnitResult:
    """The unit without findings about an unused object that another unit uses."""

    def is_used(finding: Finding) -> bool:
        return finding.rule in sharing.UNUSED and finding.ref is not None and finding.ref.name in used

    kept = tuple(finding for finding in result.findings if not is_used(finding))
    return result if len(kept) == len(result.findings) else result.but(findings=kept)


def _loaded(piece: UnitPiece, options: Options, *, reach: bool = False) -> Loaded:
    return loading.load(piece.unit, options, reach=reach)


def _worked(piece: UnitPiece, options: Options, offered: Mapping[str, Offered], *, work: Work) -> Any:
    """What comes of one unit."""
    found = _parsed(piece, options)
    return work(piece.unit, found, taken_of(piece.unit, found, offered), options)


def _judged(piece: UnitPiece, options: Options, offered: Mapping[str, Offered]) -> tuple[UnitResult, bytes]:
    """What comes of one unit, and the key by which that is kept."""
    found = _parsed(piece, options)
    taken = taken_of(piece.unit, found, offered)
    return judge(piece.unit, found, taken, options), keys.second(piece.key, taken) if piece.key else b""


def _parsed(piece: UnitPiece, options: Options) -> Parsed:
    """The objects of a unit: of its texts where it was loaded in this run."""
    unit = piece.unit
    return loading.parsed(unit, loading.unpacked(piece.texts)) if piece.texts else loading.read(unit, options)


def taken_of(unit: Unit, found: Parsed, offered: Mapping[str, Offered]) -> Taken:
    """What a unit takes of what the units of each cluster offer."""
    of_cluster = offered.get(unit.settings.cluster)
    return sharing.taken_by(found.reach, of_cluster) if of_cluster and found.found.sources else NOTHING
