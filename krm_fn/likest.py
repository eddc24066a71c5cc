"""What may have been meant by a word that nobody knows: the likest of those that are known.

`nearest` is for words of which a few are known, as in a schema. Names of objects are compared by a `Likest`, which has a
budget, since a bundle may have thousands, and as many references that lead nowhere.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

MOST = 3
LEAST_ALIKE = 0.6  # as difflib counts: twice the letters that both share in order, of the letters of both
# Of longer words nobody knows what was meant; no name of an object is longer than LONGEST_NAME.
LONGEST, LONGEST_NAME = 100, 255
REMEMBERED = 10_000
# How many pairs of letters a Likest compares, which takes half a second; to pass over a name counts as some of them.
PAIRS, PER_NAME = 3_000_000, 5
COMPARED = 50  # names that a Likest compares a word with letter by letter: those that share the most letters with it
BUCKETS = 64
COLLECTIONS = 100  # of known names that a Likest remembers the letters of

_nearest: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}
_known: dict[tuple[str, ...], Words] = {}


class Words:
    """Known words in small letters, with the letters of each as the bits of a number: the bits that two share are counted fast.

    Some letters share their bits with others, so that two words share at most as many letters as bits.
    """

    __slots__ = ("known", "spelt")

    def __init__(self, known: Collection[str]) -> None:
        self.spelt = {name.lower(): name for name in sorted(known, reverse=True)}
        self.known = [(_letters(name), len(name), name) for name in self.spelt if len(name) <= LONGEST_NAME]

    def likely(self, word: str) -> list[tuple[float, str]]:
        """The words that may be alike, the likest first; each with how much at most."""
        letters, length = _letters(word), len(word)
        found = []
        for others, other_length, name in self.known:
            shared = (letters & others).bit_count()
            if 10 * shared >= 3 * (length + other_length):
                found.append((_alike(shared, length + other_length), name))
        return sorted(found, reverse=True)


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
        if known not in _known:
            if len(_known) >= REMEMBERED:
                _known.clear()
            _known[known] = Words(known)
        words = _known[known]
        _nearest[key] = _compared(word.lower(), words.likely(word.lower()), words)
    return _nearest[key]


class Likest:
    """Compares names until its budget is spent, then finds none: suggestions are a courtesy, and must not make a run slow."""

    def __init__(self) -> None:
        self._left = PAIRS
        self._known: dict[int, tuple[Collection[str], Words]] = {}

    def nearest(self, word: str, known: Collection[str]) -> tuple[str, ...]:
        """As the function."""
        self._left -= PER_NAME * len(known)
        if self._left <= 0 or len(word) > LONGEST_NAME:
            return ()
        words = self._words(known)
        likely = words.likely(word.lower())[:COMPARED]
        self._left -= len(word) * sum(len(name) for _, name in likely)
        return _compared(word.lower(), likely, words) if self._left > 0 else ()

    def _words(self, known: Collection[str]) -> Words:
        if id(known) not in self._known:
            if len(self._known) >= COLLECTIONS:
                self._known.clear()
            self._known[id(known)] = known, Words(known)  # which no other gets the id of
        return self._known[id(known)][1]

    def of(self, word: str, known: Collection[str]) -> str:
        """The likest of all, "" where none is like."""
        return next(iter(self.nearest(word, known)), "")


def _compared(word: str, likely: list[tuple[float, str]], words: Words) -> tuple[str, ...]:
    """The likest of the likely words."""
    if not likely:
        return ()
    from difflib import SequenceMatcher  # late: this module is loaded where a word might be misspelt

    matcher = SequenceMatcher()
    matcher.set_seq2(word)
    best: list[tuple[float, str]] = []
    for most, name in likely:
        if len(best) == MOST and most < best[-1][0]:
            break
        matcher.set_seq1(name)
        ratio = matcher.ratio()
        if ratio >= LEAST_ALIKE:
            best = sorted([*best, (ratio, name)], reverse=True)[:MOST]
    return tuple(words.spelt[name] for _, name in best)


def _letters(word: str) -> int:
    """The letters of a word as bits, one for each time that a letter stands in it."""
    bits = 0
    times: dict[int, int] = {}
    for letter in word:
        bucket = ord(letter) % BUCKETS
        time = times[bucket] = times.get(bucket, -1) + 1
        bits |= 1 << (time * BUCKETS + bucket)
    return bits


def _alike(shared: int, letters: int) -> float:
    return 2.0 * shared / letters if letters else 1.0
