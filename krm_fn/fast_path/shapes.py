"""Shapes: items that have the same lines except for values, and an index that finds the shape of an item.

A shape is learned from an item that was read. Another item has this shape if it has the same number of lines, and each line is
equal or differs only in its value. Then it has the plain form too, and the same keys and lists. `fields` says how a value is
used, and so how much it may differ.
"""

from __future__ import annotations

from _operator import itemgetter, ne  # `operator` would load what is not needed here
from itertools import compress

from krm_fn.base.annotations import Any, Callable, Iterator
from krm_fn.base.paths import Path, put_in
from krm_fn.fast_path.fields import ANY, FIXED, NAMES, READ, TEXT, Uses
from krm_fn.pipeline.own_texts import EACH
from krm_fn.yamlio.plain.lines import (
    CLIPPED,
    LETTERS,
    SCALAR,
    STRIPPED,
    Layout,
    NotPlain,
    indent_of,
    is_text,
    literal,
    once,
    places,
    token,
)

# The lines with a READ value that differs from the value in the shape's first item: number and line of each.
Difference = tuple[int | str, ...]
# Items that have the same shape and difference are rendered in the same way.
Likeness = tuple["ItemShape", Difference]
Names = tuple[str | None, str | None]
# A text replaces the lines `start` to `end` of an item, change after change; see `krm_fn.yamlio.plain.changes`.
Changes = tuple[int | str | None, ...]


BLOCKS = (CLIPPED, STRIPPED)
FIRST_OF_BLOCK, IN_BLOCK = 4, 5  # uses of the lines of a block of text, in addition to those of `fields`
KEPT = 128  # shapes per sort
LIKENESSES = 20_000  # that are kept
PATIENCE = 150  # items of a sort for which shapes need not pay: 64 shapes in turn are all known after so many


class EntryLine:
    """A line that starts an entry: its number and column, the entry's key, path and place (the path with indexes), and the
    value's kind.

    `end` is the number of the next such line.
    """

    __slots__ = ("column", "end", "key", "kind", "number", "path", "place")

    def __init__(self, number: int, column: int, key: str | None, path: Path, place: Path, kind: int) -> None:  # noqa: PLR0917
        self.number, self.column, self.key, self.path, self.place, self.kind = number, column, key, path, place, kind
        self.end = number + 1


