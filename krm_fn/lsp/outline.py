"""The keys of a YAML text as a tree, read from its lines alone.

A text that somebody types is broken most of the time. This reader takes block style line by line, and never fails: what it does
not understand, it passes over. It tells where the cursor is; what a text means, `yamlio` tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from krm_fn.base.expressions import expression

KEY = expression(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#&*!|>%@`{}\[\],"'-][^#]*?|-[^\s#][^#]*?)\s*:(?=\s|$)""")
SIMPLE = expression(r"([\w./-]*\w)\s*:(?=\s|$)")  # nearly all keys
DASH = expression(r"-(?=\s|$)")
BLOCK = expression(r"[|>][-+0-9]*\s*(?:#.*)?$")
COMMENT = expression(r"\s#")
WORD = expression(r"^[\w./-]*")
DEEPEST = 50  # brackets in brackets
LOWEST = 100  # keys and elements below one another, without those in brackets
LONGEST = 2_000  # characters of a line that are looked at


class OutlineEntry:
    """A key or an element of a list. `step` is the key or the index; `value` the scalar beside it, without quotes.

    `column` is the place of the key or the dash, `start` and `end` those of the value on the same line; `end` equals `start`
    where there is none. `last` is the last line that belongs to it.
    """

    __slots__ = ("children", "column", "depth", "end", "key_end", "last", "line", "parent", "start", "step", "value")

    def __init__(self, parent: OutlineEntry | None, step: Any, line: int, column: int) -> None:
        self.parent, self.step, self.line, self.column = parent, step, line, column
        self.value, self.key_end, self.start, self.end, self.last = "", column, column, column, line
        self.children: list[OutlineEntry] = []
        self.depth: int = parent.depth + 1 if parent else 0
        if parent:
            parent.children.append(self)

    @property
    def path(self) -> tuple[Any, ...]:
        """The steps from the document's root."""
        return (*self.parent.path, self.step) if self.parent else ()

    def child(self, step: Any) -> OutlineEntry | None:
        """The child with this key or index."""
        return next((each for each in self.children if each.step == step), None)

    def at(self, path: tuple[Any, ...]) -> OutlineEntry | None:
        """The entry at a path below this one."""
        found: OutlineEntry | None = self
        for step in path:
            found = found.child(step) if found else None
        return found

    def text(self, *path: Any) -> str:
        """The scalar at a path below; "" where there is none."""
        found = self.at(path)
        return found.value if found else ""

    def all(self) -> Iterator[OutlineEntry]:
        """This entry and all below it."""
        waiting = [self]
        while waiting:
            entry = waiting.pop()
            yield entry
            waiting.extend(reversed(entry.children))

    @property
    def is_list(self) -> bool:
        """True if its children are elements."""
        return bool(self.children) and isinstance(self.children[0].step, int)

    @property
    def plain(self) -> Any:
        """The value as maps, lists and strings."""
        if not self.children:
            return self.value
        if self.is_list:
            return [each.plain for each in self.children]
        return {each.step: each.plain for each in self.children}


class Here:
    """Where a cursor is: the entry on its line, or the one that a new line there belongs to.

    `part` is "key", "value" or "new". `text` is what is written from the start of the word up to the cursor, `start` and `end`
    are the place of the word.
    """

    def __init__(self, entry: OutlineEntry, part: str, text: str, start: int, end: int) -> None:
        self.entry, self.part, self.text, self.start, self.end = entry, part, text, start, end


