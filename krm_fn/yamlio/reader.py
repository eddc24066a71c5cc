"""Plain values from libyaml's events, with an explicit stack: no input makes it recurse.

Maps become dicts with text keys, as in JSON. Aliases share the value of their anchor. The reader counts the things of which
an input can have too many: levels of nesting, and nodes that aliases stand for.

The places of the nodes are noted on the way. To read a text again for them takes as long as to read it.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Sequence
from krm_fn.base.errors import InputError
from krm_fn.yamlio.events import (
    DEEPEST,
    TOO_DEEP,
    AliasEvent,
    CParser,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    YAMLError,
    place_of,
    translate,
)
from krm_fn.yamlio.nodes import ALIAS, BLOCK_SCALAR, LEAF, MAP, MERGE, SEQ
from krm_fn.yamlio.scalars import PREFIX, key_text, resolve, resolve_tagged, resolve_typed
from krm_fn.yamlio.spans import BLANKS, END, FLOW, Spans

# The number of nodes that the aliases of one input may stand for. Larger inputs may have more, see `Source.count_nodes`. So
# many characters of text count like one more node.
ALIASED_NODES = 100_000
BYTES_PER_ALIASED_NODE = 4
TEXT_OF_NODE = 32

BLOCK_STYLES = frozenset("|>")
MERGE_TAG = PREFIX + "merge"  # as yq writes it

OUTSIDE = -1  # the home of nodes that are in no item

NO_KEY: Any = object()  # instead of a key, in lists
UNKNOWN: Any = object()  # instead of the value of a plain scalar that was not read before


class Memo:
    """The values of plain scalars and the texts of plain keys that were read. Several sources may share it."""

    def __init__(self) -> None:
        self.plain: dict[str, Any] = {}
        self.names: dict[str, str] = {}


class EventSource:
    """An open event stream with the common data of its nodes: anchors, the memo of scalars, the budget of aliases.

    `anchors` has the value of each anchor and its home: the number of the item that is read, which the caller sets.
    `crossing` collects the aliases to another home: (its home, this home, name, value). `spans` collects the places of all
    nodes. `repeats`: a key may be set again, as sigs.k8s.io/yaml allows where it is not strict.
    """

    def __init__(
        self,
        text: bytes | str,
        *,
        file: str = "",
        anchors: dict[str, Any] | None = None,
        memo: Memo | None = None,
        repeats: bool = False,
    ) -> None:
        parser = CParser(text)
        self.get: Callable[[], Any] = parser.get_event
        self.file, self.repeats = file, repeats
        self.home = OUTSIDE
        self.anchors: dict[str, tuple[Any, int]] = {name: (value, OUTSIDE) for name, value in (anchors or {}).items()}
        self.open: set[int] = set()  # the ids of maps and lists that have an anchor and whose end is not yet read
        self.crossing: list[tuple[int, int, str, Any]] = []
        self.aliased, self.limit = 0, max(ALIASED_NODES, len(text) // BYTES_PER_ALIASED_NODE)
        self.memo = memo or Memo()
        self.spans = Spans()
        self.merged: dict[int, set[Any]] = {}  # by the id of a map: the keys that only a merge set; MERGE itself

    def fail(self, message: str, event: Any) -> InputError:
        return InputError(message, file=self.file, **place_of(event))

    def scalar(self, event: Any) -> Any:
        """The value of a scalar event that is a value, not a key."""
        try:
            if event.tag is not None:
                return resolve_tagged(event.tag, event.value)
            return resolve(event.value) if event.implicit[0] else event.value
        except ValueError as error:
            raise self.fail(str(error), event) from None

    def key(self, event: Any) -> Any:
        """The text of a key event, or MERGE."""
        if event.__class__ is AliasEvent:
            value = self.alias(event, 0)
            if isinstance(value, (dict, list)):
                raise self.fail("a map or list cannot be a key; expected a string", event)
        elif event.__class__ is not ScalarEvent:
            raise self.fail("a map or list cannot be a key; expected a string", event)
        elif event.value == "<<" and (event.implicit[0] or event.tag == MERGE_TAG):
            return MERGE
        else:
            value = self._typed(event)
        try:
            return key_text(value)
        except ValueError as error:
            raise self.fail(str(error), event) from None

    def next_key(self, event: Any, into: dict[str, Any], stack: Sequence[Any]) -> Any:
        """The key of a map from its event, or MERGE; noted. `stack` has the maps and lists around `into`.

        Raises: InputError for an event that is no key, and for a key that the map has already.
        """
        kind = event.__class__
        self.spans.note(LEAF if kind is ScalarEvent else ALIAS, event)
        key = None
        if kind is ScalarEvent and event.tag is None and event.anchor is None:
            key = self.memo.names.get(event.value) if event.implicit[0] else event.value
        if key is None:
            key = self.key(event)
            if kind is ScalarEvent and key is not MERGE and event.tag is None and event.implicit[0]:
                self.memo.names[event.value] = key
        if key in into or key is MERGE:
            check_again(self, event, into, key, stack)
        return key

    def new_value(self, event: Any) -> Any:
        """The value of a scalar event that is already noted. A plain value is kept in the memo."""
        value = self.scalar(event)
        if event.tag is None and event.implicit[0]:
            self.memo.plain[event.value] = value
        if event.anchor is not None:
            self.define(event, value)
        return value

    def opened(self, event: Any) -> Any:
        """The empty map or list that starts with the event; noted."""
        is_map = event.__class__ is MappingStartEvent
        into: Any = {} if is_map else []
        shape = MAP if is_map else SEQ
        self.spans.note(shape | FLOW if event.flow_style else shape, event)
        if event.anchor is not None:
            self.define(event, into)
            self.open.add(id(into))
        return into

    def close(self, value: Any, number: int, event: Any) -> None:
        """Note the end of the map or list with this node number."""
        if self.open:
            self.open.discard(id(value))
        if self.spans.kinds[number] & FLOW:
            self.spans.note(END, event)
        self.spans.ends[number] = len(self.spans.kinds)

    def _typed(self, event: Any) -> Any:
        value = event.value
        if event.tag is not None:
            value = self.scalar(event)
        elif event.implicit[0]:
            value = resolve_typed(value)
        if event.anchor is not None:
            self.define(event, value)
        return value

    def define(self, event: Any, value: Any) -> None:
        """Give the value of the node that was noted last to the anchor of its event."""
        self.anchors[event.anchor] = value, self.home
        self.spans.anchored.append(len(self.spans.kinds) - 1)

    def alias(self, event: Any, depth: int) -> Any:
        """The value of an alias that is inside `depth` containers."""
        name = event.anchor
        if name not in self.anchors:
            raise self.fail("this alias has no anchor before it", event)
        value, home = self.anchors[name]
        if isinstance(value, (dict, list)):
            if id(value) in self.open:
                raise self.fail("this alias is inside its own anchor", event)
            self.count_nodes(value, depth, event)
        elif isinstance(value, str):
            self.count(len(value) // TEXT_OF_NODE, event)
        if home != self.home:
            self.crossing.append((home, self.home, name, value))
        return value

    def count_nodes(self, value: Any, depth: int, event: Any) -> None:
        """Count the nodes of an aliased value.

        Raises: InputError if all aliases together stand for too many nodes, or if the value nests too deep at the alias.
        """
        level, self.aliased = [value], self.aliased + 1
        while level:
            depth += 1
            if depth > DEEPEST:
                raise self.fail(TOO_DEEP, event)
            below: list[Any] = []
            for container in level:
                inside = container.values() if isinstance(container, dict) else container
                words = (word for each in {id(inside): inside, id(container): container}.values() for word in each)
                letters = sum(len(word) for word in words if isinstance(word, str))
                self.count(len(container) + letters // TEXT_OF_NODE, event)
                below += [item for item in inside if isinstance(item, (dict, list))]
            level = below

    def count(self, nodes: int, event: Any) -> None:
        """Count nodes that an alias stands for. Raises: InputError if these are too many."""
        self.aliased += nodes
        if self.aliased > self.limit:
            message = f"the aliases expand to more than {self.limit:,} values; write the values out, or use fewer aliases"
            raise self.fail(message, event)


def open_node(source: EventSource, *, first_entry: bool) -> Any:
    """The first event of the first document's node, or of its list's first entry with `first_entry`; None if there is none."""
    event = source.get()
    while event.__class__ not in NODES:
        if event.__class__ is StreamEndEvent:
            return None
        event = source.get()
    return source.get() if first_entry else event


NODES = frozenset((ScalarEvent, AliasEvent, MappingStartEvent, SequenceStartEvent))


def read_piece(
    text: str,
    *,
    first_entry: bool = False,
    anchors: dict[str, Any] | None = None,
    memo: Memo | None = None,
    repeats: bool = False,
) -> tuple[Any, dict[str, Any]]:
    """The value of a text's first document, and the values of its anchors; with `first_entry`, of its list's first entry.

    `repeats`: see `EventSource`.
    Raises: InputError.
    """
    source = EventSource(text, anchors=anchors, memo=memo, repeats=repeats)
    try:
        event = open_node(source, first_entry=first_entry)
        if event is None:
            return None, {}
        value = read_node(source, event)[0]
        return value, {name: anchored for name, (anchored, _) in source.anchors.items()}
    except YAMLError as error:
        raise translate(error, text.encode(), "") from None


# One loop with few calls, because it runs over a hundred thousand events for a thousand resources.
def read_node(source: EventSource, event: Any, outside: int = 0) -> tuple[Any, Any]:  # noqa: C901
    """The plain value of the node that starts with `event`, and the node's last event; `outside` is its depth.

    Raises: InputError, and YAMLError for what libyaml refuses.
    """
    get, plain = source.get, source.memo.plain
    kinds, starts, ends = source.spans.kinds, source.spans.starts, source.spans.ends
    stack: list[tuple[Any, Any, int]] = []  # the open containers around `into`, the current key of each, `into`'s number
    into: Any = None
    key: Any = NO_KEY
    while True:
        kind = event.__class__
        if into.__class__ is dict and kind is not MappingEndEvent:
            key = source.next_key(event, into, stack)
            event = get()
            kind = event.__class__
        if kind is ScalarEvent:
            kinds.append(LEAF if event.style not in BLOCK_STYLES else block_kind(event.value))
            starts.append(event.start_mark.index)
            ends.append(event.end_mark.index)
            value = plain.get(event.value, UNKNOWN) if event.implicit[0] else event.value
            if value is UNKNOWN or event.tag is not None or event.anchor is not None:
                value = source.new_value(event)
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            if len(stack) + outside >= DEEPEST:
                raise source.fail(TOO_DEEP, event)
            stack.append((into, key, len(kinds)))
            into, key = source.opened(event), NO_KEY
            event = get()
            continue
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            value = into
            into, key, number = stack.pop()
            source.close(value, number, event)
        else:  # an alias
            source.spans.note(ALIAS, event)
            value = source.alias(event, len(stack))
        if into is None:
            return value, event
        if into.__class__ is list:
            into.append(value)
        elif key is MERGE:
            merge(source, into, value, event)
        else:
            into[key] = value
        event = get()


def block_kind(text: str) -> int:
    """The kind of a block scalar with this text."""
    return BLOCK_SCALAR | BLANKS if text.rstrip("\n")[-1:] in (" ", "\t") else BLOCK_SCALAR


def check_again(source: EventSource, event: Any, into: dict[str, Any], key: Any, stack: Sequence[Any] = ()) -> None:
    """Accept a key that only a merge has set before; a second one in the text is an error.

    `stack` has the maps and lists around `into`, each with its current key, from the outermost on.
    """
    merged = source.merged.setdefault(id(into), set())
    if key is MERGE and MERGE not in merged:
        merged.add(MERGE)
    elif key in merged and key is not MERGE:
        merged.discard(key)
    elif not source.repeats:
        raise source.fail(f"{_named(event, into, key, stack)} is set twice in one map", event)


def _named(event: Any, into: Any, key: Any, stack: Sequence[Any]) -> str:
    """`the key 'name'`, `the key 'true' (written y)`; `a key` where it may be secret."""
    from krm_fn.base.redaction import shows_key  # needed only for errors

    name = "<<" if key is MERGE else key
    path = (*(waiting for _, waiting, _ in stack if isinstance(waiting, str)), name)
    if not shows_key(path, [*(around for around, _, _ in stack), into]):
        return "a key"
    written = getattr(event, "value", name)
    return f"the key {name!r}" if written == name else f"the key {name!r} (written {written})"


def merge(source: EventSource, into: dict[str, Any], value: Any, event: Any) -> None:
    """Merge the value of `<<` over the keys before it, as sigs.k8s.io/yaml does; of several maps the first wins."""
    maps = value if isinstance(value, list) else [value]
    if not all(isinstance(one, dict) for one in maps):
        raise source.fail("the value of << must be a map or a list of maps", event)
    for one in reversed(maps):
        source.merged[id(into)].update(name for name in one if name not in into)
        into.update(one)