class ItemShape:
    """The lines of an item and how they may differ. `heads` are the parts of lines before their values, "" for a fixed line."""

    def __init__(self, text: str, value: dict[str, Any], layout: Layout, uses: Uses) -> None:
        """`value` and `layout` were read from the text.

        Raises: NotPlain if the text has more than entries and blocks of text, or if a name is no scalar.
        """
        self.value, self.layout = value, layout
        self.api_version, self.kind = str(value["apiVersion"]), str(value["kind"])
        self.texts = lines = text.split("\n")
        self.heads, self.uses = [""] * len(lines), [FIXED] * len(lines)
        self.places: dict[int, Path] = {}  # of lines with values
        self._blocks: list[EntryLine] = []  # those that may differ
        for line in entries(lines):
            self._take(line, uses(line.path[1:]))
        numbers = {place: number for number, place in self.places.items()}
        self._names = [numbers.get(path) for path in NAMES]
        # The last line and those with apiVersion and kind are fixed. The last one is among the free ones too, so that there is
        # more than one of both.
        fixed = [number for number, head in enumerate(self.heads) if not head]
        free = [number for number, head in enumerate(self.heads) if head] + fixed[-1:] * 2
        self._fixed_of, self._free_of = itemgetter(*fixed), itemgetter(*free)
        self._fixed, self._free = self._fixed_of(lines), self._free_of(lines)
        self._rows = [(number, self.heads[number], len(self.heads[number]), self.uses[number]) for number in free]

    def _take(self, line: EntryLine, use: int) -> None:
        """Note how the lines of an entry may differ. Raises: NotPlain."""
        number, text = line.number, self.texts[line.number]
        if line.key is not None and line.kind == SCALAR:
            self.places[number] = line.place[1:]
            if use != FIXED:
                self.heads[number], self.uses[number] = text[: places(text)[2]], use
        elif line.path[1:] in NAMES:
            raise NotPlain
        elif line.kind in BLOCKS and use in (TEXT, ANY):
            first = self.texts[number + 1]
            for at in range(number + 1, line.end):
                self.heads[at], self.uses[at] = first[: indent_of(first)], IN_BLOCK
            self.uses[number + 1] = FIRST_OF_BLOCK
            self._blocks.append(line)

    def fit(self, lines: list[str]) -> Difference | None:
        """The difference of an item with the same number of lines from the first one; None if it has another shape."""
        if self._fixed_of(lines) != self._fixed:
            return None
        found: list[int | str] = []
        sure: set[str] = set()  # values that were checked: most that differ between items belong to one name
        free = self._free_of(lines)
        for line, (number, head, end, use) in compress(zip(free, self._rows, strict=True), map(ne, free, self._free)):
            if not line.startswith(head):
                return None
            rest = line[end:]
            if use == READ:
                if not _is_scalar(line):
                    return None
                found += number, line
            elif use <= ANY and (rest in sure or is_text(rest)):
                sure.add(rest)
            elif not _takes(line, rest, use):
                return None
        return tuple(found)

    def names(self, lines: list[str]) -> Names | None:
        """Name and namespace of an item of this shape, each None if the item has none; None if one is not a string."""
        name, namespace = [None if number is None else self._value(number, lines[number]) for number in self._names]
        texts = all(each is None or isinstance(each, str) for each in (name, namespace))
        return (name, namespace) if texts else None

    def _value(self, number: int, line: str) -> Any:
        """The value of a line of an item."""
        rest = line[len(self.heads[number]) :]
        return rest if rest[0] in LETTERS and is_text(rest) else once(line)[3]

    def value_of(self, lines: list[str]) -> dict[str, Any]:
        """The value of an item of this shape. It shares all equal parts with the first item's value."""
        own: dict[Path, Any] = {(): self.value.copy()}
        for number in compress(range(len(lines)), map(ne, lines, self.texts)):
            place = self.places.get(number)
            if place:
                _owned(own, place[:-1])[place[-1]] = self._value(number, lines[number])
        for block in self._blocks:
            start = block.number + 1
            if lines[start : block.end] != self.texts[start : block.end]:
                text = literal(lines, start, block.column, block.kind)[0]
                _owned(own, block.place[1:-1])[block.place[-1]] = text
        return own[()]  # type: ignore[no-any-return]

    def stand_in(self, difference: Difference) -> dict[str, Any]:
        """An object like all items with this difference from the first one, except for values that nobody reads."""
        value, pairs = self.value, iter(difference)
        for number, line in zip(pairs, pairs, strict=True):
            value = put_in(value, self.places[number], token(line)[3])  # type: ignore[index, arg-type]
        return value

    def keeps_unread_values(self, changes: Changes) -> bool:
        """True if these changes of an item's lines remove no unread value; such a value differs between items."""
        return all(
            self.uses[number] <= READ
            for start, end in zip(changes[::3], changes[1::3], strict=True)
            for number in range(start, end)  # type: ignore[arg-type]
        )


def _owned(own: dict[Path, Any], path: Path) -> Any:
    """The map or list at a path of a value, `own[()]`. It is copied when it is first used."""
    found = own.get(path)
    if found is None:
        around = _owned(own, path[:-1])
        found = own[path] = around[path[-1]] = around[path[-1]].copy()
    return found


def _is_scalar(line: str) -> bool:
    """True if a line has a scalar in the plain form."""
    try:
        return token(line)[4] == SCALAR
    except NotPlain:
        return False


def _takes(line: str, rest: str, use: int) -> bool:
    """True if a line, which nobody reads, has the plain form; `rest` is its text after the head."""
    if use in (FIRST_OF_BLOCK, IN_BLOCK):
        bare = rest.strip(" ") if use == FIRST_OF_BLOCK else rest.rstrip(" ")
        return rest == bare != "" and rest.isprintable()
    try:
        _, _, _, value, kind = once(line)
    except NotPlain:
        return False
    return kind == SCALAR and (use == ANY or isinstance(value, str))


