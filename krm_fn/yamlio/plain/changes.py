"""Changes of a map as changes of its lines, in simple cases. Most rendered VMs need only these, at a fifth of the cost.

The result is the same text that `krm_fn.yamlio.splice` makes. The item must have the same layout at all levels.
All other changes are left to that module: a block of text, a list that grows or shrinks, a map that loses all its keys, and
changes beside comments and empty lines.
"""

from __future__ import annotations

from sys import intern

from krm_fn.base.annotations import Any, Sequence
from krm_fn.yamlio.emit import Style, entry, kept_block
from krm_fn.yamlio.plain.characters import NotPlain
from krm_fn.yamlio.plain.lines import EMPTY_LIST, EMPTY_MAP, SCALAR, token

# Start and end of a span of complete lines, its depth, and the new lines without the last line break, or None. If two spans
# touch, the deeper one comes first.
Edit = tuple[int, int, int, str | None]
# The differences between two maps or lists, by the old one's keys or indexes. A difference that is no map is a new value.
Difference = dict[Any, Any]
# The start of a map's first key, of a list's first line or of a key; the end of all its lines; its column; its depth.
Extent = tuple[int, int, int, int]


# Other differences, compared by identity: another value; no value; a new key.
OTHER: Difference = {}
GONE: Difference = {}
ADDED: Difference = {}
ABSENT = object()
# The kinds of values that end on their line.
ON_LINE = (SCALAR, EMPTY_MAP, EMPTY_LIST)


def respelled(text: str, old: Any, new: Any, style: Style) -> str:
    """The text of the map `old`, which is an item, changed so that it reads as `new`.

    Raises: NotPlain if this module cannot make the change.
    """
    return applied(text, Changes(text, style).flat(old, new))


def applied(text: str, changed: Sequence[Any]) -> str:
    """The text with the changes from `Changes.flat` applied."""
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


def difference(old: Any, new: Any) -> Difference | None:
    """The differences between two plain values; None if they are the same in JSON (see `krm_fn.yamlio.compare.same`)."""
    found = {}
    if old.__class__ is dict and new.__class__ is dict and old:
        for key, value in old.items():
            now = new.get(key, ABSENT)
            if now is not value:
                below = GONE if now is ABSENT else difference(value, now)
                if below is not None:
                    found[key] = below
        return found or (None if len(old) == len(new) else {ABSENT: ADDED})
    if old.__class__ is list and new.__class__ is list and len(old) == len(new):
        for number, value in enumerate(old):
            if value is not new[number]:
                below = difference(value, new[number])
                if below is not None:
                    found[number] = below
        return found or None
    equal = old == new and (old.__class__ is bool) == (new.__class__ is bool)
    return None if equal else OTHER


