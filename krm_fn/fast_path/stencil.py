"""What the texts of a shape have in common, as bytes with holes: a text that differs in these alone is told at once.

A hole is cut where two texts were found to differ, and is as small as the values seen so far allow: what all of them begin and
end with stays. A text fits where the bytes between the holes are the same, and what stands in each is plain at first sight.
Where it isn't, nothing is said: that text has to be looked at line by line.
"""

from __future__ import annotations

from _operator import itemgetter  # `operator` would load what is not needed here
from itertools import compress

from krm_fn.yamlio.plain.lines import QUOTES, SCALAR, NotPlain, is_text, once
from krm_fn.yamlio.scalars import WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    # What stands in each hole of a text.
    Values = list[bytes]
    Getter = Callable[[Values], tuple[bytes, ...]]
    # What the lines that matter say, where they differ from those of a shape's first text: number and line of each. Of a block
    # of text the number is that of the line behind it, negative.
    Difference = tuple[Any, ...]

BOUND, TEXT, ANY = range(3)  # what use there is for a value; see `krm_fn.fast_path.alike`
SEPARATOR = b","
# What may stand in a plain or quoted text behind its first letter, in any order; but for a colon at the end.
SAFE = SEPARATOR + b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/@=+-:"
STARTS_OF_WORDS = {word[:end] for word in WORDS for end in range(len(word) + 1)}  # of those that are no text
DIGITS = "0123456789"
KEY_LIKE = b":" + SEPARATOR
SEEN = 5_000  # values that are remembered of a hole
IN_BLOCK = -1  # in place of the number of a line of a block of text
SAMPLES = 8  # texts by which holes are taken for one
CUTS = 50  # of a stencil; texts that differ in ever more lines are not what it is for


class Spot:
    """What a line is up to its value, what use there is for that, and the number that its shape gives it.

    Of a line of a block of text it is the margin.
    """

    __slots__ = ("head", "number", "use")

    def __init__(self, head: str, use: int, number: int = IN_BLOCK) -> None:
        self.head, self.use, self.number = head, use, number


class Hole:
    """A place where texts differ: what all values seen there begin and end with stays outside of it."""

    __slots__ = ("before", "behind", "easy", "seen", "shortest", "spot")

    def __init__(self, spot: Spot, value: str) -> None:
        self.spot = spot
        self.before = value
        self.behind = value
        self.shortest = len(value)
        self.easy = False
        self.seen: set[bytes] = set()

    def widen(self, value: str) -> None:
        """Let this value fit, too, and such as differ from it in another number."""
        self.seen.clear()
        self.shortest = min(self.shortest, len(value))
        self.before = _common(self.before, value).rstrip(DIGITS)
        self.behind = _common(self.behind[::-1], value[::-1])[::-1].lstrip(DIGITS)
        # Something has to be left for the hole, of the shortest value too.
        self.behind = self.behind[max(0, len(self.before) + len(self.behind) + 1 - self.shortest) :]
        self.easy = self._is_easy()
        if not self.easy:
            self.before = self.behind = ""

    def _is_easy(self) -> bool:
        """True where whatever `SAFE` allows, and is not empty, makes a text of what is around the hole."""
        if self.spot.use == BOUND:
            return False
        first = self.before[:1]
        if self.spot.number == IN_BLOCK:
            return bool(self.before.strip())  # so that the line is as much indented in all texts
        if first in QUOTES:
            return self.behind[-1:] == first
        return is_text(f"{self.before}:-") and self.before not in STARTS_OF_WORDS

    def value(self, line: str) -> str:
        """What stands in the hole of a line."""
        return line[len(self.spot.head) + len(self.before) : len(line) - len(self.behind)]

    def takes(self, found: bytes) -> bool:
        """True where a value may stand there at first sight, of a hole that has no easy answer."""
        if found in self.seen:
            return True
        value, use = found.decode(), self.spot.use
        if self.spot.number == IN_BLOCK:
            takes = value[:1] not in ("", " ", "\t") and value[-1:] not in (" ", "\t") and value.isprintable()
        else:
            takes = is_text(value) or _is_scalar(self.spot.head + value, text=use == TEXT)
        if takes and len(self.seen) < SEEN:
            self.seen.add(found)
        return takes


def _common(one: str, other: str) -> str:
    """What both begin with."""
    at = next(compress(range(len(one)), map(str.__ne__, one, other)), min(len(one), len(other)))
    return one[:at]


def _is_scalar(line: str, *, text: bool) -> bool:
    try:
        said = once(line)
    except NotPlain:
        return False
    return said[4] == SCALAR and (not text or said[3].__class__ is str)


