"""Edits of a text: values are replaced, entries are removed and added, in block and in flow style."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Sequence
from krm_fn.yamlio.emit import Style, block, entry, flow, kept_block, quoted, scalar_text, single_quoted
from krm_fn.yamlio.layout import (
    BLANKS_AND_BREAKS,
    RARE_BREAKS,
    Unspliceable,
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
from krm_fn.yamlio.nodes import BLOCK_SCALAR, LEAF, MAP, SEQ, Node
from krm_fn.yamlio.styles import style_of

# How the text around a node holds it: after a key of a block map, after a dash, inside brackets, or as a document's root.
# The span of the key follows, if there is one.
KEY, DASH, FLOW, ROOT = "key", "dash", "flow", "root"
Holder = tuple[str, int, int]

EXPLICIT_KEYS = ("? ", "?\r", "?\n")


class Edits:
    """The edits of one text: spans that are replaced. If two edits touch, the deeper one comes first."""

    def __init__(self, text: str, root: Node, newline: str, *, json: bool, inside: bool) -> None:
        self.text, self.root, self.newline, self.json, self.inside = text, root, newline, json, inside
        self.edits: list[tuple[int, int, int, str]] = []  # start, end, depth downwards, new text
        self.depth = 0
        self.quotes = False  # True: a text that replaces another one keeps its quotes
        # True while every edit adds complete lines between lines of block style, or replaces a scalar there. Such text is not
        # read back, because that would take as long as everything else together. Any other edit sets it to False.
        self.simple = root.simple and not (root.flow or inside or is_exotic(text)) and text.endswith("\n")
        self._style: Style | None = None

    def apply(self) -> str:
        out, at = [], 0
        for start, end, _, new in sorted(self.edits, key=_by_place):
            if start < at:
                raise Unspliceable("two changes overlap")
            out += [self.text[at:start], new]
            at = end
        return "".join([*out, self.text[at:]])

    def touch(self, spans: Sequence[tuple[int, int]]) -> bool:
        """True if an edit changes something in one of the spans."""
        return any(start < last and end > first for first, last in spans for start, end, *_ in self.edits)

    @property
    def style(self) -> Style:
        if self._style is None:
            self._style = style_of(self.text, self.root, self.newline)
        return self._style

    def edit(self, start: int, end: int, new: str) -> None:
        if start != end or new:
            self.edits.append((start, end, -self.depth, new))

    def lines(self, body: list[str]) -> str:
        return "".join(self.newline + line for line in body)

    def replace(self, node: Node, holder: Holder, new: Any) -> None:
        kind, start, end = holder
        if kind == FLOW:
            self.replace_in_flow(node, start, end, new)
        elif kind == ROOT:
            self.replace_root(node, new)
        elif kind == KEY:
            colon = self.colon(start, end)
            column = column_of(self.text, start)
            text = self.quoted_as(node, new)
            lines = [f" {text}"] if text else entry("", new, column, self.style_before(node, column))
            self.replace_behind(node, colon, lines)
        else:
            dash = self.dash(node)
            column = column_of(self.text, dash)
            text = self.quoted_as(node, new)
            lines = [f"- {text}"] if text else entry("-", new, column, self.style_before(node, column))
            self.replace_behind(node, dash + 1, [lines[0][1:], *lines[1:]])

    def quoted_as(self, node: Node, new: Any) -> str:
        """The new text in the quotes of the old one, if quotes are to be kept and the old text has any; else no text."""
        quote = self.text[node.start : node.start + 1]
        if not (self.quotes and node.kind == LEAF and quote in ("'", '"') and isinstance(new, str)):
            return ""
        return single_quoted(new) if quote == "'" else quoted(new)

    def style_before(self, node: Node, column: int) -> Style:
        """The style of new text in place of a node of `column`. Comments after the node must not become part of a literal."""
        end = line_end(self.text, node.end)
        return self.style if past_comments(self.text, end, column + 1) == end else self.style.but(literal=False)

    def replace_in_flow(self, node: Node, key_start: int, key_end: int, new: Any) -> None:
        """Replace a value in brackets; its key has this span, or it is the entry of a list and has none."""
        text, start, end, lead = self.text, node.start, node.end, ""
        self.simple = False
        if start == end:
            start, end, lead = *self.gap(key_start, key_end), " "
        first = line_start(text, key_start if key_start >= 0 else start)
        before_key = text[first : key_start if key_start >= 0 else start]
        margin = before_key if self.json and first and not before_key.strip(" \t") else None
        self.edit(start, end, lead + (self.quoted_as(node, new) or flow(new, self.style, margin, json=self.json)))

    def gap(self, key_start: int, key_end: int) -> tuple[int, int]:
        """Where a value goes that is missing behind a colon in brackets: the blanks from the colon to a comma."""
        if key_start < 0:
            raise Unspliceable("a key without a colon")
        colon = self.colon(key_start, key_end)
        comma = skip_blanks(self.text, colon)
        return colon, comma if self.text[comma : comma + 1] == "," else colon

    def replace_root(self, node: Node, new: Any) -> None:
        self.simple = False
        column = column_of(self.text, node.start)
        lines = block(new, column, self.style_before(node, column - 1))
        end = node.end if node.flow or node.kind not in (BLOCK_SCALAR, MAP, SEQ) else line_end(self.text, node.end)
        self.edit(node.start, end, lines[0].lstrip(" ") + self.lines(lines[1:]))

    def replace_behind(self, node: Node, mark: int, lines: list[str]) -> None:
        """Put `lines` after the colon or dash that ends at `mark`. The first of them goes on the same line."""
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
        self.edit(mark, node.end, inline + " " * text.startswith("#", node.end))  # a quote or bracket before it needs no space
        self.edit(tail, tail, self.lines(lines[1:]))

    def header_end(self, node: Node, mark: int, header: int) -> int:
        """The end of the old value's part of the header line: its anchor and tag, and a block scalar's header."""
        at = end = mark
        if node.start >= header and node.kind != BLOCK_SCALAR:
            return mark
        while (at := skip_blanks(self.text, end)) < header and self.text[at] in "&!|>":
            end = at
            while end < header and self.text[end] not in " \t":
                end += 1
        return end

    def delete(self, node: Node, children: list[tuple[int, Node]], gone: set[int]) -> None:
        """Remove the children with these numbers; at least one stays. Each comes with the start of its key or dash."""
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
            after = skip_blanks(text, line_end(text, children[first - 1][1].end), BLANKS_AND_BREAKS)
            self.edit(children[0][0], after, "")
        for i in sorted(gone):
            if not (compact and i < first):
                self.delete_lines(children[i][0], children[i][1].end)

    def delete_lines(self, start: int, end: int) -> None:
        first = line_start(self.text, start)
        last = past_comments(self.text, line_end(self.text, end), start - first + 1)  # deeper comments belong to the entry
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
        mark = self.question_mark(first)
        if mark >= 0:
            column = column_of(self.text, mark)
        at = past_comments(self.text, line_end(self.text, child.end), column)
        self.edit(at, at, self.newline + kept_block(added, column, self.style).replace("\n", self.newline))

    def question_mark(self, start: int) -> int:
        """The index of the question mark before the key that starts at `start`; -1 if there is none outside of a comment."""
        if before(self.text, start) != "?":
            return -1
        at = self.text.rindex("?", 0, start)
        return -1 if "#" in self.text[line_start(self.text, at) : at] else at

    def add_entry(self, node: Node, number: int, value: Any) -> None:
        """Add an entry after the one with this number."""
        child = node.nodes[number]
        if node.flow:
            self.add_in_flow(child.start, child, value, "")
            return
        column = column_of(self.text, self.dash(node.nodes[0]))
        # A comment in the column of compact dashes belongs to the next key or entry.
        inner = column + (number < len(node.nodes) - 1 or not self.style.dash)
        at = past_comments(self.text, line_end(self.text, child.end), inner)
        self.edit(at, at, self.lines(entry(" " * column + "-", value, column, self.style)))

    def add_first(self, node: Node, value: Any) -> None:
        """Add an entry before the first one."""
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
            return
        lead = self.text[first:start]
        margin = lead if self.json or "\n" in self.text[child.start : child.end] else None
        self.edit(child.end, child.end, f",{self.newline}{lead}{head}{flow(value, self.style, margin, json=self.json)}")

    # Places

    def first(self, node: Node) -> int:
        """The start of the first key or entry of a block collection."""
        return next(iter(node.entries.values()))[0] if node.kind == MAP else self.dash(node.nodes[0])

    def colon(self, start: int, end: int) -> int:
        """The index after the colon of the key with this span."""
        at = skip_blanks(self.text, end)
        if self.text[at : at + 1] != ":" or self.question_mark(start) >= 0:
            raise Unspliceable("a key with a question mark")
        return at + 1

    def dash(self, node: Node) -> int:
        at = dash_before(self.text, node.start)
        if at < 0:
            raise Unspliceable("a list entry without a dash")
        return at


def is_exotic(text: str) -> bool:
    """True if lines and columns may differ from how they look: tabs, breaks other than LF and CRLF, explicit keys."""
    return (
        "\t" in text
        or (not text.isascii() and any(rare in text for rare in RARE_BREAKS))
        or ("\r" in text and text.count("\r") != text.count("\r\n"))
        or ("?" in text and any(mark in text for mark in EXPLICIT_KEYS))
    )


def _by_place(edit: tuple[int, int, int, str]) -> tuple[int, int, int]:
    return edit[:3]
