"""A large ResourceList in plain form, of which little is in memory beside its bytes.

Its items are `Light`: apiVersion, kind, name and namespace, and the rest read again whenever somebody looks at it. Of a changed
item the changes of its lines are kept; its text is made while the list is written.
"""

from __future__ import annotations

from krm_fn.base.errors import InputError
from krm_fn.fast_path.shapes import LONGEST, Shapes
from krm_fn.yamlio.emit import Style
from krm_fn.yamlio.plain.changes import Changes, applied
from krm_fn.yamlio.plain.items import ODD, read_item, read_region
from krm_fn.yamlio.plain.lines import NotPlain, read, token
from krm_fn.yamlio.plain.split import check, first_item, item_end, regions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from krm_fn.fast_path.alike import Settled, Twin
    from krm_fn.fast_path.shapes import UsesOf
    from krm_fn.yamlio.plain.lines import Layout

    # Name and namespace, None where there is none; apiVersion and kind before them.
    Names = Sequence[str | None]
    Head = tuple[str, str, str | None, str | None]

PLACEHOLDER = b"- items: of the list\n"
FIRST, KIND, API_VERSION = b"- apiVersion: ", b"\n  kind: ", b"\n  apiVersion: "
READ_LATER = "VirtualMachine"  # items of this kind are the most, and are all read once anyway
KEPT = 2_500  # values
FRESH = 50  # values of VMs, until they are looked at
FEW = 3  # to learn the shape of so many doesn't pay
WRITTEN_AT_ONCE = 1 << 16  # bytes
LONGEST_HEAD = 500  # bytes of the two lines with apiVersion and kind


class Unreadable(Exception):  # noqa: N818
    """An item that was left for later can't be read by itself: the list has to be read by libyaml."""


def read_light_list(data: bytes) -> LightList | None:
    """A large ResourceList in plain form, its items not yet cut; None where it isn't one, or may be not."""
    try:
        found = regions(data)
        check(data)
        head: dict[str, Any] = {}
        for key, start, end in found:
            if key != "items":
                head |= read_region(data[start:end].decode())
        start, end = next((start, end) for key, start, end in found if key == "items")
        return LightList(data, head, start, end) if head.get("kind") == "ResourceList" else None
    except (NotPlain, InputError, StopIteration):
        return None


