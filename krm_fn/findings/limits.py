"""How much is reported: the first thousand findings of one rule in one object, and the number of the others.

An object that a program has broken may be wrong in hundreds of thousands of places. No user reads them all, and reporting
them all would take minutes. The same applies to all objects together: a thousand presets that match a thousand instances may
conflict a million times.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterable, Iterator
from krm_fn.base.errors import InputError
from krm_fn.base.paths import Path
from krm_fn.findings.finding import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Item = TypeVar("Item")


MOST = 1_000
COUNTED = 10_000  # the count ends here if counting takes long
# The limit for one rule and severity over all objects. Up to two findings per object are always reported.
MOST_IN_ALL, MOST_PER_OBJECT = 10_000, 2


def first(found: Iterable[Item], key: Callable[[Item], object] = lambda _: None) -> Iterator[tuple[Item, int]]:
    """The first items of each key, with 0. The last of them comes at the end, with the number of those left out."""
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
    """The first values of each sort in order, and the number of the others.

    A value has a field `more`, which is set on the last value of a sort to the number of those left out.
    """

    __slots__ = ("_kept", "_last", "_numbers")

    def __init__(self) -> None:
        self._kept: list[Any] = []
        self._numbers: dict[Any, int] = {}
        self._last: dict[Any, int] = {}

    def takes(self, sort: object) -> bool:
        """Count one more of the sort. True if it must be added, which the caller must do at once."""
        number = self._numbers[sort] = self._numbers.get(sort, 0) + 1
        if number == MOST:
            self._last[sort] = len(self._kept)
        return number <= MOST

    def is_full(self, sort: object) -> bool:
        """True if so many of a sort were counted that the caller may stop."""
        return self._numbers[sort] >= COUNTED

    def add(self, found: object) -> None:
        self._kept.append(found)

    def all(self) -> list[Any]:
        """All values that were added."""
        for sort, at in self._last.items():
            if self._numbers[sort] > MOST:
                self._kept[at] = self._kept[at].but(more=self._numbers[sort] - MOST)
        return self._kept


class InAll:
    """The findings of a run: the first ones of each rule and severity, and at the end the number of those left out."""

    __slots__ = ("_most", "_numbers", "_passed_over")

    def __init__(self, objects: int) -> None:
        self._most = max(MOST_IN_ALL, MOST_PER_OBJECT * objects)
        self._numbers: dict[tuple[str, str], int] = {}
        self._passed_over: set[tuple[str, str]] = set()

    def first(self, found: Iterable[Finding]) -> Iterator[Finding]:
        """The findings without those above the limit of their rule and severity."""
        for finding in found:
            sort = finding.rule, finding.severity
            number = self._numbers[sort] = self._numbers.get(sort, 0) + 1
            if number <= self._most:
                yield finding

    def is_full(self, rule: str, severity: str) -> bool:
        """True if so many were left out that the rule need not run on the next object, because counting takes long, too.

        `severity` is the worst that its findings may have.
        """
        full = self._numbers.get((rule, severity), 0) >= 2 * self._most
        if full:
            self._passed_over.add((rule, severity))
        return full

    def left_out(self) -> Iterator[Finding]:
        """A finding with the number of those left out, for each rule and severity that has any.

        It is about no object, so that no annotation can silence it: an error that is not reported still fails the run.
        """
        for sort, number in self._numbers.items():
            more = number - self._most
            if more > 0:
                count = f"{'at least ' if sort in self._passed_over else ''}{more:,}"
                message = f"{count} more findings of this rule are not reported; correct the reported ones first"
                yield Finding(rule=sort[0], severity=sort[1], message=message, more=more)


class ProductLimit:
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
    """The message of a finding that represents `more` others of its sort, or at least that many."""
    return f"{message}; {'at least ' if at_least else ''}{more:,} more of these are not reported" if more else message


def limited(found: Iterable[Finding]) -> Iterator[Finding]:
    """The findings without those above the limit of one rule, severity and object. The last one has the number of the rest."""
    for finding, more in first(found, _sort):
        yield finding.but(message=counted(finding.message, more)) if more else finding


def _sort(finding: Finding) -> tuple[str, str, int, Path]:
    return finding.rule, finding.severity, finding.item, finding.inside
