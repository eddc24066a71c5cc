"""Values that many rows have in common, kept once, with their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

Kept = TypeVar("Kept", bound="Hashable")


class Table(Generic[Kept]):
    """Values by their numbers, in the order in which they came first."""

    def __init__(self) -> None:
        self._numbers: dict[Kept, int] = {}

    def number(self, value: Kept) -> int:
        """The number of a value, which is kept."""
        return self._numbers.setdefault(value, len(self._numbers))

    @property
    def values(self) -> list[Kept]:
        return list(self._numbers)