class LightItems:
    """The items of the region `start` to `end` of a list's bytes. `uses` says what the values of an object's kind are for."""

    def __init__(self, data: bytes, start: int, end: int, uses: UsesOf) -> None:
        """Raises: NotPlain, InputError."""
        self.data = data
        self.settled: dict[int, Settled | str] = {}
        self.shapes = Shapes(uses)
        self._types: dict[bytes, tuple[str, str]] = {}  # by the lines that say them
        self.seen: dict[str, int] = {}  # by kind, how many were read
        self._same: dict[Settled, Settled] = {}
        self._sound: set[Twin] = set()  # of kinds other than VMs, where one was read
        self._read: dict[int, tuple[Any, Layout | None]] = {}
        self._parts: dict[tuple[int, str], Any] = {}
        self._last: tuple[int, tuple[Any, Layout | None]] = -1, (None, None)
        self.items: list[Light] = []
        self.types: dict[tuple[str, str], list[int]] = {}  # numbers by apiVersion and kind
        at = first_item(data, start)
        self.starts = [at]  # and where the last one ends
        while at < end:
            number = len(self.items)
            light, at = self._next(number, at, end)
            self.items.append(light)
            self.types.setdefault((light.api_version, light.kind), []).append(number)
            self.starts.append(at)

    def span(self, number: int) -> tuple[int, int]:
        return self.starts[number], self.starts[number + 1]

    def text(self, number: int) -> str:
        start, end = self.span(number)
        return self.data[start:end].decode()

    def _next(self, number: int, start: int, end: int) -> tuple[Light, int]:
        """What stands for the item that starts there, and where it stops.

        Whatever nobody may ever look at is read once here, to know that it can be; of VMs only those of new shapes.
        Raises: NotPlain, InputError.
        """
        api_version, kind = self._type(start, end)
        known = self.shapes.find(kind, self.data, start, end)
        if known:
            twin, names, stop = known
            if kind == READ_LATER or not twin.differing or twin in self._sound:
                return Light(self, number, api_version, kind, names, twin), stop
        stop = item_end(self.data, start, end)
        return self._new(number, start, stop, api_version, kind), stop

    def _new(self, number: int, start: int, stop: int, api_version: str, kind: str) -> Light:
        """As `_next`, of an item that has to be looked at more closely."""
        text = self.data[start:stop].decode() if stop - start <= LONGEST or kind != READ_LATER else ""
        found = self.shapes.look(kind, text)
        if found and (kind == READ_LATER or not found[0].differing or found[0] in self._sound):
            return Light(self, number, api_version, kind, found[1], found[0])
        if kind == READ_LATER:
            return Light(self, number, api_version, kind, twin=self._new_vm(number, api_version, text))
        value, layout = known = read_item(text)
        head = head_in(value)
        if head is None or layout == ODD:
            raise NotPlain  # it may say what its letters don't show, such as an ignore
        if len(self._read) < KEPT:
            self._read[number] = known
        self.seen[kind] = self.seen.get(kind, 0) + 1
        twin = found[0] if found else None
        if layout and twin is None and head[:2] == (api_version, kind) and self.seen[kind] >= FEW and self.shapes.spend(kind):
            twin = self.shapes.learn(kind, text, value, layout)
        if twin:
            self._sound.add(twin)
        return Light(self, number, *head[:2], head[2:], twin)

    def _new_vm(self, number: int, api_version: str, text: str) -> Twin | None:
        """What stands for a VM of a new shape and all that are like it, where it is worth while to read it for that."""
        if not text or not self.shapes.spend(READ_LATER):
            return None
        try:
            value, layout = known = read_item(text)
        except (NotPlain, InputError):
            return None  # whoever looks at it is told so
        head = head_in(value)
        if head is None or head[:2] != (api_version, READ_LATER):
            return None
        if len(self._read) < FRESH:
            self._read[number] = known
        return None if layout is None or layout == ODD else self.shapes.learn(READ_LATER, text, value, layout)

    def _type(self, start: int, end: int) -> tuple[str, str]:
        """The apiVersion and kind that an item's lines show, "" where they show none; they are compared when it is read."""
        data = self.data
        stop = data.find(b"\n", data.find(b"\n", start, start + LONGEST_HEAD) + 1 or start, start + LONGEST_HEAD)
        lines = data[start : max(start, stop)]
        found = self._types.get(lines)
        if found is None:
            next_line = lines.find(b"\n")
            if not lines.startswith(FIRST) or not lines.startswith(KIND, next_line):
                return self._type_anywhere(start, data.find(b"\n- ", start, end) + 1 or end)
            found = self._text_at(start), self._text_at(start + next_line + 1)
            if len(self._types) < KEPT:
                self._types[lines] = found
        return found

    def _type_anywhere(self, start: int, end: int) -> tuple[str, str]:
        kind = self.data.find(KIND, start, end)
        api_version = start if self.data.startswith(FIRST, start) else self.data.find(API_VERSION, start, end) + 1
        if kind < 0:
            return "", ""
        return self._text_at(api_version) if api_version else "", self._text_at(kind + 1)

    def _text_at(self, start: int) -> str:
        """The value of the line that starts there, where it is a string, else ""."""
        try:
            value = token(self.data[start : self.data.index(b"\n", start)].decode())[3]
        except NotPlain:
            return ""
        return value if isinstance(value, str) else ""

    def names(self, number: int) -> Names:
        """Name and namespace of an item. Raises: Unreadable."""
        return head_in(self.read(number)[0])[2:]  # type: ignore[index]  # what has none is not light

    def read(self, number: int) -> tuple[Any, Layout | None]:
        """The value of an item, and its layout. Raises: Unreadable."""
        known = self._last[1] if self._last[0] == number else self._read.get(number)
        if known is None:
            try:
                known = read_item(self.text(number))
            except (NotPlain, InputError):
                raise Unreadable from None
            self.items[number].stands_for(known[0])
            self._keep(number, known)
        return known

    def part(self, number: int, key: str) -> Any:
        """The value of a top-level key of an item that is known to be plain, without the rest; None where that can't be had."""
        if number in self._read:
            return None
        known = self._parts.get((number, key))
        if known is None:
            text = self.text(number)
            start = text.find(f"\n  {key}:\n") + 1
            if start:
                if len(self._parts) >= KEPT:
                    self._parts.clear()
                known = self._parts[number, key] = read(text[start:])[key]  # with what follows it, which is little
        return known

    def _keep(self, number: int, known: tuple[Any, Layout | None]) -> None:
        """Keep a value for a while: a VM until the next one, for nobody refers to it; others until there are many."""
        if known[0]["kind"] == READ_LATER:
            self._last = number, known
            return
        if len(self._read) >= KEPT:
            self._read.clear()
        self._read[number] = known

    def settle_as(self, number: int, changes: Settled) -> None:
        """Let an item's lines change as its twin's did."""
        self.settled[number] = self._same.setdefault(changes, changes)

    def settle(self, number: int, new: Any) -> None:
        """Keep how the item's text changes when it becomes `new`. Raises: Unreadable where only libyaml's road knows."""
        text = self.text(number)
        value, layout = self.read(number)
        if layout is None or layout == ODD or not isinstance(new, dict):
            self.settled[number] = respelled_alone(text, value, new, layout)
            return
        try:
            changed = Changes(text, Style(step=layout[0], dash=layout[1])).flat(value, new)
            self.settled[number] = self._same.setdefault(changed, changed)
        except NotPlain:
            self.settled[number] = respelled_alone(text, value, new, layout)

    def settle_like(self, number: int, twin: Twin, old: Any, new: Any) -> bool:
        """Keep how the text changes when `old`, which stands for its twins, becomes `new`. False where that can't be told."""
        step, dash = twin.shape.layout
        try:
            changed = Changes(self.text(number), Style(step=step, dash=dash)).flat(old, new)
        except NotPlain:
            return False
        self.settled[number] = self._same.setdefault(changed, changed)
        return True

    def chunks(self) -> Iterator[bytes]:
        """The text of all items, changes made, in pieces."""
        out: list[str] = []
        size, begin, view = 0, self.starts[0], memoryview(self.data)
        for number in sorted(self.settled):
            changed = self.settled[number]
            if begin < self.starts[number]:
                yield "".join(out).encode()
                out, size = [], 0
                yield view[begin : self.starts[number]]  # type: ignore[misc]
            text = changed if isinstance(changed, str) else applied(self.text(number), changed)
            out.append(text)
            size += len(text)
            begin = self.starts[number + 1]
            if size >= WRITTEN_AT_ONCE:
                yield "".join(out).encode()
                out, size = [], 0
        yield "".join(out).encode()
        yield view[begin : self.starts[-1]]  # type: ignore[misc]


