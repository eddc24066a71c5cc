"""How much is reported: the first thousand findings of one rule in one object, and the number of the others.

An object that a program has broken may be wrong in hundreds of thousands of places. No user reads them all, and reporting
them all would take minutes. The same applies to all objects together: a thousand presets that match a thousand instances may
conflict a million times.
"""

from __future__ import annotations

from krm_fn.base.errors import InputError
from krm_fn.findings.finding import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, TypeVar

    from krm_fn.base.paths import Path

    Item = TypeVar("Item")

MOST = 1_000
COUNTED = 10_000  # where it takes long to count on
# Findings of one rule and severity over all objects: fewer than two an object are all reported.
MOST_IN_ALL, MOST_PER_OBJECT = 10_000, 2


def first(found: Iterable[Item], key: Callable[[Item], object] = lambda _: None) -> Iterator[tuple[Item, int]]:
    """The first with each key, with 0, but the last of them, which comes at the end, with the number of those left out."""
    numbers: dict[object, int] = {}
    last: dict[object, Item] = {}
    for each in found:
        of_key = key(each)
        number = numbers[of_key] = numbers.get(of_key, 0) + 1
        if number < MOST:
            yield each, 0
        elif number == MOST:
            last[of_key] = each
    for of_key, each in last.items():
        yield each, numbers[of_key] - MOST


class Limited:
    """What is found, of each sort the first ones in order; of the others only how many they are.

    What is added is a Value with a field `more`, which is the number left out after the last one of a sort.
    """

    __slots__ = ("_kept", "_last", "_numbers")

    def __init__(self) -> None:
        self._kept: list[Any] = []
        self._numbers: dict[Any, int] = {}
        self._last: dict[Any, int] = {}

    def takes(self, sort: object) -> bool:
        """True where one more of the sort is to be added, and is then to be added at once; else it is counted."""
        number = self._numbers[sort] = self._numbers.get(sort, 0) + 1
        if number == MOST:
            self._last[sort] = len(self._kept)
        return number <= MOST

    def is_full(self, sort: object) -> bool:
        """True where so many of a sort were counted that it may be left off."""
        return self._numbers[sort] >= COUNTED

    def add(self, found: object) -> None:
        self._kept.append(found)

    def all(self) -> list[Any]:
        """What was added."""
        for sort, at in self._last.items():
            if self._numbers[sort] > MOST:
                self._kept[at] = self._kept[at].but(more=self._numbers[sort] - MOST)
        return self._kept


class InAll:
    """The findings of a run, of each rule and severity the first ones; and, when they are through, how many were left out."""

    __slots__ = ("_most", "_numbers", "_passed_over")

    def __init__(self, objects: int) -> None:
        self._most = max(MOST_IN_ALL, MOST_PER_OBJECT * objects)
        self._numbers: dict[tuple[str, str], int] = {}
        self._passed_over: set[tuple[str, str]] = set()

    def first(self, found: Iterable[Finding]) -> Iterator[Finding]:
        """The findings without those that are too many of their rule and severity."""
        for finding in found:
            sort = finding.rule, finding.severity
            number = self._numbers[sort] = self._numbers.get(sort, 0) + 1
            if number <= self._most:
                yield finding

    def is_full(self, rule: str, severity: str) -> bool:
        """True where so many were left out that the rule need not run on the next object: counting also takes long.

        `severity` is the worst that its findings may have.
        """
        full = self._numbers.get((rule, severity), 0) >= 2 * self._most
        if full:
            self._passed_over.add((rule, severity))
        return full

    def left_out(self) -> Iterator[Finding]:
        """For each rule and severity of which some were left out, a finding with their number.

        It is about no object, so that no annotation silences it: an error that is not reported still fails the run.
        """
        for sort, number in self._numbers.items():
            more = number - self._most
            if more > 0:
                count = f"{'at least ' if sort in self._passed_over else ''}{more:,}"
                message = f"{count} more findings of this rule are not reported; correct the reported ones first"
                yield Finding(rule=sort[0], severity=sort[1], message=message, more=more)


class Budget:
    """A limit on work that grows with the product of two numbers of objects. The message has the fix."""

    __slots__ = ("_left", "_message")

    def __init__(self, most: int, message: str) -> None:
        self._left, self._message = most, message

    def take(self, amount: int) -> None:
        """Raises: InputError if the limit is exceeded."""
        self._left -= amount
        if self._left < 0:
            raise InputError(self._message)


def counted(message: str, more: int, *, at_least: bool = False) -> str:
    """The message of a finding after which so many like it, or more, are left out."""
    return f"{message}; {'at least ' if at_least else ''}{more:,} more of these are not reported" if more else message


def limited(found: Iterable[Finding]) -> Iterator[Finding]:
    """The findings without those that are too many of one rule, severity and object; the last of these has their number."""
    for finding, more in first(found, _sort):
        yield finding.but(message=counted(finding.message, more)) if more else finding


def _sort(finding: Finding) -> tuple[str, str, int, Path]:
    return finding.rule, finding.severity, finding.item, finding.inside
