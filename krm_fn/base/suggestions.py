"""Suggestions for misspelt words. All messages that suggest a word use this module.

A suggestion must be safe to follow without a second look, so only typing errors (slips) count. Words are compared part by part
(`web-rot` is `web` and `rot`), in any case. A part may differ in one letter, from eight letters on in two; swapped
neighbours count as one. The first letter of a part must be right. A part of up to three letters may differ only by a swap.
Digits must be equal: `pg-root` and `legacy-root`, `large` and `xlarge`, `disk-1` and `disk-2` are names of different things.

`nearest` is for a small set of known words, as in a schema. `Suggestions` compares names of objects. It has a budget, because
a bundle may have thousands of names, and as many references to objects that do not exist.
"""

from __future__ import annotations

from krm_fn.base.annotations import Collection

MOST = 3
# The longest words that are compared, and the longest names; no name of an object is longer than LONGEST_NAME.
LONGEST, LONGEST_NAME = 100, 255
REMEMBERED = 10_000
# How many pairs of letters Suggestions compares, which takes half a second. To skip a name counts as PER_NAME pairs.
PAIRS, PER_NAME = 3_000_000, 5
COMPARED = 50  # names that Suggestions compares with a word letter by letter: those with the most letters in common
BUCKETS = 64
COLLECTIONS = 100  # sets of known names whose letters Suggestions keeps
# The length from which a part may have one wrong letter, and two. No word may have more.
ONE_SLIP, TWO_SLIPS = 4, 8
SLIPS = 2

_nearest: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}
_known: dict[tuple[str, ...], Words] = {}


class Words:
    """Known words in lower case, indexed by what a slip does not change: the first letter and the digits.

    The letters of a word are the bits of a number, so that common letters are counted fast. Some letters have the same bits.
    So two words have at most as many letters in common as bits.
    """

    __slots__ = ("_by_kept", "spelt")

    def __init__(self, known: Collection[str]) -> None:
        self.spelt = {name.lower(): name for name in sorted(known, reverse=True)}
        self._by_kept: dict[tuple[str, str], list[tuple[int, int, str]]] = {}
        for name in self.spelt:
            if len(name) <= LONGEST_NAME:
                joined = "".join(_parts(name))
                self._by_kept.setdefault(_kept(joined), []).append((_letters(joined), len(joined), name))

    def likely(self, word: str) -> list[str]:
        """The words that may be similar. Those with the most letters in common come first."""
        joined = "".join(_parts(word))
        letters, length = _letters(joined), len(joined)
        found = []
        for others, other_length, name in self._by_kept.get(_kept(joined), ()):
            shared = (letters & others).bit_count()
            if shared + SLIPS >= max(length, other_length):
                found.append((-shared, name))
        return [name for _, name in sorted(found)]

    def nearest(self, word: str) -> tuple[str, ...]:
        """At most three of the words that `word` may be a misspelling of, all equally near."""
        return _compared(word.lower(), self.likely(word.lower()), self)


def nearest(word: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """At most three known words that `word` may be a misspelling of. All of them are equally near, and no other is nearer.

    The result is kept, because many objects may have the same misspelling.
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
        _nearest[key] = _known[known].nearest(word)
    return _nearest[key]


def meant(word: str, known: tuple[str, ...]) -> str:
    """The known word that `word` is a misspelling of; "" if there is none, or if several are equally near."""
    return _only(nearest(word, known))


class Suggestions:
    """Compares names until its budget is spent, and then suggests nothing, so that suggestions never make a run slow."""

    def __init__(self) -> None:
        self._left = PAIRS
        self._known: dict[int, tuple[Collection[str], Words]] = {}

    def nearest(self, word: str, known: Collection[str]) -> tuple[str, ...]:
        """At most three known words that `word` is a misspelling of; none once the budget is spent."""
        self._left -= PER_NAME * len(known)
        if self._left <= 0 or len(word) > LONGEST_NAME:
            return ()
        words = self._words(known)
        likely = words.likely(word.lower())[:COMPARED]
        self._left -= len(word) * sum(map(len, likely))
        return _compared(word.lower(), likely, words) if self._left > 0 else ()

    def _words(self, known: Collection[str]) -> Words:
        if id(known) not in self._known:
            if len(self._known) >= COLLECTIONS:
                self._known.clear()
            self._known[id(known)] = known, Words(known)  # the reference keeps the id from being used again
        return self._known[id(known)][1]

    def of(self, word: str, known: Collection[str]) -> str:
        """The known word that `word` is a misspelling of; "" if there is none, or if several are equally near."""
        return _only(self.nearest(word, known))


def distance(one: str, other: str) -> int | None:
    """The number of slips between two words; None if they differ by more than a misspelling."""
    one, other = one.lower(), other.lower()
    if one == other:
        return 0
    if abs(len(one) - len(other)) > SLIPS:
        return None
    ours, theirs = _parts(one), _parts(other)
    if len(ours) != len(theirs):  # a separator is missing, or there is one too many
        return abs(len(ours) - len(theirs)) if "".join(ours) == "".join(theirs) else None
    slips = int("".join(filter(_separates, one)) != "".join(filter(_separates, other)))
    for mine, yours in zip(ours, theirs, strict=True):
        here = _slips(mine, yours)
        if here is None or (slips := slips + here) > SLIPS:
            return None
    return slips


def _compared(word: str, likely: list[str], words: Words) -> tuple[str, ...]:
    """The nearest of the likely words."""
    found: dict[int, list[str]] = {}
    for name in likely:
        slips = distance(word, name)
        if slips is not None:
            found.setdefault(slips, []).append(words.spelt[name])
    return tuple(sorted(found[min(found)])[:MOST]) if found else ()


def _letters(word: str) -> int:
    """The letters of a word as bits, one bit for each occurrence of a letter."""
    bits = 0
    times: dict[int, int] = {}
    for letter in word:
        bucket = ord(letter) % BUCKETS
        time = times[bucket] = times.get(bucket, -1) + 1
        bits |= 1 << (time * BUCKETS + bucket)
    return bits


def _kept(joined: str) -> tuple[str, str]:
    """The part of a word that a slip does not change. The word is given without its separators."""
    return joined[:1], _digits(joined)


def _only(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else ""


def _separates(letter: str) -> bool:
    return not letter.isalnum()


def _parts(word: str) -> list[str]:
    return "".join(" " if _separates(letter) else letter for letter in word).split()


def _slips(one: str, other: str) -> int | None:
    """The distance between two parts; None if it is too large for their length."""
    if one == other:
        return 0
    if one[0] != other[0] or _digits(one) != _digits(other):
        return None
    longest = max(len(one), len(other))
    if longest < ONE_SLIP:
        return 1 if sorted(one) == sorted(other) else None
    slips = _edits(one, other)
    return slips if slips <= (SLIPS if longest >= TWO_SLIPS else 1) else None


def _digits(part: str) -> str:
    return "".join(filter(str.isdigit, part))


def _edits(one: str, other: str) -> int:
    """The number of letters that are added, left out, replaced, or swapped with their neighbour (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, above, row = row, before, [at]
        for to, theirs in enumerate(other, 1):
            least = min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (letter != theirs))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == theirs:
                least = min(least, above[to - 2] + 1)
            row.append(least)
    return row[-1]
