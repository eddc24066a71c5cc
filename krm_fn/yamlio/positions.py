"""Where the nodes of a text stand: its tree of spans, out of libyaml's events."""

from __future__ import annotations

from krm_fn.yamlio.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from krm_fn.yamlio.nodes import ALIAS, BLOCK_SCALAR, LEAF, MAP, SEQ, Node
from krm_fn.yamlio.reader import Memo, Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BLOCK_STYLES = frozenset("|>")


def read_positions(text: str, *, first_entry: bool = False, memo: Memo | None = None) -> Node:
    """The tree of the first document's root node; with `first_entry`, of the first entry of the list that the root is.

    Reads no further than that node's end. The text must have been read before: YAMLError is for what it isn't.
    """
    source = Source(text, memo=memo)
    get = source.get
    event = get()
    while event.__class__ not in (ScalarEvent, AliasEvent, MappingStartEvent, SequenceStartEvent):
        event = get()
    if first_entry:
        event = get()
    return _node(source, event, text)


def _node(source: Source, event: Any, text: str) -> Node:  # noqa: C901, PLR0912, PLR0915 - as read_node
    get, names = source.get, source.memo.names
    stack: list[tuple[Node, Any, int, int]] = []
    into: Any = None
    key: Any = None
    key_start = key_end = 0
    simple = True
    while True:
        kind = event.__class__
        if kind is ScalarEvent:
            start, end = event.start_mark.index, event.end_mark.index
            if key_start < 0:
                key = names.get(event.value) if event.implicit[0] else event.value
                if key is None or event.tag is not None:
                    key = source.key(event)
                    if event.tag is None and event.implicit[0]:
                        names[event.value] = key
                key_start, key_end = start, end
                event = get()
                continue
            if event.tag is not None:
                simple = False
            if event.style in BLOCK_STYLES:
                node = Node(BLOCK_SCALAR, start, _block_end(text, start, end, event.value))
                simple = simple and "+" not in text[start:end].split("\n", 1)[0]
            else:
                if start == end and into is not None and into.kind == MAP and text[start - 1] != ":":
                    # A `? key` without a value: libyaml places it behind the comments that follow
                    start = end = len(text[:key_end].rstrip())
                node = Node(LEAF, start, end)
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            stack.append((into, key, key_start, key_end))
            is_map = kind is MappingStartEvent
            into = Node(MAP if is_map else SEQ, event.start_mark.index, 0)
            into.flow = event.flow_style
            if event.tag is not None:
                simple = False
            key_start = -1 if is_map else 0
            event = get()
            continue
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            node = into
            if node.flow:
                node.end = event.end_mark.index
            elif node.kind == MAP:
                node.end = next(reversed(node.entries.values()))[2].end
            else:
                node.end = node.nodes[-1].end
            into, key, key_start, key_end = stack.pop()
        else:
            simple = False
            start, end = event.start_mark.index, event.end_mark.index
            if key_start < 0:
                key, key_start, key_end = f"*{event.anchor}", start, end
                event = get()
                continue
            node = Node(ALIAS, start, end)
        if into is None:
            node.simple = simple
            return node
        if into.kind == MAP:
            into.entries[key] = (key_start, key_end, node)
            key_start = -1
        else:
            into.nodes.append(node)
        event = get()


def _block_end(text: str, start: int, end: int, value: str) -> int:
    """Where a block scalar ends without its last line break, and without the empty lines that are no part of it."""
    header = text[start:end].split("\n", 1)[0].split("#", 1)[0]
    if "+" in header or value.rstrip("\n")[-1:] in (" ", "\t"):
        if text[end - 1 : end] == "\n":
            end -= 1
        return end - 1 if text[end - 1 : end] == "\r" else end
    return start + len(text[start:end].rstrip())
