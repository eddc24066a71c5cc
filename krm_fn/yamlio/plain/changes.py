"""Changes of a map as changes of its lines, where that is plain to see: what most rendered VMs need, at a third of the cost.

It makes the very text that `krm_fn.yamlio.splice` makes, out of an item without comments whose levels are all laid out alike.
Whatever else there is to change is left to that: a block of text, a list that grows or shrinks, a map that loses all its keys.
"""

from __future__ import annotations

from sys import intern

from krm_fn.yamlio.compare import same
from krm_fn.yamlio.emit import Style, entry, kept_block
from krm_fn.yamlio.plain.lines import CLIPPED, OPEN, STRIPPED, NotPlain, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    # Lines `start` to `end` give way to a text without its last line break, or to nothing; where two touch, deeper ones first.
    Edit = tuple[int, int, int, str | None]

INSIDE = 1 << 30  # the indentation of empty lines: they stand in blocks of text only, whatever is around them


def respelled(text: str, old: Any, new: Any, style: Style) -> str:
    """The text of the map `old`, an item's, changed so that it reads as `new`.

    Raises: NotPlain where this is not the place to do so.
    """
    changed = Changes(text, style).flat(old, new)
    return applied(text, changed)


def applied(text: str, changed: Sequence[Any]) -> str:
    """The text with the changes made that `Changes.flat` gave."""
    lines = text.split("\n")
    out: list[str] = []
    at = 0
    for n in range(0, len(changed), 3):
        start, end, new = changed[n : n + 3]
        out += lines[at:start]
        if new is not None:
            out.append(new)
        at = end
    return "\n".join([*out, *lines[at:]])


class Changes:
    """The changes of one item's lines."""

    def __init__(self, text: str, style: Style) -> None:
        self.lines, self.style = text.split("\n"), style
        self.indents = [len(line) - len(body) if (body := line.lstrip(" ")) else INSIDE for line in self.lines]
        self.edits: list[Edit] = []

    def flat(self, old: Any, new: Any) -> tuple[Any, ...]:
        """The changes in order: start, end and text of each, one after the other.

        Raises: NotPlain.
        """
        if not isinstance(old, dict) or not isinstance(new, dict):
            raise NotPlain
        self.of_map(old, new, 0, len(self.lines) - 1, 2, depth=0)
        found: list[Any] = []
        at = 0
        for start, end, _, text in sorted(self.edits, key=_by_place):
            if start < at:
                raise NotPlain
            found += (start, end, text)
            at = end
        return tuple(found)

    def of_map(self, old: dict[str, Any], new: dict[str, Any], first: int, last: int, column: int, *, depth: int) -> None:
        """Change a map in block style on the lines from `first` to `last`."""
        at = first - 1
        kept = False
        for key, value in old.items():
            if key in new:
                kept = True
                now = new[key]
                if now is value or same(value, now):
                    continue
                at = self.line_of(key, at + 1, last, column, first)
                self.of_entry(at, value, now, last, column, depth=depth + 1)
            else:
                at = self.line_of(key, at + 1, last, column, first)
                if self.indents[at] != column:
                    raise NotPlain  # it shares its line with a dash
                self.edits.append((at, self.end_of(at, last, column), -depth, None))
        if not kept:
            raise NotPlain
        if len(new) > len(old) or any(key not in old for key in new):
            added = {key: value for key, value in new.items() if key not in old}
            self.edits.append((last, last, -depth, kept_block(added, column, self.style)))

    def of_entry(self, at: int, old: Any, new: Any, last: int, column: int, *, depth: int) -> None:
        """Change the value of the key on line `at`."""
        line = self.lines[at]
        if old and isinstance(old, dict) and isinstance(new, dict):
            self.of_map(old, new, at + 1, self.end_of(at, last, column), self.indents[at + 1], depth=depth)
        elif old and isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
            self.of_list(old, new, at + 1, self.end_of(at, last, column), depth)
        else:
            _, end, _, kind = places(line)
            if kind in (OPEN, CLIPPED, STRIPPED):
                raise NotPlain
            inline, *below = entry("", new, column, self.style)
            self.edits.append((at, at + 1, -depth, intern(line[: end + 1] + inline)))  # many VMs get the same
            if below:
                self.edits.append((at + 1, at + 1, -depth, intern("\n".join(below))))

    def of_list(self, old: list[Any], new: list[Any], first: int, last: int, depth: int) -> None:
        """Change entries of a list in block style, each in its place."""
        column = self.indents[first]
        starts = [at for at in range(first, last) if self.indents[at] == column]
        if len(starts) != len(old):
            raise NotPlain
        starts.append(last)
        for number, (one, two) in enumerate(zip(old, new, strict=True)):
            if one is two or same(one, two):
                continue
            if not (one and isinstance(one, dict) and isinstance(two, dict)):
                raise NotPlain
            self.of_map(one, two, starts[number], starts[number + 1], column + 2, depth=depth + 1)

    def line_of(self, key: str, at: int, last: int, column: int, first: int) -> int:
        """The line of a key of a map, which is not before line `at`."""
        if at == first:
            if self.lines[first].startswith(key + ":", column):
                return first
            at += 1
        head = " " * column + key + ":"
        for number in range(at, last):
            if self.lines[number].startswith(head):
                return number
        raise NotPlain

    def end_of(self, at: int, last: int, column: int) -> int:
        """The line behind the value of the key on line `at`."""
        end, indents = at + 1, self.indents
        while end < last and (indents[end] > column or (indents[end] == column and self.lines[end].startswith("-", column))):
            end += 1
        return end


def _by_place(edit: Edit) -> tuple[int, int, int]:
    return edit[:3]
