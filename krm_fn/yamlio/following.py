"""The place of a value that an alias or a merge brings: where its text is."""

from __future__ import annotations

from bisect import bisect_left

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import Path
from krm_fn.yamlio.nodes import ALIAS, MERGE, Node

BLANKS = " \t\r\n"


class Anchors:
    """The anchors in a text, by name: where their nodes start, in order, and these. `root` is the tree of the text."""

    def __init__(self, root: Node, text: str) -> None:
        self.root, self.text = root, text
        self._named: dict[str, list[tuple[int, Node]]] = {}
        nodes = [root]
        for each in nodes:
            nodes += each.nodes
            nodes += [below for _, _, below in each.entries.values()]
        for each in sorted(nodes, key=lambda each: each.start):
            for name in _properties(text, each.start):
                self._named.setdefault(name, []).append((each.start, each))

    def resolved(self, node: Node) -> Node:
        """The node that an alias refers to: the last one before it with that anchor."""
        if node.kind != ALIAS:
            return node
        named = self._named.get("&" + self.text[node.start : node.end].strip()[1:], [])
        number = bisect_left(named, node.start, key=lambda each: each[0])
        return named[number - 1][1] if number else node


def followed(anchors: Anchors, path: Path) -> int:
    """The start of the text of the value at a path, or of its nearest ancestor, behind aliases, merges, anchors and tags."""
    node = anchors.resolved(anchors.root)
    for step in path:
        below = _below(anchors, node, step, set())
        if below is None:
            break
        node = anchors.resolved(below)
    return _after_properties(anchors.text, node.start)


def _below(anchors: Anchors, node: Node, step: str | int, seen: set[int]) -> Node | None:
    """The node at a key or an index, which may come from a merge; those in `seen` lack it."""
    if step in node.entries:
        return node.entries[step][2]
    if isinstance(step, int) and (found := node.nth(step)):
        return found
    if MERGE not in node.entries or node.start in seen:
        return None
    seen.add(node.start)
    merged = anchors.resolved(node.entries[MERGE][2])
    for each in merged.nodes or (merged,):
        found = _below(anchors, anchors.resolved(each), step, seen)
        if found:
            return found
    return None


def _properties(text: str, start: int) -> Iterator[str]:
    """The anchors and tags of the node that starts there."""
    while text[start : start + 1] in ("&", "!"):
        end = _end_of_word(text, start)
        yield text[start:end]
        start = _after_blanks(text, end)


def _after_properties(text: str, start: int) -> int:
    while text[start : start + 1] in ("&", "!"):
        start = _after_blanks(text, _end_of_word(text, start))
    return start


def _end_of_word(text: str, at: int) -> int:
    while at < len(text) and text[at] not in BLANKS:
        at += 1
    return at


def _after_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in BLANKS:
        at += 1
    return at
