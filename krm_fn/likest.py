"""What may have been meant by a word that nobody knows: the likest of those that are known.

`nearest` is for words of which a few are known, as in a schema. Names of objects are compared by a `Likest`, which has a
budget, since a bundle may have thousands, and as many references that lead nowhere.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

MOST = 3
# Of longer words nobody knows what was meant.
LONGEST = 100
REMEMBERED = 10_000
# How many pairs of letters a Likest compares, which takes a second where names are alike, and much less where they are not.
PAIRS = 5_000_000

_nearest: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}


def nearest(word: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """At most three of the known words, whatever their case, the likest first; none where nothing is like.

    The same slip, which stands in many objects, is looked at once.
    """
    if len(word) > LONGEST:
        return ()
    key = word, known
    if key not in _nearest:
        if len(_nearest) >= REMEMBERED:
            _nearest.clear()
        _nearest[key] = _compared(word, known)
    return _nearest[key]


class Likest:
    """Compares names until its budget is spent, then finds none: suggestions are a courtesy, and must not make a run slow."""

    def __init__(self) -> None:
        self._left = PAIRS

    def nearest(self, word: str, known: Collection[str]) -> tuple[str, ...]:
        """As the function."""
        if self._left > 0:
            self._left -= len(word) * sum(map(len, known))
        return _compared(word, known) if self._left > 0 else ()

    def of(self, word: str, known: Collection[str]) -> str:
        """The likest of all, "" where none is like."""
        return next(iter(self.nearest(word, known)), "")


def _compared(word: str, known: Collection[str]) -> tuple[str, ...]:
    word = word.lower()
    folded = {name.lower(): name for name in sorted(known, reverse=True)}
    likely = [name for name in folded if _may_be_alike(word, name)]
    if not likely:
        return ()
    from difflib import get_close_matches  # late: this module is loaded where a word might be misspelt

    return tuple(folded[name] for name in get_close_matches(word, likely, n=MOST, cutoff=0.6))


def _may_be_alike(one: str, other: str) -> bool:
    """False where too few letters are in both for what difflib is asked, which takes much longer to find out."""
    shared = sum(min(one.count(letter), other.count(letter)) for letter in set(one) & set(other))
    return 10 * shared >= 3 * (len(one) + len(other))
