"""The shapes of a list's items, learned one by one. Learning ends where what was learned is of little use."""

from __future__ import annotations

from krm_fn.fast_path.alike import Shape
from krm_fn.yamlio.plain.lines import NotPlain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from krm_fn.fast_path.alike import Lengths, Names, Twin, Uses
    from krm_fn.fast_path.stencil import Stencil, Values
    from krm_fn.yamlio.plain.lines import Layout

    UsesOf = Callable[[str], Uses | None]  # by kind, None where every item of it is looked at

KEPT = 8  # shapes of a kind
STENCILS = 8  # of a kind
LONGEST = 1 << 16  # bytes of an item; what is longer has no twins
# To learn a shape costs as much as a few of its twins save.
WORTH, COST = 100, 5
# Stencils that don't tell cost time, too: so many may fail, and each that tells makes up for some.
LUCK, HIT = 200, 4


class Shapes:
    """What is known of the items of a list so far, by kind."""

    def __init__(self, uses: UsesOf) -> None:
        self._uses = uses
        self._shapes: dict[str, list[Shape]] = {}
        self._stencils: dict[str, list[tuple[Stencil, Shape, Lengths]]] = {}
        self._worth: dict[str, int] = {}
        self._luck: dict[str, int] = {}

    def find(self, kind: str, data: bytes, start: int, end: int) -> tuple[Twin, Names, int] | None:
        """What stands for the item that starts there, the names in it, and where it stops; None where bytes don't tell.

        The data is UTF-8, and its items go on to `end`.
        """
        stencils = self._stencils.get(kind)
        if not stencils:
            return None
        limit = min(end, start + LONGEST)
        for number, (stencil, shape, lengths) in enumerate(stencils):
            matched = stencil.match(data, start, limit)
            if matched is None:
                continue
            values, stop = matched
            if stop != end and not data.startswith(b"- ", stop):
                continue
            twin = self._twin(stencil, shape, lengths, values)
            names = stencil.names(values) if twin else None
            if twin is None or names is None:
                return None
            stencil.hits += 1
            if number and stencil.hits > stencils[number - 1][0].hits:
                stencils[number - 1 : number + 1] = stencils[number], stencils[number - 1]
            self._worth[kind] += 1
            self._luck[kind] += HIT
            return twin, names, stop
        self._luck[kind] -= len(stencils)
        if self._luck[kind] < 0:
            stencils.clear()
        return None

    @staticmethod
    def _twin(stencil: Stencil, shape: Shape, lengths: Lengths, values: Values) -> Twin | None:
        bound = stencil.bound(values)
        twin: Twin | None = stencil.twins.get(bound)
        if twin is None:
            differing = stencil.differing(values)
            if differing is not None:
                twin = shape.twin(differing, lengths)
                stencil.remember(bound, twin)
        return twin

    def look(self, kind: str, text: str) -> tuple[Twin, Names] | None:
        """As `find`, of a text that was cut out: it is looked at line by line."""
        shapes = self._shapes.get(kind)
        if shapes is None or len(text) > LONGEST:
            return None
        lines = text.split("\n")
        for number, shape in enumerate(shapes):
            twin = shape.fit(lines)
            if twin:
                shape.hits += 1
                if number and shape.hits > shapes[number - 1].hits:
                    shapes[number - 1 : number + 1] = shape, shapes[number - 1]
                return self._named(shape, lines, twin)
        return None

    def _named(self, shape: Shape, lines: list[str], twin: Twin) -> tuple[Twin, Names] | None:
        names = shape.names(lines, twin)
        if names is None:
            return None
        self._cut(shape, lines, twin)
        self._worth[shape.kind] += 1
        return twin, names

    def _cut(self, shape: Shape, lines: list[str], twin: Twin) -> None:
        """Let the stencil of such texts, if they have one, be of use for this one."""
        stencils = self._stencils.setdefault(shape.kind, [])
        for stencil, of, lengths in stencils:
            if of is shape and lengths == twin.lengths:
                stencil.learn(lines)
                return
        if len(stencils) < STENCILS and self._luck.setdefault(shape.kind, LUCK) >= 0:
            stencils.append((shape.stencil(lines, twin), shape, twin.lengths))

    def spend(self, kind: str) -> bool:
        """True where it is worth while to learn the shape of one more item of a kind, which the others have to pay for."""
        worth = self._worth.get(kind, WORTH) - COST
        if worth >= 0:
            self._worth[kind] = worth
        return worth >= 0

    def learn(self, kind: str, text: str, value: Any, layout: Layout) -> Twin | None:
        """What stands for a text that was read, and others like it. It has no shape that is known."""
        uses = self._uses(kind)
        if uses is None or len(text) > LONGEST:
            return None
        try:
            shape = Shape(kind, text, uses, value, layout)
        except NotPlain:
            return None
        self._worth.setdefault(kind, WORTH)
        shapes = self._shapes.setdefault(kind, [])
        if len(shapes) == KEPT:
            stencils = self._stencils.get(kind, [])
            stencils[:] = [known for known in stencils if known[1] is not shapes[-1]]
        shapes[KEPT - 1 :] = [shape]
        lines = text.split("\n")
        twin = shape.fit(lines)
        if twin:
            self._cut(shape, lines, twin)
        return twin
