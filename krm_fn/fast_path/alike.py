"""Items whose lines run alike: of most VMs of a fleet only names, sizes and a few texts differ.

A `Shape` is learned from the text of an item that was read. A text fits it where every line is the same, or has the same key
and another value; then it is of the plain form as well, and its levels, keys and kinds of values are the same. What use there
is for a value decides how far it may differ:

    BOUND   the value matters: texts that differ in it are no twins, though they fit the shape
    TEXT    nobody reads the value, or only as it comes: it may be any other text
    ANY     the value may be any scalar; of this use are whole objects that nobody may ever look at
"""

from __future__ import annotations

from itertools import compress, pairwise

from krm_fn.base.fleets import EACH
from krm_fn.base.paths import put_in
from krm_fn.fast_path.stencil import BOUND, TEXT, Spot, Stencil
from krm_fn.yamlio.plain.lines import CLIPPED, SCALAR, STRIPPED, NotPlain, indent_of, is_text, literal, once, token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from krm_fn.base.paths import Path
    from krm_fn.fast_path.stencil import Difference
    from krm_fn.yamlio.plain.lines import Layout

    Uses = Callable[[Path], int]
    Lengths = tuple[int, ...]
    Names = tuple[Any, ...]
    # Lines `start` to `end` of an item give way to a text, change after change; see `krm_fn.yamlio.plain.changes`.
    Settled = tuple[int | str | None, ...]

NAMES: tuple[Path, ...] = (("metadata", "name"), ("metadata", "namespace"))
BLOCKS = (CLIPPED, STRIPPED)
SPACES = ("", " ")
MANY = 20_000  # twins of a shape


class Line:
    """A line that starts an entry: its path and place, how much of it is key, its column, and the kind of its value.

    The path is the place, whichever entries of lists are on the way to it.
    """

    __slots__ = ("column", "head", "kind", "path", "place", "text")

    def __init__(self, text: str, path: Path, place: Path, column: int, kind: int) -> None:
        self.text, self.path, self.place, self.column, self.kind = text, path, place, column, kind
        self.head = ""


class Block:
    """A block of text: the lines of the first one, what it is used for, and what its header says of it."""

    __slots__ = ("column", "deeper", "kind", "lines", "margin", "stop", "use")

    def __init__(self, header: Line, lines: list[str], stop: int, use: int) -> None:
        self.column, self.kind, self.lines, self.stop, self.use = header.column, header.kind, lines, stop, use
        self.margin = lines[0][: indent_of(lines[0])]
        self.deeper = " " * (header.column + 1)

    def takes(self, found: list[str]) -> bool:
        """True where these lines may stand in place of the block's at first sight."""
        if found == self.lines:
            return True
        if self.use == BOUND or len(found) != len(self.lines):
            return False
        margin = self.margin
        for line, first in zip(found, self.lines, strict=True):
            if line != first:
                said = line[len(margin) :]
                if not line.startswith(margin) or said[:1] in SPACES or said[-1:] == " " or not said.isprintable():
                    return False
        return True