def respelled_alone(text: str, old: Any, new: Any, layout: Layout | None) -> str:
    """The text of an item changed by the general road. Raises: Unreadable where it can't be changed in place."""
    from krm_fn.yamlio.layout import Unspliceable
    from krm_fn.yamlio.plain.text import PlainList
    from krm_fn.yamlio.texts import ENTRY, Piece, Top

    data = text.encode()
    piece = Piece(start=0, end=len(data), line=1, form=ENTRY)
    top = Top(flow=False, column=0, keys=(("items", 0, 0, 0, 0),), end=len(data), form="block")
    try:
        return PlainList(data, "", [old], [piece], head={}, top=top, layouts=[layout]).respelled(0, new)
    except Unspliceable:
        raise Unreadable from None


def head_in(value: Any) -> Head | None:
    """The head of a value, None where it has none of the usual form."""
    meta = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(meta, dict):
        return None
    head = value.get("apiVersion"), value.get("kind"), meta.get("name"), meta.get("namespace")
    optional = all(part is None or isinstance(part, str) for part in head[2:])
    return head if optional and isinstance(head[0], str) and isinstance(head[1], str) else None


class Lazy(dict):  # type: ignore[type-arg]
    """A map that is read when more of it is wanted than is at hand."""

    __slots__ = ()

    def whole(self) -> dict[str, Any]:
        """The map as it was written; each kind of view says how it is read."""
        raise TypeError(f"{type(self).__name__} can't be read")

    def __getitem__(self, key: str) -> Any:
        return self.whole()[key]

    def get(self, key: str, default: Any = None) -> Any:
        return self.whole().get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self.whole()

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole())

    def __len__(self) -> int:
        return len(self.whole())

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return self.whole() == (other.whole() if isinstance(other, Lazy) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __repr__(self) -> str:
        return repr(self.whole())

    def keys(self) -> Any:
        return self.whole().keys()

    def values(self) -> Any:
        return self.whole().values()

    def items(self) -> Any:
        return self.whole().items()

    def copy(self) -> dict[str, Any]:
        return self.whole().copy()


class Light(Lazy):
    """An item of a large list, to be looked at; nobody changes it."""

    __slots__ = ("_items", "_number", "api_version", "kind", "names", "twin")

    def __init__(  # noqa: PLR0917  there is one for each item
        self,
        items: LightItems,
        number: int,
        api_version: str,
        kind: str,
        names: Names | None = None,
        twin: Twin | None = None,
    ) -> None:
        self._items, self._number, self.api_version, self.kind = items, number, api_version, kind
        self.names = names
        self.twin = twin  # where nobody has to read it, or where it is the first one that was

    def name(self, which: int) -> str | None:
        """The name (0) or the namespace (1). Raises: Unreadable."""
        if self.names is None:
            self.names = self._items.names(self._number)
        return self.names[which]

    def stands_for(self, value: Any) -> None:
        """Hold what the item's lines showed against what was read of it. Raises: Unreadable where they differ."""
        head = head_in(value)
        if head is None or head[:2] != (self.api_version, self.kind) or self.names not in (None, head[2:]):
            raise Unreadable
        self.names = head[2:]

    def whole(self) -> dict[str, Any]:
        value: dict[str, Any] = self._items.read(self._number)[0]
        return value

    def get(self, key: str, default: Any = None) -> Any:
        if key == "kind":
            return self.kind
        if key == "apiVersion":
            return self.api_version
        if key == "metadata":
            return LightMetadata(self)
        if self.twin and self.kind != READ_LATER:
            found = self._items.part(self._number, key)
            if found is not None:
                return found
        return self.whole().get(key, default)


class LightMetadata(Lazy):
    """The metadata of a light item."""

    __slots__ = ("_item",)

    def __init__(self, item: Light) -> None:
        self._item = item

    def whole(self) -> dict[str, Any]:
        value: dict[str, Any] = self._item.whole()["metadata"]
        return value

    def get(self, key: str, default: Any = None) -> Any:
        if key in ("name", "namespace"):
            found = self._item.name(0 if key == "name" else 1)
            return default if found is None else found
        return self.whole().get(key, default)


class LightList:
    """A large ResourceList: `head` is its top-level map without the items, `items` are light."""

    def __init__(self, data: bytes, head: dict[str, Any], start: int, end: int) -> None:
        self.data, self.head, self.start, self.end = data, head, start, end

    def load(self, uses: UsesOf) -> None:
        """Cut the items, and read what nobody may look at later. Raises: Unreadable."""
        try:
            self._held = LightItems(self.data, self.start, self.end, uses)
            last = self._held.items[-1].twin or read_item(self._held.text(len(self._held.items) - 1))[1]
        except (NotPlain, InputError):
            raise Unreadable from None
        self.items, self.types = self._held.items, self._held.types
        if last is None or last == ODD:
            raise Unreadable  # comments or empty lines may follow the last item, and results stand before them

    def settle_as(self, number: int, changes: Settled) -> None:
        """Let an item's lines change as its twin's did."""
        self._held.settle_as(number, changes)

    def settle_like(self, number: int, twin: Twin, old: Any, new: Any) -> bool:
        """Let the item change as what stands for its twins does, from `old` to `new`. False where that can't be told."""
        return self._held.settle_like(number, twin, old, new)

    @property
    def settled(self) -> dict[int, Settled | str]:
        """How items leave, by number."""
        return self._held.settled

    def mentions(self, word: str) -> bool:
        """False where no key or value of the list is this word."""
        return word.encode() in self.data

    def settle(self, number: int, new: Any) -> None:
        """Let the item leave as `new`, which nobody needs to keep. Raises: Unreadable."""
        self._held.settle(number, new)

    def chunks(self, results: Sequence[Any] = ()) -> Iterator[bytes]:
        """The list with what was settled, in pieces. `results`, where there are any, replace those of the input."""
        before, behind = self.data[: self._held.starts[0]], self.data[self.end :]
        if results:
            before, _, behind = self._frame(results).partition(PLACEHOLDER)
        yield before
        yield from self._held.chunks()
        yield behind

    def _frame(self, results: Sequence[Any]) -> bytes:
        """The list around its items, which a small one stands for."""
        from krm_fn.yamlio import read_resource_list, write_resource_list

        frame = read_resource_list(self.data[: self.start] + b"items:\n" + PLACEHOLDER + self.data[self.end :])
        return write_resource_list(frame, frame.items, results)
