"""Changes to a value as changes to its text: only what differs is written anew.

`respell` is the way in. It splices as finely as it can, reads the result back, and where that isn't the wanted value (an
anchor that others alias, an exotic layout) it splices coarser: the collections around each change, then those around
them, at worst the whole value, as new text in block or flow style.
"""

from __future__ import annotations

from krm_fn.errors import InputError
from krm_fn.yamlio.emit import Style, block, entry, flow, scalar_text
from krm_fn.yamlio.layout import (
    before,
    break_before,
    column_of,
    dash_before,
    line_end,
    line_start,
    next_line,
    past_comments,
    skip_blanks,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from krm_fn.paths import Path
    from krm_fn.yamlio.positions import Node

BLOCK_SCALAR, ALIAS, MAP, SEQ = 1, 2, 3, 4  # as in positions, which imports libyaml

# How the text around a node holds it: under a key of a block map, behind a dash, inside brackets, or as a document's root.
KEY, DASH, FLOW, ROOT = "key", "dash", "flow", "root"


class Unspliceable(Exception):  # noqa: N818
    """This change can't be made in place; splice coarser."""


def same(a: Any, b: Any) -> bool:
    """True where two plain values are the same to JSON: `1` and `1.0` are, `1` and `true` are not."""
    if a != b:
        return False
    # Equal to Python, where 1 == True. The printed form tells them apart, and settles nearly every case at C's speed.
    if not isinstance(a, (dict, list)):
        return (a.__class__ is bool) == (b.__class__ is bool)
    return repr(a) == repr(b) or _same_kinds(a, b)


def _same_kinds(a: Any, b: Any) -> bool:
    waiting = [(a, b)]
    while waiting:
        one, two = waiting.pop()
        if isinstance(one, dict):
            waiting += [(value, two[key]) for key, value in one.items()]
        elif isinstance(one, list):
            waiting += zip(one, two, strict=True)
        elif (one.__class__ is bool) != (two.__class__ is bool):
            return False
    return True


def changes(old: Any, new: Any, path: Path = ()) -> list[Path]:
    """The paths at which two values differ: the deepest that stand in both, or their parent for what only one has."""
    found: list[Path] = []
    waiting = [(old, new, path)]
    while waiting:
        a, b, at = waiting.pop()
        if isinstance(a, dict) and isinstance(b, dict):
            if a.keys() != b.keys():
                found.append(at)
            waiting += [(a[key], b[key], (*at, key)) for key in a if key in b and a[key] is not b[key]]
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                found.append(at)
            waiting += [(one, two, (*at, i)) for i, (one, two) in enumerate(zip(a, b, strict=False)) if one is not two]
        elif not same(a, b):
            found.append(at)
    return found


def respell(
    text: str,
    old: Any,
    new: Any,
    *,
    parse: Callable[[str], Node],
    read: Callable[[str], Any],
    newline: str = "\n",
    json: bool = False,
    inside: bool = False,
    whole: bool = False,
) -> str:
    """The text of `old` changed so that it reads as `new`.

    `parse` gives the tree of a text, `read` its value or an InputError. `json` is for a text that shows no style of its own,
    `inside` for one out of brackets; `whole` has everything written anew.
    Raises: Unspliceable where not even the whole value written anew reads back, which no legal text is known to do.
    """
    root = parse(text)
    for targets in ladder(old, new) if not whole else [frozenset({()})]:
        try:
            splicer = Splicer(text, root, newline, targets, json=json, inside=inside)
            edited = splicer.run(old, new)
            if splicer.simple or same(read(edited), new):
                return edited
        except (Unspliceable, InputError):
            continue
    raise Unspliceable("the text holds a form that can't be changed")


def ladder(old: Any, new: Any) -> Iterator[frozenset[Path]]:
    """Sets of paths to write anew, finer ones first: none, then the changes, what is around them, and so on up to the whole."""
    yield frozenset()
    paths = changes(old, new)
    for cut in range(max(map(len, paths), default=0) + 1):
        yield frozenset(path[: max(0, len(path) - cut)] for path in paths)


class Splicer:
    """The edits of one text: spans that are replaced. Where two touch, the deeper one comes first."""

    def __init__(
        self, text: str, root: Node, newline: str, targets: frozenset[Path], *, json: bool = False, inside: bool = False
    ) -> None:
        self.text, self.root, self.newline, self.targets, self.json = text, root, newline, targets, json
        self.edits: list[tuple[int, int, int, str]] = []  # start, end, depth downwards, new text
        self.depth, self.inside = 0, inside
        self.waiting: list[tuple[Node, Holder, Any, Any, Path, bool]] = []
        # True while every edit puts whole lines between lines of block style, or a scalar in place of one: reading the
        # text back would cost as much as everything else together, and has nothing to find. Any other edit clears it.
        exotic = any(char in text for char in "\t\r?")  # "?" may open an explicit key
        self.simple = root.simple and not (root.flow or inside or exotic) and text.endswith("\n")
        self._style: Style | None = None

    def run(self, old: Any, new: Any) -> str:
        """The text with the difference of the two values spliced in."""
        self.waiting.append((self.root, self.holder_of_root(), old, new, (), self.json))
        while self.waiting:
            node, holder, one, two, path, self.json = self.waiting.pop()
            self.depth = len(path)
            self.change(node, holder, one, two, path)
        return self.apply()

    def apply(self) -> str:
        out, at = [], 0
        for start, end, _, new in sorted(self.edits, key=_by_place):
            if start < at:
                raise Unspliceable("two changes overlap")
            out += [self.text[at:start], new]
            at = end
        return "".join([*out, self.text[at:]])

    def holder_of_root(self) -> Holder:
        start = self.root.start
        lead = self.text[line_start(self.text, start) : start].strip(" \t")
        if lead == "-":
            return DASH, -1, 0
        return (FLOW if lead or self.inside else ROOT), start, start

    @property
    def style(self) -> Style:
        if self._style is None:
            self._style = style_of(self.text, self.root, self.newline)
        return self._style

    # What differs

    def change(self, node: Node, holder: Holder, old: Any, new: Any, path: Path) -> None:
        """Make the edits that turn the node, which reads as `old`, into `new`; what is inside it may be left waiting."""
        if node.flow and (holder[0] != FLOW or not path):
            self.json = has_quoted_keys(self.text, node, default=self.json and holder[0] == FLOW)
        if path in self.targets:
            self.replace(node, holder, new)
        elif self.targets or not same(old, new):
            if isinstance(old, dict) and isinstance(new, dict) and node.kind == MAP:
                self.change_map(node, holder, old, new, path)
            elif isinstance(old, list) and isinstance(new, list) and node.kind == SEQ:
                self.change_list(node, holder, old, new, path)
            elif not same(old, new):
                self.replace(node, holder, new)

    def change_map(self, node: Node, holder: Holder, old: dict[str, Any], new: dict[str, Any], path: Path) -> None:
        gone = [key for key in old if key not in new] if old.keys() - new.keys() else []
        if any(key not in node.entries for key in gone) or (gone and all(key in gone for key in node.entries)):
            self.replace(node, holder, new)  # a merge gave a key that goes, or nothing stays
            return
        added = {}
        for key, value in new.items():
            if key not in old:
                added[key] = value
            elif key in node.entries:
                start, end, child = node.entries[key]
                if value is not old[key]:
                    holder_of_child = (FLOW if node.flow else KEY), start, end
                    self.waiting.append((child, holder_of_child, old[key], value, (*path, key), self.json))
            elif not same(old[key], value):
                added[key] = value  # a merge gave the old one; a key of its own beats it
        if added and not node.entries:
            self.replace(node, holder, new)
            return
        if gone:
            entries = list(node.entries.values())
            self.delete(node, [(start, child) for start, _, child in entries], {list(node.entries).index(key) for key in gone})
        if added:
            self.add_keys(node, added)

    def change_list(self, node: Node, holder: Holder, old: list[Any], new: list[Any], path: Path) -> None:
        pairs = aligned(old, new)
        kept = {i for i, _ in pairs}
        gone = {i for i in range(len(old)) if i not in kept}
        taken = {j for _, j in pairs}
        added = [j for j in range(len(new)) if j not in taken]
        if (not pairs and (gone or added)) or len(node.nodes) != len(old):
            self.replace(node, holder, new)
            return
        holder_of_child = (FLOW if node.flow else DASH), -1, -1
        for i, j in pairs:
            if old[i] is not new[j]:
                self.waiting.append((node.nodes[i], holder_of_child, old[i], new[j], (*path, i), self.json))
        if gone:
            heads = [child.start if node.flow else self.dash(child) for child in node.nodes]
            self.delete(node, list(zip(heads, node.nodes, strict=True)), gone)
        for j in added:
            number = max((i for i, k in pairs if k < j), default=-1)
            if number < 0:
                self.add_first(node, new[j])
            else:
                self.add_entry(node, number, new[j])

    # Edits

    def edit(self, start: int, end: int, new: str) -> None:
        if start != end or new:
            self.edits.append((start, end, -self.depth, new))

    def lines(self, body: list[str]) -> str:
        return "".join(self.newline + line for line in body)

    def replace(self, node: Node, holder: Holder, new: Any) -> None:
        kind, start, end = holder
        if kind == FLOW:
            self.replace_in_flow(node, start if start >= 0 else node.start, new)
        elif kind == ROOT:
            self.replace_root(node, new)
        elif kind == KEY:
            colon = self.colon(start, end)
            column = column_of(self.text, start)
            lines = entry("", new, column, self.style_before(node, column))
            self.replace_behind(node, colon, lines)
        else:
            dash = self.dash(node)
            column = column_of(self.text, dash)
            lines = entry("-", new, column, self.style_before(node, column))
            self.replace_behind(node, dash + 1, [lines[0][1:], *lines[1:]])

    def style_before(self, node: Node, column: int) -> Style:
        """The style for new text in the place of a node that belongs to `column`: comments behind it are no part of a literal."""
        end = line_end(self.text, node.end)
        return self.style if past_comments(self.text, end, column + 1) == end else self.style.but(literal=False)

    def replace_in_flow(self, node: Node, key_start: int, new: Any) -> None:
        text, start = self.text, node.start
        self.simple = False
        if node.start == node.end and before(text, start) != ":":
            raise Unspliceable("a key without a colon")
        lead = " " if node.start == node.end and text[start - 1 : start] == ":" else ""
        first = line_start(text, key_start)
        margin = None if text[first:key_start].strip(" \t") or not first else text[first:key_start]
        self.edit(start, node.end, lead + flow(new, self.style, margin, json=self.json))

    def replace_root(self, node: Node, new: Any) -> None:
        self.simple = False
        column = column_of(self.text, node.start)
        lines = block(new, column, self.style_before(node, column - 1))
        end = node.end if node.flow or node.kind not in (BLOCK_SCALAR, MAP, SEQ) else line_end(self.text, node.end)
        self.edit(node.start, end, lines[0].lstrip(" ") + self.lines(lines[1:]))

    def replace_behind(self, node: Node, mark: int, lines: list[str]) -> None:
        """Put `lines`, the first of them inline, behind the colon or dash that ends at `mark`."""
        text = self.text
        header = line_end(text, mark)
        tail = line_end(text, node.end)
        inline = lines[0] if lines[0] != " " else ""
        if node.kind == BLOCK_SCALAR or (node.kind in (MAP, SEQ) and not node.flow):
            self.simple = False
            if node.kind != BLOCK_SCALAR and self.first(node) < header:
                self.edit(mark, tail, inline + self.lines(lines[1:]))  # compact: the value starts on the dash's line
                return
            end = self.header_end(node, mark, header)
            self.edit(mark, end, inline)
            self.edit(header, tail, self.lines(lines[1:]))
            return
        self.simple = self.simple and node.end <= header
        self.edit(mark, node.end, inline)
        self.edit(tail, tail, self.lines(lines[1:]))

    def header_end(self, node: Node, mark: int, header: int) -> int:
        """Where on the header line the old value's part ends: its anchor and tag, and a block scalar's header."""
        at = end = mark
        if node.start >= header and node.kind != BLOCK_SCALAR:
            return mark
        while (at := skip_blanks(self.text, end)) < header and self.text[at] in "&!|>":
            end = at
            while end < header and self.text[end] not in " \t":
                end += 1
        return end

    def delete(self, node: Node, children: list[tuple[int, Node]], gone: set[int]) -> None:
        """Take the children with these numbers out; at least one stays. Each comes with the start of its key or dash."""
        text, count = self.text, len(children)
        if node.flow:
            self.simple = False
            last = max(i for i in range(count) if i not in gone)
            for i in sorted(gone):
                if i < last:
                    self.edit(children[i][0], children[i + 1][0], "")
            if last + 1 < count:
                self.edit(children[last][1].end, children[-1][1].end, "")
            return
        first = min(i for i in range(count) if i not in gone)
        compact = bool(text[line_start(text, children[0][0]) : children[0][0]].strip(" "))
        if first and compact:
            self.simple = False
            after = line_end(text, children[first - 1][1].end)
            while text[after : after + 1] in (" ", "\n", "\r"):
                after += 1
            self.edit(children[0][0], after, "")
        for i in sorted(gone):
            if not (compact and i < first):
                self.delete_lines(children[i][0], children[i][1].end)

    def delete_lines(self, start: int, end: int) -> None:
        first = line_start(self.text, start)
        last = past_comments(self.text, line_end(self.text, end), start - first + 1)  # deeper comments are its own
        if self.text[first:start].strip(" "):
            raise Unspliceable("something else stands before it on its line")
        if first == 0:
            self.edit(0, next_line(self.text, last), "")
        else:
            self.edit(break_before(self.text, first), last, "")

    def add_keys(self, node: Node, added: dict[str, Any]) -> None:
        start, _, child = next(reversed(node.entries.values()))
        if node.flow:
            for key, value in added.items():
                self.add_in_flow(start, child, value, scalar_text(key, flow=True, json=self.json) + ": ")
            return
        first = next(iter(node.entries.values()))[0]
        column = column_of(self.text, first)
        if before(self.text, first) == "?":
            column = column_of(self.text, self.text.rindex("?", 0, first))
        at = past_comments(self.text, line_end(self.text, child.end), column)
        lines = block(added, column, self.style)
        self.edit(at, at, self.lines(lines))

    def add_entry(self, node: Node, number: int, value: Any) -> None:
        """Put an entry behind the one with this number."""
        child = node.nodes[number]
        if node.flow:
            self.add_in_flow(child.start, child, value, "")
            return
        column = column_of(self.text, self.dash(node.nodes[0]))
        # A comment in the column of compact dashes is the next key's, or the next entry's
        inner = column + (number < len(node.nodes) - 1 or not self.style.dash)
        at = past_comments(self.text, line_end(self.text, child.end), inner)
        self.edit(at, at, self.lines(entry(" " * column + "-", value, column, self.style)))

    def add_first(self, node: Node, value: Any) -> None:
        """Put an entry before the first one."""
        first = node.nodes[0]
        self.simple = False
        if node.flow:
            self.edit(first.start, first.start, flow(value, self.style, json=self.json) + ", ")
            return
        dash = self.dash(first)
        column = column_of(self.text, dash)
        lines = entry("-", value, column, self.style)
        self.edit(dash, dash, self.newline.join(lines) + self.newline + " " * column)

    def add_in_flow(self, start: int, child: Node, value: Any, head: str) -> None:
        self.simple = False
        first = line_start(self.text, start)
        if self.text[first:start].strip(" \t"):
            self.edit(child.end, child.end, f", {head}{flow(value, self.style, json=self.json)}")
        else:
            margin = self.text[first:start]
            self.edit(child.end, child.end, f",{self.newline}{margin}{head}{flow(value, self.style, margin, json=self.json)}")

    # Places

    def first(self, node: Node) -> int:
        """Where the first key or entry of a block collection starts."""
        return next(iter(node.entries.values()))[0] if node.kind == MAP else self.dash(node.nodes[0])

    def colon(self, start: int, end: int) -> int:
        """The index behind the colon of the key with this span."""
        at = skip_blanks(self.text, end)
        if self.text[at : at + 1] != ":" or before(self.text, start) == "?":
            raise Unspliceable("a key with a question mark")
        return at + 1

    def dash(self, node: Node) -> int:
        at = dash_before(self.text, node.start)
        if at < 0:
            raise Unspliceable("a list entry without a dash")
        return at


Holder = tuple[str, int, int]


def _by_place(edit: tuple[int, int, int, str]) -> tuple[int, int, int]:
    return edit[:3]


def aligned(old: list[Any], new: list[Any]) -> list[tuple[int, int]]:
    """Which entries of two lists are the same one, changed or not, as pairs of indexes that rise."""
    if len(old) == len(new):
        return [(i, i) for i in range(len(old))]
    names = [_names(old), _names(new)]
    if all(names):
        pairs = [(i, names[1][name]) for name, i in names[0].items() if name in names[1]]
        if pairs == sorted(pairs, key=lambda pair: pair[1]):
            return pairs
    head = 0
    while head < min(len(old), len(new)) and same(old[head], new[head]):
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and same(old[-1 - tail], new[-1 - tail]):
        tail += 1
    middle = [(i, i) for i in range(head, min(len(old), len(new)) - tail)]
    return [
        *((i, i) for i in range(head)),
        *middle,
        *((len(old) - i, len(new) - i) for i in range(tail, 0, -1)),
    ]


def _names(entries: list[Any]) -> dict[str, int]:
    """The index of each entry by its `name`; empty unless all entries have one of their own."""
    found = {item["name"]: i for i, item in enumerate(entries) if isinstance(item, dict) and isinstance(item.get("name"), str)}
    return found if len(found) == len(entries) else {}


def has_quoted_keys(text: str, node: Node, *, default: bool) -> bool:
    """True where the flow collection is JSON: its first key stands in double quotes; `default` where there is no key."""
    waiting = [node]
    for one in waiting:
        for start, _, child in one.entries.values():
            return text[start] == '"' if start < child.start else default
        waiting += one.nodes
    return default


def style_of(text: str, root: Node, newline: str) -> Style:
    """How the text around new lines is laid out: the first nested map and the first list under a key decide."""
    step = dash = 0
    found_dash = False
    waiting = [root]
    while waiting and not (step and found_dash):
        node = waiting.pop(0)
        column = -1
        for start, _, child in node.entries.values():
            if child.flow or child.kind not in (MAP, SEQ) or node.flow:
                continue
            column = column_of(text, start) if column < 0 else column
            if child.kind == MAP and not step:
                step = column_of(text, next(iter(child.entries.values()))[0]) - column
            elif child.kind == SEQ and not found_dash:
                at = dash_before(text, child.nodes[0].start)
                dash, found_dash = column_of(text, at) - column, at >= 0
            waiting.append(child)
        waiting += [child for child in node.nodes if child.kind in (MAP, SEQ)]
    return Style(step=max(step, 0) or 2, dash=max(dash, 0), newline=newline)