class Outline:
    """The documents of a text."""

    def __init__(self, text: str) -> None:
        self.lines = [line[:LONGEST] for line in text.split("\n")]
        self.documents: list[OutlineEntry] = []
        self._by_line: dict[int, list[OutlineEntry]] = {}
        _Reader(self).read()

    @cached_property
    def objects(self) -> list[OutlineEntry]:
        """The roots of all objects: the documents, and the elements of their `items`."""
        return [root for document in self.documents for root in _objects(document)]

    def object_of(self, entry: OutlineEntry) -> OutlineEntry:
        """The root of the object that an entry belongs to."""
        found = root = entry
        while root.parent:
            root = root.parent
            if root.child("kind") and root.child("apiVersion"):
                found = root
        return found if found.child("kind") else root

    def entries(self, line: int) -> list[OutlineEntry]:
        """The entries that begin on a line."""
        return self._by_line.get(line, [])

    def note(self, entry: OutlineEntry) -> None:
        """Remember an entry by its line."""
        self._by_line.setdefault(entry.line, []).append(entry)

    def here(self, line: int, character: int) -> Here | None:
        """Where the cursor is; None in comments and in text that is not understood."""
        if line >= len(self.lines):
            return None
        text = self.lines[line].rstrip("\r")
        before = text[:character]
        if text.lstrip().startswith("#") or COMMENT.search(_unquoted(before)):
            return None
        for entry in reversed(self.entries(line)):
            if entry.start <= character and entry.key_end < character:
                part = "new" if isinstance(entry.step, int) else "value"  # an element may become a map
                return Here(entry, part, text[entry.start : character], entry.start, max(entry.end, entry.start))
            if entry.column <= character <= entry.key_end and not isinstance(entry.step, int):
                return Here(entry, "key", text[entry.column : character], entry.column, entry.key_end)
        word = before.lstrip(" -")
        start = character - len(word)
        if ":" in word:
            return None
        parent = self._around(line, start)
        end = start + len(WORD.findall(text[start:])[0])
        return Here(parent, "new", word, start, end) if parent else None

    def _around(self, line: int, column: int) -> OutlineEntry | None:
        """The entry that a key at this place would belong to."""
        own = self.entries(line)
        found = own[-1] if own else None
        while found is None and line > 0:
            line -= 1
            if self.lines[line].startswith(("---", "...")) and not self.entries(line):
                break
            above = self.entries(line)
            found = above[-1] if above else None
        if found is None:
            return next((document for document in self.documents if document.line >= line), None)
        while found.parent and found.column >= column:
            found = found.parent
        return found


def _objects(root: OutlineEntry) -> list[OutlineEntry]:
    items = root.child("items")
    if items and items.is_list and root.text("kind").endswith("List"):
        return [each for element in items.children for each in _objects(element)]
    return [root]


def _unquoted(text: str) -> str:
    """A text with blanks in place of what is in quotes."""
    return re.sub(r""""(?:[^"\\]|\\.)*"?|'[^']*'?""", lambda found: "x" * len(found[0]), text)