class Shape:
    """How the lines of an item run. `texts` are the first one's without its blocks of text; `stop` of these counts them."""

    def __init__(self, kind: str, text: str, uses: Uses, value: Any, layout: Layout) -> None:
        """`value` and `layout` are what was read of the text.

        Raises: NotPlain where the text is not all entries and blocks, or a name is no scalar.
        """
        self.kind, self.value, self.layout = kind, value, layout
        lines = text.split("\n")
        self.hits = 0
        self.texts: list[str] = []
        self.heads: list[str] = []
        self.uses: list[int] = []
        self.places: list[Path] = []
        self.blocks: list[Block] = []
        self.twins: dict[tuple[Difference, Lengths], Twin] = {}
        self.bound: dict[tuple[Any, ...], bool] = {}  # by the lines that change, whether they are the same in all texts
        at = 0
        named = {}
        for line in entries(lines):
            path = line.path[1:]
            use = uses(path) if line.head or line.kind in BLOCKS else BOUND
            named[path] = len(self.texts)
            self.texts.append(line.text)
            self.places.append(line.place[1:])
            self.heads.append(line.head)
            self.uses.append(use)
            at += 1
            if line.kind in BLOCKS:
                end = literal(lines, at, line.column, line.kind)[1]
                self.blocks.append(Block(line, lines[at:end], len(self.texts), use))
                at = end
        self.named = [named.get(path) for path in NAMES]
        if not all(number is None or self.heads[number] for number in self.named):
            raise NotPlain  # a name on lines of its own
        stops = [0, *(block.stop for block in self.blocks), len(self.texts)]
        self.pieces = [self.texts[start:stop] for start, stop in pairwise(stops)]

    def fit(self, lines: list[str]) -> Twin | None:
        """How a text differs from the first one; None where it is of another shape."""
        differing: list[int | str] = []
        lengths: list[int] = []
        sure: set[str] = set()
        at = done = 0
        try:
            for number, piece in enumerate(self.pieces):
                end = at + len(piece)
                found = lines[at:end]
                if len(found) != len(piece) or (found != piece and not self._fits(found, done, differing, sure)):
                    return None
                at, done = end, done + len(piece)
                if number < len(self.blocks):
                    at = self._past(self.blocks[number], lines, end, differing)
                    lengths.append(at - end)
        except NotPlain:
            return None
        if at != len(lines) - 1 or lines[at]:
            return None
        return self.twin(tuple(differing), tuple(lengths))

    def twin(self, differing: Difference, lengths: Lengths) -> Twin:
        """What stands for all texts of the shape that differ so, and have as many lines in their blocks."""
        if len(self.twins) >= MANY:
            self.twins.clear()
        return self.twins.setdefault((differing, lengths), Twin(self, differing, lengths))

    def names(self, lines: list[str], twin: Twin) -> Names | None:
        """Name and namespace of a text that fits, each None where it isn't said; None where one is no scalar."""
        try:
            return tuple([None if number is None else once(lines[twin.line(number)])[3] for number in self.named])
        except NotPlain:
            return None

    def stencil(self, lines: list[str], twin: Twin) -> Stencil:
        """The stencil that a text makes which fits."""
        named = [None if number is None else twin.line(number) for number in self.named]
        return Stencil(lines, self._spots(twin), self.texts, twin.differing, named)

    def _spots(self, twin: Twin) -> list[Spot | None]:
        spots: list[Spot | None] = []
        blocks = zip(self.blocks, twin.lengths, strict=True)
        block, length = next(blocks, (None, 0))
        for number, (head, use) in enumerate(zip(self.heads, self.uses, strict=True)):
            spots.append(Spot(head, use, number) if head else None)
            while block and block.stop == number + 1:
                spots += [Spot(block.margin, block.use)] * length
                block, length = next(blocks, (None, 0))
        return [*spots, None]

    def _fits(self, found: list[str], first: int, differing: list[int | str], sure: set[str]) -> bool:
        """True where these lines fit those of the shape from `first` on. Raises: NotPlain.

        `sure` are values that were looked at.
        """
        piece = self.texts[first : first + len(found)]
        for at in compress(range(len(piece)), map(str.__ne__, found, piece)):
            line, head, use = found[at], self.heads[first + at], self.uses[first + at]
            if not head or not line.startswith(head):
                return False
            value = line[len(head) :]
            if use == BOUND:
                differing += first + at, line
            elif value in sure:  # most texts that differ are of one name
                continue
            elif is_text(value):
                sure.add(value)
            else:
                said = once(line)
                if said[4] != SCALAR or (use == TEXT and said[3].__class__ is not str):
                    return False
        return True

    def _past(self, block: Block, lines: list[str], at: int, differing: list[int | str]) -> int:
        """The line behind a block of text that starts at line `at`. Raises: NotPlain."""
        end = at + len(block.lines)
        found = lines[at:end]
        if block.takes(found) and not lines[end].startswith(block.deeper):
            return end
        text, end = literal(lines, at, block.column, block.kind)
        if not lines[end - 1].strip(" "):
            raise NotPlain
        if block.use == BOUND:
            differing += -block.stop, text
        return end

    def binds(self, start: int, end: int) -> bool:
        """True where no value on these lines, counted without blocks, differs from text to text."""
        free = any(self.heads[number] and self.uses[number] != BOUND for number in range(start, end))
        return not free and not any(start < block.stop <= end and block.use != BOUND for block in self.blocks)


