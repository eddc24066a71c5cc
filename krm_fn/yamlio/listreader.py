"""Reads a ResourceList. It goes through the top-level map itself, so that the places of the items are known."""

from __future__ import annotations

from array import array

from krm_fn.base.annotations import Any, Sequence
from krm_fn.yamlio.events import (
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    end_of,
    start_of,
)
from krm_fn.yamlio.layout import BLOCK, breaks, dash_before, line_start, line_start_in_bytes
from krm_fn.yamlio.nodes import MERGE
from krm_fn.yamlio.reader import OUTSIDE, EventSource, check_again, merge, read_node
from krm_fn.yamlio.texts import EXACT, ListText, Piece, Pieces, Top


class Offsets:
    """Byte offsets of rising character indexes."""

    def __init__(self, data: bytes) -> None:
        self.data, self.ascii = data, data.isascii()
        self.index = self.at = 0

    def __call__(self, index: int) -> int:
        if self.ascii:
            return index
        while self.index < index:
            count = min(index - self.index, BLOCK)
            chunk = self.data[self.at : self.at + 4 * count].decode("utf-8", "ignore")[:count]
            self.index, self.at = self.index + count, self.at + len(chunk.encode())
        return self.at


class ListReader:
    """Reads one ResourceList."""

    def __init__(self, data: bytes, file: str) -> None:
        self.data, self.file = data, file
        self.source = EventSource(data, file=file)
        self.offset = Offsets(data)
        self.values: dict[str, Any] = {}
        self.keys: list[tuple[str, int, int, int, int]] = []
        self.pieces: Pieces | list[Piece] = []
        self.form = "absent"
        self.kind_event: Any = None

    def run(self) -> ListText:
        get = self.source.get
        get()
        event: Any = get()
        if event.__class__ is StreamEndEvent:
            return ListText(self.data, self.file, [], [], head={}, top=None)
        root = get()
        if is_empty(root):  # markers around nothing: a list after them is a second document
            self.end_of_stream()
            return ListText(b"", self.file, [], [], head={}, top=None)
        if root.__class__ is not MappingStartEvent:
            found = "a list" if root.__class__ is SequenceStartEvent else "no map"
            raise self.source.fail(f"the input is {found}; expected one ResourceList", root)
        flow = bool(root.flow_style)
        while (event := get()).__class__ is not MappingEndEvent:
            self.read_key(event)
        self.check(root)
        end = self.offset(end_of(event) if flow else start_of(event))
        self.end_of_stream()
        return self.text(flow, end)

    def text(self, flow: bool, end: int) -> ListText:
        items = self.values.pop("items", None) or []
        first = self.keys[0][1] if self.keys else 0
        before = self.data[:first].rstrip(b" ")
        if flow and before.endswith(b"?"):
            first = len(before) - 1  # keys are added behind the last one
        column = first - self.line_of(first)
        if (before.endswith(b"?") and not flow) or len(self.keys) < len(self.values):
            self.form = "loose"
        if not flow and any(self.data[self.line_of(start) : start] != b" " * column for _, start, *_ in self.keys):
            self.form = "loose"  # a question mark stands before a key
        top = Top(flow=flow, column=column, keys=tuple(self.keys), end=end, form=self.form)
        text = ListText(self.data, self.file, items, self.pieces, head=self.values, top=top)
        text.memo, text.noted = self.source.memo, self.source.spans
        for home, user, name, value in self.source.crossing:
            text.crossing.append((home, user, name, value))
            text.outer.setdefault(user, {})[name] = value
        return text

    def read_key(self, event: Any) -> None:
        source = self.source
        key = source.key(event)
        start, end = self.offset(start_of(event)), self.offset(end_of(event))
        if key in self.values or key is MERGE:
            check_again(source, event, self.values, key)
        event = source.get()
        if key == "kind":
            self.kind_event = event
        if key == "items" and event.__class__ is SequenceStartEvent:
            begin = self.offset(start_of(event))
            if event.anchor is not None:
                self.form = "loose"
            last = self.read_items(event)
        else:
            begin = self.offset(start_of(event))
            value, last = read_node(source, event, 1)
            self.take(key, value, event)
        if key is not MERGE:
            self.keys.append((key, start, end, begin, self.offset(end_of(last))))

    def take(self, key: Any, value: Any, event: Any) -> None:
        if key == "items":
            if value is not None and not isinstance(value, list):
                raise self.source.fail("items is no list", event)
            self.form = "loose" if value or event.anchor is not None else "empty"
        if key is MERGE:
            merge(self.source, self.values, value, event)
            self.form = "loose"
        else:
            self.values[key] = value

    def read_items(self, event: Any) -> Any:
        """Read the entries of `items`. Returns the list's last event."""
        source, get, flow = self.source, self.source.get, event.flow_style
        items: list[Any] = []
        self.values["items"] = items
        if event.anchor is not None:
            source.anchors[event.anchor] = items, OUTSIDE
            source.open.add(id(items))
        starts, lines = array("Q"), array("Q")
        ends: list[tuple[int, int]] = []  # of items in brackets, with their columns
        while (event := get()).__class__ is not SequenceEndEvent:
            mark = event.start_mark
            starts.append(self.offset(mark.index))
            lines.append(mark.line + 1)
            source.home = len(items)
            source.spans.begin(mark.index)
            value, last = read_node(source, event, 2)
            items.append(value)
            if flow:
                ends.append((self.offset(end_of(last)), mark.column))
        source.home = OUTSIDE
        source.open.discard(id(items))
        if self.form != "loose":
            self.form = "empty" if not items else "flow" if flow else "block"
        if flow:
            found = zip(starts, lines, ends, strict=True)
            self.pieces = [Piece(start=s, end=e, line=line, column=column, form=EXACT) for s, line, (e, column) in found]
        elif items:
            self.cut(starts, lines, self.offset(start_of(event)))
        return event

    def cut(self, values: Sequence[int], lines: array[int], end: int) -> None:
        """Cut a block list into pieces of complete lines, each from its dash on; `lines` are the lines of the values."""
        starts = array("Q")
        for i, value in enumerate(values):
            if self.data[value - 3 : value] == b"\n- ":  # true for nearly all items
                starts.append(value - 2)
                self.source.spans.items[2 * i + 1] -= 2
                continue
            start = self.line_of(value)
            if self.data[start:value].strip(b" \t") != b"-":
                start, before = self.dash_line(starts[-1] if starts else self.keys_end(), start)
                lines[i] -= before
            starts.append(start)
            self.source.spans.items[2 * i + 1] -= len(self.data[start:value].decode())
        self.pieces = Pieces(starts, lines, end if end == len(self.data) else self.line_of(end))

    def keys_end(self) -> int:
        return self.keys[-1][4] if self.keys else 0

    def dash_line(self, since: int, start: int) -> tuple[int, int]:
        """The start of the line with only a dash, above the line of its value, and the number of lines between them."""
        text = self.data[since:start].decode()
        dash = dash_before(text, len(text))
        if dash < 0:
            self.form = "loose"
            return start, 0
        first = line_start(text, dash)
        lines = breaks(text[first:], len(text))
        return since + len(text[:first].encode()), lines

    def line_of(self, at: int) -> int:
        return line_start_in_bytes(self.data, at)

    def check(self, root: Any) -> None:
        kind = self.values.get("kind")
        if kind == "ResourceList":
            return
        if "kind" not in self.values:
            raise self.source.fail(
                "the input has no kind; expected a ResourceList (plain manifests go to `kubevirt-render render -`)", root
            )
        found = f"kind {kind!r}" if isinstance(kind, str) else "a kind that is not a string"
        raise self.source.fail(
            f"the input has {found}; expected a ResourceList (plain manifests go to `kubevirt-render render -`)",
            self.kind_event or root,
        )

    def end_of_stream(self) -> None:
        """Read to the end of the stream. Empty documents after the list are cut off.

        Raises: InputError for a second document that is not empty.
        """
        get = self.source.get
        cut = -1
        while (event := get()).__class__ is not StreamEndEvent:
            if event.__class__ is DocumentStartEvent:
                cut = start_of(event) if cut < 0 else cut
            elif event.__class__ is not DocumentEndEvent and not is_empty(event):
                raise self.source.fail("there is a second document; expected only one ResourceList", event)
        if cut >= 0:
            self.data = self.data[: self.offset(cut)]


def is_empty(event: Any) -> bool:
    """True for the node of an empty document."""
    return event.__class__ is ScalarEvent and event.value == "" and event.implicit[0] and event.anchor is None