class _Reader:
    """Reads the lines of an outline."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.inner: OutlineEntry | None = None  # the entry that was read last
        self.block = -1  # the column of the key of a block scalar that is not over

    def read(self) -> None:
        for number, line in enumerate(self.outline.lines):
            line = line.rstrip("\r")  # noqa: PLW2901
            content = line.lstrip(" ")
            if line.startswith(("---", "...")) and (len(line) == 3 or line[3:4].isspace()):
                self._end()
            elif content and not content.startswith("#"):
                self._line(number, line, len(line) - len(content))
        self._end()

    def _end(self) -> None:
        self.inner, self.block = None, -1

    def _line(self, number: int, line: str, column: int) -> None:
        if self.block >= 0:
            if column > self.block:
                self._reach(number)
                return
            self.block = -1
        if self.inner is None:
            self.inner = root = OutlineEntry(None, None, number, -1)
            self.outline.documents.append(root)
        while dash := DASH.match(line, column):
            self._open(column, dash=True)
            if self.inner.depth >= LOWEST:
                self._reach(number)
                return
            element = OutlineEntry(self.inner, len(self.inner.children), number, column)
            self._begin(element, dash.end())
            column = dash.end() + len(line[dash.end() :]) - len(line[dash.end() :].lstrip(" "))
            if column >= len(line) or line[column] == "#":
                return
        key = SIMPLE.match(line, column) or KEY.match(line, column)
        if key is None:
            self._scalar(number, line, column)
            return
        self._open(column, dash=False)
        if self.inner.depth >= LOWEST:
            self._reach(number)
            return
        entry = OutlineEntry(self.inner, _name(key[1]), number, column)
        self._begin(entry, column + len(key[1]))
        self._value(entry, line, key.end())

    def _begin(self, entry: OutlineEntry, key_end: int) -> None:
        entry.key_end = entry.start = entry.end = key_end
        self.outline.note(entry)
        self.inner = entry.parent
        self._reach(entry.line)
        self.inner = entry

    def _open(self, column: int, *, dash: bool) -> None:
        """Close the entries that end before a key or dash in this column."""
        while self.inner and self.inner.parent:
            same = dash and self.inner.column == column and not isinstance(self.inner.step, int)
            if self.inner.column < column or same:
                return
            self.inner = self.inner.parent

    def _scalar(self, number: int, line: str, column: int) -> None:
        """A scalar alone on its line: the value of a list's element, or the rest of one."""
        element = self.inner
        if element and isinstance(element.step, int) and element.line == number:
            self._value(element, line, column)
        elif element:
            self._reach(number)

    def _value(self, entry: OutlineEntry, line: str, start: int) -> None:
        rest = line[start:]
        if BLOCK.match(rest.strip()):
            self.block = entry.column
            return
        comment = COMMENT.search(_unquoted(rest)) if "#" in rest else None
        written = (rest[: comment.start()] if comment else rest).strip()
        entry.start = start + len(rest) - len(rest.lstrip()) if written else start + (rest[:1] == " ")
        entry.end = entry.start + len(written)
        entry.value = _name(written)
        if written[:1] in ("{", "["):
            entry.value = ""
            _Flow(self.outline, line, entry.start, entry.end).read(entry, 0)

    def _reach(self, number: int) -> None:
        entry = self.inner
        while entry and entry.last < number:
            entry.last, entry = number, entry.parent


def _name(written: str) -> str:
    """A scalar without its quotes."""
    return written[1:-1] if len(written) > 1 and written[0] == written[-1] and written[0] in "\"'" else written


class _Flow:
    """Reads a map or a list in brackets, as far as it stands on one line."""

    def __init__(self, outline: Outline, line: str, start: int, end: int) -> None:
        self.outline, self.line, self.at, self.last = outline, line, start, end

    def read(self, entry: OutlineEntry, depth: int) -> None:
        """Read the collection that starts here as the value of an entry."""
        opening = self.line[self.at]
        self.at += 1
        while depth < DEEPEST and self._next() not in ("", "}", "]"):
            if opening == "[":
                self._value(self._entry(entry, len(entry.children), self.at, self.at), depth)
            else:
                start = self.at
                name = self._word(":,{}[]")
                self._value(self._entry(entry, _name(name), start, start + len(name)), depth)
            if self._next() == ",":
                self.at += 1
        self.at += 1

    def _entry(self, parent: OutlineEntry, step: Any, start: int, end: int) -> OutlineEntry:
        made = OutlineEntry(parent, step, parent.line, start)
        made.key_end = made.start = made.end = end
        self.outline.note(made)
        return made

    def _value(self, entry: OutlineEntry, depth: int) -> None:
        if self._next() == ":":
            self.at += 1
        following = self._next()
        entry.start = self.at
        if following in ("{", "["):
            self.read(entry, depth + 1)
        else:
            entry.value = _name(self._word(",{}[]"))
        entry.end = min(self.at, self.last)

    def _next(self) -> str:
        """The next character that is no blank; "" at the end."""
        while self.at < self.last and self.line[self.at] == " ":
            self.at += 1
        return self.line[self.at] if self.at < self.last else ""

    def _word(self, ends: str) -> str:
        start = self.at
        quote = self.line[start] if self.line[start : start + 1] in ("'", '"') else ""
        if quote:
            end = self.line.find(quote, start + 1, self.last)
            self.at = self.last if end < 0 else end + 1
        while self.at < self.last and self.line[self.at] not in ends:
            self.at += 1
        if self.at == start:
            self.at += 1  # a character that fits nowhere
        return self.line[start : self.at].strip()
