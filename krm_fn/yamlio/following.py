"""The place of a value that an alias or a merge brings: where its text is."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import Path
from krm_fn.yamlio.nodes import ALIAS, MERGE, Node

BLANKS = " \t\r\n"


def followed(root: Node, text: str, path: Path) -> int:
    """The start of the text of the value at a path, or of its nearest ancestor, behind aliases, merges, anchors and tags."""
    node = _resolved(root, text, root)
    for step in path:
        below = _below(root, text, node, step)
        if below is None:
            break
        node = _resolved(root, text, below)
    return _after_properties(text, node.start)


def _below(root: Node, text: str, node: Node, step: str | int) -> Node | None:
    """The node at a key or an index, which may come from a merge."""
    if step in node.entries:
        return node.entries[step][2]
    if isinstance(step, int) and (found := node.nth(step)):
        return found
    if MERGE not in node.entries:
        return None
    merged = _resolved(root, text, node.entries[MERGE][2])
    for each in merged.nodes or (merged,):
        found = _below(root, text, _resolved(root, text, each), step)
        if found:
            return found
    return None


def _resolved(root: Node, text: str, node: Node) -> Node:
    """The node that an alias refers to: the last one before it with that anchor."""
    if node.kind != ALIAS:
        return node
    anchor = "&" + text[node.start : node.end].strip()[1:]
    before = [each for each in _nodes(root) if each.start < node.start and _properties(text, each.start, anchor)]
    return max(before, key=lambda each: each.start) if before else node


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for each in node.nodes:
        yield from _nodes(each)
    for _, _, below in node.entries.values():
        yield from _nodes(below)


def _properties(text: str, start: int, anchor: str) -> bool:
    """True if the node that starts there has this anchor."""
    while text[start : start + 1] in ("&", "!"):
        end = _end_of_word(text, start)
        if text[start:end] == anchor:
            return True
        start = _after_blanks(text, end)
    return False


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
