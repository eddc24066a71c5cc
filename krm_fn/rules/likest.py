"""Suggestions with a budget: comparing names for likeness must not make a run slow."""

from __future__ import annotations

from krm_fn.rules import nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

# How many names are compared in one run.
COMPARISONS = 20_000


class Likest:
    """Finds the likest of known words until the budget is spent; then it finds none."""

    def __init__(self) -> None:
        self._left = COMPARISONS

    def of(self, word: str, known: Collection[str]) -> str:
        """The likest, "" where none is like."""
        self._left -= len(known)
        return next(iter(nearest(word, sorted(known))), "") if self._left >= 0 else ""