class Twin:
    """What stands for texts of a shape: how they differ from the first one, and how many lines each of their blocks has."""

    __slots__ = ("differing", "lengths", "shape")

    def __init__(self, shape: Shape, differing: Difference, lengths: Lengths) -> None:
        self.shape, self.differing, self.lengths = shape, differing, lengths

    def stand_in(self) -> Any:
        """An object that is like those of all these texts but for values that nobody reads; None where none is at hand."""
        value, pairs = self.shape.value, iter(self.differing)
        for number, line in zip(pairs, pairs, strict=True):
            if number < 0:
                return None
            try:
                said = once(line)
            except NotPlain:
                return None
            if said[4] != SCALAR:
                return None
            value = put_in(value, self.shape.places[number], said[3])
        return value

    def pattern(self, changes: Settled) -> Pattern | None:
        """Changes of this text's lines, for its twins; None where they change or take away what differs from text to text."""
        pattern = Pattern(self, changes)
        spans = self.lengths, changes[::3], changes[1::3]
        bound = self.shape.bound.get(spans)
        if bound is None:
            lifted = pattern.lifted()
            pairs = [lifted[n : n + 2] for n in range(0, len(lifted), 3)]
            bound = all(start >= 0 and end >= 0 and self.shape.binds(start, end) for start, end in pairs)
            if len(self.shape.bound) >= MANY:
                self.shape.bound.clear()
            self.shape.bound[spans] = bound
        return pattern if bound else None

    def line(self, number: Any) -> int:
        """The number of a line that is counted without blocks of text before it."""
        line: int = number
        for block, length in zip(self.shape.blocks, self.lengths, strict=True):
            if block.stop <= number:
                line += length
        return line


class Pattern:
    """Changes of one text, for the texts that are like it."""

    __slots__ = ("changes", "twin")

    def __init__(self, twin: Twin, changes: Settled) -> None:
        self.twin, self.changes = twin, changes

    def of(self, twin: Twin) -> Settled:
        """The same changes by the numbers of another text's lines."""
        if twin.lengths == self.twin.lengths:
            return self.changes
        changes = self.lifted()
        for n in range(0, len(changes), 3):
            changes[n : n + 2] = twin.line(changes[n]), twin.line(changes[n + 1])
        return tuple(changes)

    def lifted(self) -> list[Any]:
        """The changes by the numbers that lines have without blocks of text; -1 for a line inside of one."""
        blocks: list[tuple[int, int]] = []
        before = 0
        for block, length in zip(self.twin.shape.blocks, self.twin.lengths, strict=True):
            blocks.append((block.stop + before, length))
            before += length
        lifted: list[Any] = list(self.changes)
        for n in range(0, len(lifted), 3):
            lifted[n : n + 2] = _without(blocks, lifted[n]), _without(blocks, lifted[n + 1])
        return lifted


def _without(blocks: list[tuple[int, int]], at: Any) -> int:
    """The number of a line without the blocks before it, each a first line and a length; -1 inside of one."""
    number: int = at
    for first, length in blocks:
        if first < at < first + length:
            return -1
        number -= length if at > first else 0
    return number


def entries(lines: list[str]) -> Iterator[Line]:
    """The lines of an item that start an entry, with their places, those of blocks of text passed over.

    Raises: NotPlain for comments and empty lines between them.
    """
    # What is open: column, whether it is a list, path and place; of a list those of its entry.
    around: list[tuple[int, bool, Path, Path]] = []
    path: Path = ()
    place: Path = ()
    at = 0
    while at < len(lines) - 1:
        text = lines[at]
        indent, dash, key, _, kind = token(text)
        if key is None and not dash:
            raise NotPlain
        while around and (around[-1][0] > indent or (around[-1][0] == indent and around[-1][1] and not dash)):
            around.pop()
        if not around or around[-1][0] < indent or around[-1][1] is not dash:
            around.append((indent, dash, (*path, EACH), (*place, -1)) if dash else (indent, dash, path, place))
        _, _, path, place = around[-1]
        column = indent
        if dash:
            place, column = (*place[:-1], int(place[-1]) + 1), indent + 2
            around[-1] = indent, dash, path, place
            around.append((column, False, path, place))
        if key is None:
            column = indent
        else:
            path, place = (*path, key), (*place, key)
        line = Line(text, path, place, column, kind)
        if kind == SCALAR:
            line.head = _head(text, column, key)
        yield line
        at = literal(lines, at + 1, column, kind)[1] if kind in BLOCKS else at + 1


def _head(text: str, column: int, key: str | None) -> str:
    """A line up to its value."""
    if key is None:
        return text[: column + 2]
    at = text.find(f"{key}: ", column)
    if at == column:
        return text[: at + len(key) + 2]
    return text[: text.index(f"{key}{text[column]}: ", column) + len(key) + 3]  # the key is quoted
