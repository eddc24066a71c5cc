"""Globs: `*`, `?` and `[a-z]` within a step of a path, `**` for any number of steps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import translate

from krm_fn.base.expressions import expression
from krm_fn.base.work import Budget

Steps = tuple[str, ...]


ANY = "**"
WILD = expression(r"[*?[]")
# The work of the globs of one config in a run, whose authors may be strangers: the comparisons with steps that have wildcards,
# each by the lengths of both, the places in the globs that a path reaches, and what is compiled, which takes longer.
UNITS, OF_LENGTHS, TO_COMPILE = 10_000_000, 256, 400
TOO_MUCH = "these globs take too many comparisons with the paths of this run; use fewer with *, ? or ["


class _Place:
    """A place in globs: the steps that lead on from it, and the numbers of the globs that end at it.

    `stays`: a `**` stands in front of the place, so any step leads to it again. `wild` are the steps with wildcards, by what
    stands before the first of these; `lengths` are the lengths of that.
    """

    __slots__ = ("any", "ends", "lengths", "literal", "matches", "stays", "wild")

    def __init__(self, step: str = "") -> None:
        self.stays = step == ANY
        self.literal: dict[str, _Place] = {}
        self.wild: dict[str, dict[str, _Place]] = {}
        self.lengths: set[int] = set()
        self.any: _Place | None = None
        self.ends: list[int] = []
        self.matches = step  # what a step must match to come here

    def then(self, step: str) -> _Place:
        """The place behind one more step."""
        if step == ANY:
            self.any = self if self.stays else self.any or _Place(step)
            return self.any
        wildcard = WILD.search(step)
        if not wildcard:
            return self.literal.setdefault(step, _Place(step))
        self.lengths.add(wildcard.start())
        return self.wild.setdefault(step[: wildcard.start()], {}).setdefault(step, _Place(step))

    def alike(self, step: str) -> Iterator[_Place]:
        """The places behind the steps with wildcards that begin as this step does."""
        for length in self.lengths:
            if length <= len(step):
                yield from self.wild.get(step[:length], _NONE).values()


_NONE: dict[str, _Place] = {}


class Globs:
    """Several globs. Those that begin alike are compared with a path once."""

    def __init__(self, globs: Iterable[str | Sequence[str]]) -> None:
        self._start = _Place()
        self._count = 0
        for number, glob in enumerate(globs):
            self._count += 1
            place = self._start
            for step in steps_of(glob) if isinstance(glob, str) else glob:
                place = place.then(step)
            place.ends.append(number)
        self._compiled: dict[str, re.Pattern[str]] = {}
        self._below: dict[Steps, tuple[list[_Place], frozenset[int]]] = {}
        self._spend = Budget(UNITS).spend

    def __bool__(self) -> bool:
        return self._count > 0

    def covering(self, path: str | Steps) -> frozenset[int]:
        """The numbers of the globs that match a path, or a folder that contains it. Paths have forward slashes; `.` is the
        folder that the globs start from.

        Raises: SpentError where that takes too much work.
        """
        steps = steps_of(path) if isinstance(path, str) else path
        reached, found = self._folder(steps[:-1])
        return found.union(*(place.ends for place in self._after(reached, steps[-1]))) if steps else found

    def _folder(self, folder: Steps) -> tuple[list[_Place], frozenset[int]]:
        """The places that a folder reaches, and the globs that cover it."""
        if folder not in self._below:
            reached = _with_any([self._start])
            found = {number for place in reached for number in place.ends}
            for step in folder:
                reached = self._after(reached, step)
                found.update(number for place in reached for number in place.ends)
            self._below[folder] = reached, frozenset(found)
        return self._below[folder]

    def _after(self, reached: list[_Place], step: str) -> list[_Place]:
        """The places that one more step reaches."""
        self._spend(1 + sum(1 + len(place.lengths) for place in reached))
        found = [place for place in reached if place.stays]
        found += [place.literal[step] for place in reached if step in place.literal]
        found += [after for place in reached for after in place.alike(step) if self._matches(after.matches, step)]
        return _with_any(found)

    def _matches(self, pattern: str, step: str) -> bool:
        self._spend(1 + len(pattern) * len(step) // OF_LENGTHS)
        if pattern not in self._compiled:
            self._spend(TO_COMPILE + len(pattern))
            self._compiled[pattern] = re.compile(translate(pattern))
        return self._compiled[pattern].match(step) is not None


def _with_any(places: list[_Place]) -> list[_Place]:
    """The places, and those that a `**` leads to that stands for no step."""
    return list(dict.fromkeys(each for place in places for each in (place, place.any) if each))


def steps_of(path: str) -> tuple[str, ...]:
    """The steps of a path or a glob."""
    return tuple(step for step in path.split("/") if step not in ("", "."))
