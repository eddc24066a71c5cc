"""A large ResourceList in plain form. Little more than its bytes is in memory.

For each item, its type, its name and its likeness to others are kept. Its value is read again whenever it is needed.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.errors import InputError
from krm_fn.base.objects import Object
from krm_fn.fast_path.fields import uses_of
from krm_fn.fast_path.shapes import Likeness, Names, Shapes
from krm_fn.yamlio.plain.items import ODD, read_item, read_region
from krm_fn.yamlio.plain.lines import Layout, NotPlain
from krm_fn.yamlio.plain.split import check, first_item, item_end, regions

Read = tuple[Object, Layout | None]


VM = "VirtualMachine"
# The first lines of VMs. A VM is read only when it is rendered: VMs are the most objects, and no object refers to them.
API_VERSION, KIND_OF_VM = "- apiVersion: kubevirt.io/", f"  kind: {VM}"
KEPT = 2_500  # values of other objects
FRESH = 50  # values of VMs, until they are rendered
LONGEST = 1 << 16  # characters of an item; a longer one has no shape


class Unreadable(Exception):  # noqa: N818
    """The list can't be read item by item; libyaml must read it."""


class Item:
    """The data of an item without its value. `names` are None until it is read, `likeness` if it has no known shape."""

    __slots__ = ("api_version", "kind", "likeness", "names")

    def __init__(self, api_version: str, kind: str, names: Names | None = None, likeness: Likeness | None = None) -> None:
        self.api_version, self.kind, self.names, self.likeness = api_version, kind, names, likeness

    def is_as(self, other: Item) -> bool:
        """True if the other item has this item's type, and its names if they are known."""
        return (self.api_version, self.kind) == (other.api_version, other.kind) and other.names in (None, self.names)


class Listing:
    """The items of a ResourceList. `head` is its top-level map without them."""

    def __init__(self, data: bytes) -> None:
        """Raises: NotPlain, InputError if it is not a list in plain form, or may not be."""
        self.data = data
        self.head: dict[str, Any] = {}
        found = regions(data)
        check(data)
        for key, start, end in found:
            if key != "items":
                self.head |= read_region(data[start:end].decode())
            else:
                self.start, self.end = start, end
        if self.head.get("kind") != "ResourceList" or not any(key == "items" for key, _, _ in found):
            raise NotPlain
        self.items: list[Item] = []
        self.starts: list[int] = []  # the last entry is the end of the last item
        self.types: dict[tuple[str, str], list[int]] = {}  # numbers by apiVersion and kind
        self._shapes = Shapes(uses_of)
        self._read: dict[int, Read] = {}
        self._last: tuple[int, Read | None] = -1, None

    def load(self) -> None:
        """Find the items, and read those that must not be read later. Raises: Unreadable."""
        try:
            self._load()
        except (NotPlain, InputError):
            raise Unreadable from None

    def _load(self) -> None:
        at = first_item(self.data, self.start)
        while at < self.end:
            self.starts.append(at)
            at = item_end(self.data, at, self.end)
            item = self._item(len(self.items), self.data[self.starts[-1] : at].decode())
            self.types.setdefault((item.api_version, item.kind), []).append(len(self.items))
            self.items.append(item)
        self.starts.append(at)
        if self.items[-1].likeness is None and self.read(len(self.items) - 1)[1] in (None, ODD):
            raise NotPlain  # comments or empty lines may follow the last item, with results before them

    def _item(self, number: int, text: str) -> Item:
        """The data of an item. Raises: NotPlain, InputError."""
        first, second = _first_lines(text)
        wanted = False
        if len(text) <= LONGEST and self._shapes.pay_for(second):
            lines = text.split("\n")
            found = self._shapes.find(lines)
            if found:
                (shape, _), _ = likeness, names = found
                return Item(shape.api_version, shape.kind, names, likeness)
            wanted = self._shapes.wants(lines)
        if second != KIND_OF_VM or not first.startswith(API_VERSION):
            return self._of_others(number, text, wanted=wanted)
        item = Item(first[len("- apiVersion: ") :], VM)
        if wanted:
            item.likeness = self._of_vm(number, item, text)
        return item

    def _of_others(self, number: int, text: str, *, wanted: bool) -> Item:
        """The data of an item that rendering may never use. It is read now, so that an unreadable one is found."""
        value, layout = known = read_item(text)
        item = item_of(value)
        if item is None or layout == ODD:
            raise NotPlain  # escapes may hide an ignore or another name
        self._remember(number, known)
        if wanted and layout:
            item.likeness = self._shapes.learn(text, value, layout)
        return item

    def _of_vm(self, number: int, item: Item, text: str) -> Likeness | None:
        """The likeness of the later VMs with this one's lines, if it can be learned."""
        try:
            value, layout = read_item(text)
        except (NotPlain, InputError):
            return None  # rendering finds out that it is unreadable
        found = item_of(value)
        if layout is None or layout == ODD or not (found and found.is_as(item)):
            return None
        item.names = found.names
        if len(self._read) < FRESH:
            self._read[number] = value, layout
        return self._shapes.learn(text, value, layout)

    def text(self, number: int) -> str:
        return self.data[self.starts[number] : self.starts[number + 1]].decode()

    def value(self, number: int) -> Object:
        """The value of an item, which must not be changed. Raises: Unreadable."""
        return self.read(number)[0]

    def read(self, number: int) -> Read:
        """The value of an item, and its layout. Raises: Unreadable."""
        known = self._last[1] if self._last[0] == number else self._read.get(number)
        if known is None:
            text, likeness = self.text(number), self.items[number].likeness
            try:
                known = (likeness[0].value_of(text.split("\n")), likeness[0].layout) if likeness else read_item(text)
            except (NotPlain, InputError):
                raise Unreadable from None
            self._keep(number, known)
        return known

    def _keep(self, number: int, known: Read) -> None:
        """Keep a value for a while: a VM until the next item is read, because nothing refers to it; others while they are few.

        Raises: Unreadable if it is another object than its lines showed.
        """
        item, found = self.items[number], item_of(known[0])
        if not (found and found.is_as(item)):
            raise Unreadable
        item.names = found.names
        self._last = number, known
        if item.kind != VM:
            self._remember(number, known)

    def _remember(self, number: int, known: Read) -> None:
        if len(self._read) >= KEPT:
            self._read.clear()
        self._read[number] = known

    def names(self, number: int) -> Names:
        """Name and namespace of an item, None if there is none. Raises: Unreadable."""
        if self.items[number].names is None:
            self.read(number)
        return self.items[number].names or (None, None)

    def contains(self, word: str) -> bool:
        """False if no key or value of the list is this word."""
        return word.encode() in self.data


def _first_lines(text: str) -> tuple[str, str]:
    """The first two lines of an item. The second is empty if there is only one."""
    end = text.index("\n")
    return text[:end], text[end + 1 : max(end + 1, text.find("\n", end + 1))]


def item_of(value: Any) -> Item | None:
    """The data of an item from its value; None if it has no type and name of the usual form."""
    meta = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(meta, dict):
        return None
    api_version, kind, names = value.get("apiVersion"), value.get("kind"), (meta.get("name"), meta.get("namespace"))
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    return Item(api_version, kind, names) if all(name is None or isinstance(name, str) for name in names) else None