class Stencil:
    """The lines of a text of a shape, its last one empty, and the holes in them.

    `spots` has one for each line, None for one that is the same in all texts. `texts` are the lines that the shape's first text
    has by their numbers; `differing` says how this one differs from it. `named` are the lines that say a name and a namespace.
    """

    def __init__(
        self,
        lines: list[str],
        spots: Sequence[Spot | None],
        texts: Sequence[str],
        differing: Difference,
        named: Sequence[int | None],
    ) -> None:
        self.lines, self._spots, self._texts, self._differing, self._named = lines, spots, texts, differing, named
        self.holes: dict[int, Hole] = {}
        self.samples = [lines]
        self.hits = self.cuts = 0
        self._cut()

    def learn(self, lines: list[str]) -> None:
        """Cut holes where these lines differ, which were found to be of the same shape."""
        if self.cuts >= CUTS:
            return
        self.cuts += 1
        self.samples[SAMPLES - 1 :] = [lines]
        for n in compress(range(len(lines)), map(str.__ne__, lines, self.lines)):
            spot, line, first = self._spots[n], lines[n], self.lines[n]
            if spot is None or not (line.startswith(spot.head) and first.startswith(spot.head)):
                break
            self.holes.setdefault(n, Hole(spot, first[len(spot.head) :])).widen(line[len(spot.head) :])
        self._cut()

    def _cut(self) -> None:
        """Make of lines and holes what `match` and the others look at.

        Holes in which all samples have the same are taken for one, which stands in more than one place.
        """
        holes: list[Hole] = []
        same: dict[tuple[str, ...], int] = {}
        places: dict[int, int] = {}
        parts: list[tuple[bytes, Getter | None, bytes]] = []
        text, echoes, at = "", [], 0
        for n in sorted(self.holes):
            hole = self.holes[n]
            text, at = text + _escaped([*self.lines[at:n], hole.spot.head + hole.before]), n + 1
            place = places[n] = (
                same.setdefault(tuple([hole.value(sample[n]) for sample in self.samples]), len(holes))
                if hole.easy
                else len(holes)
            )
            if place < len(holes):
                text += f"%s{_escaped([hole.behind, ''])}"
                echoes.append(place)
                continue
            parts.append((*_format(text, echoes), f"{hole.behind}\n".encode()))
            text, echoes = _escaped([hole.behind, ""]), []
            holes.append(hole)
        self._parts = tuple(parts)
        self._last = _format(text + _escaped(self.lines[at:]), echoes)
        self._easy = _of([n for n, hole in enumerate(holes) if hole.easy])
        self._hard = [(n, hole) for n, hole in enumerate(holes) if not hole.easy and hole.spot.use != BOUND]
        bound = [(n, hole.spot) for n, hole in enumerate(holes) if hole.spot.use == BOUND]
        self.bound = _of([n for n, _ in bound])
        self.twins: dict[tuple[bytes, ...], Any] = {}  # of this shape, by what stands in the holes that matter
        self._blocks = any(spot.number == IN_BLOCK for _, spot in bound)
        pairs, own = iter(self._differing), {spot.number for _, spot in bound}
        fixed: list[Any] = [(number, -1, line) for number, line in zip(pairs, pairs, strict=True) if number not in own]
        self._differs = sorted([*fixed, *((spot.number, n, spot.head) for n, spot in bound)], key=_number)
        self._names = [self._name_at(line, places) for line in self._named]

    def _name_at(self, line: int | None, places: dict[int, int]) -> tuple[int, str | None, str, Any]:
        """Which hole a name stands in, and what is around it or its line is up to it; -1 and the name of one in none."""
        hole = None if line is None else self.holes.get(line)
        if line is None or hole is None:
            return -1, None, "", None if line is None else once(self.lines[line])[3]
        quote = hole.before[:1] in QUOTES
        if not hole.easy:
            return places[line], None, "", hole.spot.head
        return places[line], hole.before[quote:], hole.behind[: len(hole.behind) - quote], ""

    def match(self, data: bytes, start: int, end: int) -> tuple[Values, int] | None:
        """What stands in the holes of the text that starts there, and where it stops, `end` at most. It is UTF-8.

        None where it doesn't fit at first sight.
        """
        at = start
        values: Values = []
        for form, echoes, behind in self._parts:
            chunk = form % echoes(values) if echoes else form
            if not data.startswith(chunk, at):
                return None
            at += len(chunk)
            stop = data.find(behind, at, end)
            if stop < 0:
                return None
            values.append(data[at:stop])
            at = stop
        form, echoes = self._last
        last = form % echoes(values) if echoes else form
        if not data.startswith(last, at):
            return None
        easy = self._easy(values)
        joined = SEPARATOR.join(easy) + SEPARATOR
        if joined.translate(None, SAFE) or KEY_LIKE in joined or not all(easy):
            return None
        for n, hole in self._hard:
            if not hole.takes(values[n]):
                return None
        return values, at + len(last)

    def differing(self, values: Values) -> Difference | None:
        """How the lines that matter differ from those of the shape's first text; None where nobody can tell at first sight."""
        if self._blocks or b"\n" in b"".join(self.bound(values)):
            return None
        found: list[int | str] = []
        for number, n, said in self._differs:
            line = said if n < 0 else said + values[n].decode()
            if n < 0 or line != self._texts[number]:
                found += number, line
        return tuple(found)

    def remember(self, bound: tuple[bytes, ...], twin: Any) -> None:
        """What stands for the texts with these values in the holes that matter."""
        if len(self.twins) >= SEEN:
            self.twins.clear()
        self.twins[bound] = twin

    def names(self, values: Values) -> tuple[Any, ...] | None:
        """Name and namespace, each None where it isn't said; None where one is no scalar: nobody looked at bound values."""
        found = []
        for n, before, behind, said in self._names:
            if n < 0:
                found.append(said)
            elif before is not None:
                found.append(before + values[n].decode() + behind)
            else:
                try:
                    found.append(once(said + values[n].decode())[3])
                except NotPlain:
                    return None
        return tuple(found)


def _number(row: tuple[int, int, str]) -> int:
    return abs(row[0])


def _escaped(lines: list[str]) -> str:
    """The lines as part of a format."""
    return "\n".join(lines).replace("%", "%%")


def _format(text: str, echoes: list[int]) -> tuple[bytes, Getter | None]:
    """A format, and what of the values so far goes into it; where nothing does, what it makes."""
    if echoes:
        return text.encode(), itemgetter(*echoes)
    return text.replace("%%", "%").encode(), None


def _of(indexes: list[int]) -> Getter:
    """What takes the values of these indexes out of a list; one twice, so that it is always a tuple."""
    return itemgetter(*indexes, indexes[0]) if indexes else _nothing


def _nothing(_: Values) -> tuple[bytes, ...]:
    return ()
