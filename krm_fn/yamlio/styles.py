"""The layout of the text around a change, so that new text can follow it."""

from __future__ import annotations

from krm_fn.yamlio.emit import Style
from krm_fn.yamlio.layout import column_of, dash_before, line_start
from krm_fn.yamlio.nodes import MAP, SEQ, Node


def style_of(text: str, root: Node, newline: str) -> Style:
    """The layout of the text around new lines: the first nested map and the first list under a key decide."""
    step = dash = 0
    found_dash = False
    if root.flow:
        return Style(step=_step_in_brackets(text, root), newline=newline)
    waiting = [root]
    for node in waiting:
        if step and found_dash:
            break
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


def _step_in_brackets(text: str, root: Node) -> int:
    """The indentation of values in brackets that span several lines."""
    children = [start for start, _, _ in root.entries.values()] or [node.start for node in root.nodes]
    if children:
        first, last = line_start(text, children[0]), line_start(text, root.end - 1)
        if not text[first : children[0]].strip(" \t") and first != last:
            return max(children[0] - first - (root.end - 1 - last), 1)
    return 2


def has_quoted_keys(text: str, node: Node, *, default: bool) -> bool:
    """True if the flow collection is JSON: its first key is in double quotes; `default` if there is no key."""
    waiting = [node]
    for one in waiting:
        for start, _, child in one.entries.values():
            return text[start] == '"' if start < child.start else default
        waiting += one.nodes
    return default