class Changes:
    """The changes of a text that holds one map, whose keys are at `column`: after the dash of an item, or in a document."""

    def __init__(self, text: str, style: Style, column: int = 2) -> None:
        self.text, self.style, self.column = text, style, column
        self.edits: list[Edit] = []

    def flat(self, old: Any, new: Any) -> tuple[Any, ...]:
        """The changes in order, one after the other: number of the first line, of the line after the last, and text of each.

        Raises: NotPlain.
        """
        if not isinstance(old, dict) or not isinstance(new, dict):
            raise NotPlain
        differing = difference(old, new)
        if differing is not None:
            self.of_map(differing, old, new, (self.column, len(self.text), self.column, 0))
        found: list[Any] = []
        at = line = 0
        for start, end, _, text in sorted(self.edits, key=_by_place):
            if start < at:
                raise NotPlain
            first = line + self.text.count("\n", at, start)
            line = first + self.text.count("\n", start, end)
            found += (first, line, text)
            at = end
        return tuple(found)

    def of_map(self, differing: Difference, old: dict[str, Any], new: dict[str, Any], place: Extent) -> None:
        """Change a map in block style."""
        at, end, column, depth = place
        begin, keys, gone = at, list(old), 0
        if not (keys and self.text.startswith(f"{keys[0]}:", begin)):
            raise NotPlain  # the key is quoted, or stands in brackets or behind a comment
        for key, below in differing.items():
            if below is ADDED:
                continue
            number = keys.index(key)
            at = self.line_of(key, at, end, column) + column if number else begin
            behind = self.line_of(keys[number + 1], at, end, column) if number + 1 < len(keys) else end
            if below is GONE:
                gone += 1
                self.refuse_remarks(at, behind)
                self.edits.append((self.line_start(at, column), behind, -depth, None))
            else:
                self.of_entry(below, old[key], new[key], at + len(key) + 1, (at, behind, column, depth + 1))
        if gone == len(keys):
            raise NotPlain
        if len(new) > len(old) - gone:
            added = {key: value for key, value in new.items() if key not in old}
            self.refuse_remarks(self.text.rfind("\n", 0, end - 1) + 1, end)
            self.edits.append((end, end, -depth, kept_block(added, column, self.style)))

    def of_entry(self, below: Difference, old: Any, new: Any, colon: int, place: Extent) -> None:
        """Change the value of a key. `colon` is the index after the key's colon; `place` has the start of the key."""
        at, end, column, depth = place
        next_line = self.text.index("\n", at) + 1
        rest = self.text[colon:next_line]
        if below is OTHER:
            line = self.text.rfind("\n", 0, at) + 1
            if " #" in rest or rest.endswith(" \n") or token(self.text[line : next_line - 1])[4] not in ON_LINE:
                raise NotPlain
            inline, *lines = entry("", new, column, self.style)
            self.edits.append((line, next_line, -depth, intern(self.text[line:colon] + inline)))  # many VMs get the same text
            if lines:
                self.refuse_remarks(next_line, self.text.find("\n", next_line) + 1)
                self.edits.append((next_line, next_line, -depth, intern("\n".join(lines))))
        elif rest != "\n" and rest.lstrip(" ")[0] not in "\n#":
            raise NotPlain  # brackets
        elif isinstance(old, dict):
            inner = column + self.style.step
            self.of_map(below, old, new, (next_line + inner, end, inner, depth))
        else:
            self.of_list(below, old, new, (next_line, end, column + self.style.dash, depth))

    def of_list(self, differing: Difference, old: list[Any], new: list[Any], place: Extent) -> None:
        """Change entries of a list in block style in place."""
        begin, end, column, depth = place
        dash = "\n" + " " * column + "- "
        starts = [begin]
        while (at := self.text.find(dash, starts[-1], end)) >= 0:
            starts.append(at + 1)
        if len(starts) != len(old) or not self.text.startswith(dash, begin - 1):
            raise NotPlain
        starts.append(end)
        for number, below in differing.items():
            if below is OTHER or not isinstance(old[number], dict):
                raise NotPlain
            first = starts[number] + column + 2
            self.of_map(below, old[number], new[number], (first, starts[number + 1], column + 2, depth + 1))

    def line_of(self, key: str, at: int, end: int, column: int) -> int:
        """The start of the line of a key of a map that is not the first key. The search starts at `at`."""
        found = self.text.find("\n" + " " * column + key + ":", at, end)
        if found < 0:
            raise NotPlain
        return found + 1

    def refuse_remarks(self, start: int, end: int) -> None:
        """Raises: NotPlain if a line of this span is empty or a comment. The general writer knows to what they belong."""
        for line in self.text[start:end].split("\n")[:-1]:
            if line.lstrip(" ")[:1] in ("", "#"):
                raise NotPlain

    def line_start(self, at: int, column: int) -> int:
        """The start of the line of a key that is removed with its line."""
        start = self.text.rfind("\n", 0, at) + 1
        if self.text[start:at] != " " * column:
            raise NotPlain  # a dash is on the same line
        return start


def _by_place(edit: Edit) -> tuple[int, int, int]:
    return edit[:3]
