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

from krm_fn.yamlio.plain.lines import CLIPPED, SCALAR, STRIPPED, NotPlain, indent_of, is_text, literal, once, token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from krm_fn.paths import Path

    Uses = Callable[[Path], int]
    UsesOf = Callable[[str], Uses | None]  # by kind, None where every item of it is looked at
    # A text by its difference from the first of its shape: number and line of each bound line that is another.
    Difference = tuple[int | str, ...]
    # Lines `start` to `end` of an item give way to a text, change after change; see `krm_fn.yamlio.plain.changes`.
    Settled = tuple[int | str | None, ...]

BOUND, TEXT, ANY = range(3)
EACH = "*"  # in paths, any entry of a list
NAMES: tuple[Path, ...] = (("metadata", "name"), ("metadata", "namespace"))
BLOCKS = (CLIPPED, STRIPPED)
SPACES = ("", " ")
KEPT = 8  # shapes of a kind
LONGEST = 1 << 16  # characters of an item; what is longer has no twins
# To learn a shape costs as much as a few of its twins save.
WORTH, COST = 100, 5


class Line:
    """A line that starts an entry: its path, how much of it is key, its column, and the kind of its value."""

    __slots__ = ("column", "head", "kind", "path", "text")

    def __init__(self, text: str, path: Path, column: int, kind: int) -> None:
        self.text, self.path, self.column, self.kind = text, path, column, kind
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

    __slots__ = ("blocks", "heads", "hits", "named", "pieces", "texts", "uses")

    def __init__(self, text: str, uses: Uses) -> None:
        """Raises: NotPlain where the text is not all entries and blocks."""
        lines = text.split("\n")
        self.hits = 0
        self.texts: list[str] = []
        self.heads: list[str] = []
        self.uses: list[int] = []
        self.blocks: list[Block] = []
        at = 0
        named = {}
        for line in entries(lines):
            use = uses(line.path[1:])
            named[line.path[1:]] = len(self.texts)
            self.texts.append(line.text)
            self.heads.append(line.head)
            self.uses.append(use)
            at += 1
            if line.kind in BLOCKS:
                end = literal(lines, at, line.column, line.kind)[1]
                self.blocks.append(Block(line, lines[at:end], len(self.texts), use))
                at = end
        self.named = [(named[path], once(self.texts[named[path]])[3]) if path in named else None for path in NAMES]
        stops = [0, *(block.stop for block in self.blocks), len(self.texts)]
        self.pieces = [self.texts[start:stop] for start, stop in pairwise(stops)]

    def fit(self, text: str) -> Twin | None:
        """How a text differs from the first one; None where it is of another shape."""
        lines = text.split("\n")
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
            if at != len(lines) - 1 or lines[at]:
                return None
            twin = Twin(self, tuple(differing), lengths)
            twin.names = tuple([self._name(named, lines, twin) for named in self.named])
        except NotPlain:
            return None
        return twin

    def _name(self, named: tuple[int, Any] | None, lines: list[str], twin: Twin) -> Any:
        """The value of the line that says a name, None where there is none. Raises: NotPlain."""
        if named is None:
            return None
        line = lines[twin.line(named[0])]
        return named[1] if line == self.texts[named[0]] else once(line)[3]

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
            differing += block.stop, text
        return end

    def binds(self, start: int, end: int) -> bool:
        """True where no value on these lines, counted without blocks, differs from text to text."""
        free = any(self.heads[number] and self.uses[number] != BOUND for number in range(start, end))
        return not free and not any(start < block.stop <= end and block.use != BOUND for block in self.blocks)


class Shapes:
    """The shapes of a list's items by kind, the most frequent first. Learning ends where what was learned is of little use."""

    def __init__(self, uses: UsesOf) -> None:
        self._uses = uses
        self._shapes: dict[str, list[Shape]] = {}
        self._worth: dict[str, int] = {}

    def find(self, kind: str, text: str) -> Twin | None:
        """How a text differs from the first one of its shape, where that is known."""
        shapes = self._shapes.get(kind, [])
        for number, shape in enumerate(shapes):
            twin = shape.fit(text)
            if twin:
                self._worth[kind] += 1
                shape.hits += 1
                if number and shape.hits > shapes[number - 1].hits:
                    shapes[number - 1 : number + 1] = shape, shapes[number - 1]
                return twin
        return None

    def learn(self, kind: str, text: str) -> Shape | None:
        """The shape of a text that was read, where others may have it too. The text fits no other."""
        uses = self._uses(kind)
        worth = self._worth[kind] = self._worth.get(kind, WORTH) - COST
        if uses is None or worth < 0 or len(text) > LONGEST:
            return None
        try:
            shape = Shape(text, uses)
        except NotPlain:
            return None
        shapes = self._shapes.setdefault(kind, [])
        shapes[KEPT - 1 :] = [shape]
        return shape


class Twin:
    """A text of a shape: how it differs from the first one, how many lines each of its blocks has, and the object's names."""

    __slots__ = ("differing", "lengths", "names", "shape")

    def __init__(self, shape: Shape, differing: Difference, lengths: Sequence[int]) -> None:
        self.shape, self.differing, self.lengths = shape, differing, lengths
        self.names: tuple[Any, ...] = ()

    def pattern(self, changes: Settled) -> Pattern | None:
        """Changes of this text's lines, for its twins; None where they change or take away what differs from text to text."""
        pattern = Pattern(self, changes)
        lifted = pattern.lifted()
        for n in range(0, len(lifted), 3):
            if lifted[n] < 0 or lifted[n + 1] < 0 or not self.shape.binds(lifted[n], lifted[n + 1]):
                return None
        return pattern

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
    """The lines of an item that start an entry, with their paths, those of blocks of text passed over.

    Raises: NotPlain for comments and empty lines between them.
    """
    around: list[tuple[int, bool, Path]] = []  # what is open: column, whether it is a list, path
    waiting: Path = ()
    at = 0
    while at < len(lines) - 1:
        text = lines[at]
        indent, dash, key, _, kind = token(text)
        if key is None and not dash:
            raise NotPlain
        while around and (around[-1][0] > indent or (around[-1][:2] == (indent, True) and not dash)):
            around.pop()
        if not around or around[-1][0] < indent or around[-1][1] is not dash:
            around.append((indent, dash, waiting))
        path, column = around[-1][2], indent
        if dash:
            path, column = (*path, EACH), indent + 2
            around.append((column, False, path))
        line = Line(text, path if key is None else (*path, key), column if key is not None else indent, kind)
        if kind == SCALAR:
            line.head = _head(text, line.column, key)
        waiting = line.path
        yield line
        at = literal(lines, at + 1, line.column, kind)[1] if kind in BLOCKS else at + 1


def _head(text: str, column: int, key: str | None) -> str:
    """A line up to its value."""
    if key is None:
        return text[: column + 2]
    at = text.find(f"{key}: ", column)
    if at == column:
        return text[: at + len(key) + 2]
    return text[: text.index(f"{key}{text[column]}: ", column) + len(key) + 3]  # the key is quoted