def entries(lines: list[str]) -> Iterator[EntryLine]:
    """The lines of an item that start an entry, without blocks of text. Paths and places start in the list of items.

    Raises: NotPlain for comments and empty lines between them.
    """
    # The open collections: column, whether it is a list, path and place; for a list, those of its entry.
    around: list[tuple[int, bool, Path, Path]] = []
    path: Path = ()
    place: Path = ()
    at = 0
    while at < len(lines) - 1:
        indent, dash, key, _, kind = token(lines[at])
        if key is None and not dash:
            raise NotPlain
        while around and (around[-1][0] > indent or (around[-1][0] == indent and around[-1][1] and not dash)):
            around.pop()
        if not around or around[-1][0] < indent or around[-1][1] is not dash:
            around.append((indent, dash, (*path, EACH), (*place, -1)) if dash else (indent, dash, path, place))
        _, _, path, place = around[-1]
        column = indent
        if dash:
            place = (*place[:-1], int(place[-1]) + 1)
            around[-1] = indent, dash, path, place
            around.append((indent + 2, False, path, place))
            column = indent if key is None else indent + 2
        if key is not None:
            path, place = (*path, key), (*place, key)
        line = EntryLine(at, column, key, path, place, kind)
        if kind in BLOCKS:
            line.end = literal(lines, at + 1, column, kind)[1]
        yield line
        at = line.end


def skeleton(lines: list[str]) -> tuple[str, ...]:
    """The lines of an item without their values and blocks of text. All items of a shape have it, and maybe others too."""
    found: list[str] = []
    margin = ""  # of the lines of a block
    for line in lines:
        if margin and (line.startswith(margin) or not line):
            continue
        found.append(line.partition(": ")[0])
        margin = " " * (indent_of(line) + 1) if line.endswith((": |", ": |-")) else ""
    return tuple(found)


class Sort:
    """The shapes of items that have the same second line, by the number of their lines."""

    __slots__ = ("by_length", "hits", "kept", "looked_up", "seen")

    def __init__(self) -> None:
        self.by_length: dict[int, list[ItemShape]] = {}
        self.seen: set[int] = set()  # the hashes of skeletons of items from which no shape was learned
        self.kept = self.looked_up = self.hits = 0

    @property
    def pays(self) -> bool:
        """False once fewer than half of the items after the first ones had a known shape."""
        return 2 * self.hits >= self.looked_up - PATIENCE


class Shapes:
    """The shapes of a list's items, learned one by one.

    A shape is learned from the second item with the same skeleton, because most unique items stay unique. If the shapes of a
    sort do not pay, they are forgotten, and no more are learned.
    """

    def __init__(self, uses_of: Callable[[str], Uses | None]) -> None:
        """`uses_of` returns the uses of a kind's values; None for a kind of which every object is read."""
        self._uses_of = uses_of
        self._sorts: dict[str, Sort] = {}
        self._likenesses: dict[Likeness, Likeness] = {}

    def pay_for(self, line: str) -> bool:
        """False if the items with this second line are too different. Most items have their kind in it."""
        sort = self._sorts.get(line)
        return sort is None or sort.pays

    def find(self, lines: list[str]) -> tuple[Likeness, Names] | None:
        """The likeness of an item and its names; None if its shape is not known."""
        sort = self._sorts.setdefault(lines[1], Sort())
        sort.looked_up += 1
        for shape in sort.by_length.get(len(lines), ()):
            difference = shape.fit(lines)
            names = None if difference is None else shape.names(lines)
            if difference is not None and names is not None:
                sort.hits += 1
                return self._likeness(shape, difference), names
        if not sort.pays:
            sort.by_length.clear()
            sort.seen.clear()
        return None

    def _likeness(self, shape: ItemShape, difference: Difference) -> Likeness:
        """One object for all equal likenesses, because there are many."""
        if len(self._likenesses) >= LIKENESSES:
            self._likenesses.clear()
        likeness = shape, difference
        return self._likenesses.setdefault(likeness, likeness)

    def wants(self, lines: list[str]) -> bool:
        """True if the shape of an item, which `find` does not know, should be learned."""
        sort = self._sorts[lines[1]]
        if not sort.pays or sort.kept == KEPT:
            return False
        found = hash(skeleton(lines))
        if found not in sort.seen:
            sort.seen.add(found)
            return False
        sort.seen.remove(found)
        return True

    def learn(self, text: str, value: dict[str, Any], layout: Layout) -> Likeness | None:
        """The likeness of an item that was read, and of later items like it; None if such items have no shape."""
        uses = self._uses_of(str(value["kind"]))
        try:
            shape = ItemShape(text, value, layout, uses) if uses else None
        except NotPlain:
            return None
        if shape is None:
            return None
        sort = self._sorts[shape.texts[1]]
        sort.kept += 1
        sort.by_length.setdefault(len(shape.texts), []).append(shape)
        return self._likeness(shape, ())
