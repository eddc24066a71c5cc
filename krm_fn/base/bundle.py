"""The bundle: an index over the items of a ResourceList, by kind, namespace and name.

Nothing here copies or changes an object. An object of `kind: List` is opened: the objects in it are found like any item.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterable, Iterator, Mapping, Sequence
from krm_fn.base.objects import Object, group_of, kind_of, name_of, namespace_of, place_of, previous_names, text, unaffixed
from krm_fn.base.paths import Path, as_list
from krm_fn.base.value import Value, put

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from krm_fn.base.external import Externals

    Found = TypeVar("Found")
# The numbers of the objects of each apiVersion and kind, in order.
Types = Mapping[tuple[str, str], Sequence[int]]


# The namespace of an object that names none: the API server assigns it, so lookups use it too.
DEFAULT_NAMESPACE = "default"

LIST = "List"  # the last part of the kinds whose objects hold other objects
CLUSTER_KINDS = frozenset(
    ("VirtualMachineClusterInstancetype", "VirtualMachineClusterPreference", "VirtualMachineClusterFlavor")
)


class Entry(Value):
    """One object of the bundle: item number `item`, at `path` inside that item (`()`, or `("items", 3)` in a List)."""

    obj: Object
    item: int
    path: Path = ()

    def __init__(self, obj: Object, item: int, path: Path = ()) -> None:  # as in `Value`, at half the cost, for many entries
        put(self, "obj", obj)
        put(self, "item", item)
        put(self, "path", path)

    @property
    def type(self) -> tuple[str, str]:
        """Its apiVersion and kind."""
        return text(self.obj.get("apiVersion")), kind_of(self.obj)

    @property
    def name(self) -> str:
        return name_of(self.obj)

    @property
    def is_done(self) -> bool:
        """True for a late item that was rendered without findings: nothing needs its value any more."""
        return False

    def may_have(self, keys: frozenset[str]) -> bool:
        """False if no key at any depth is one of these."""
        todo: list[object] = [self.obj]
        for value in todo:
            if isinstance(value, dict):
                if not keys.isdisjoint(value):
                    return True
                todo.extend(value.values())
            elif isinstance(value, list):
                todo.extend(value)
        return False


class LateEntry(Entry):
    """An item that is read when it is used, and not kept. Its type is known before, its name once it was read."""

    _read: Callable[[int], Object]
    _may_have: Callable[[int, frozenset[str]], bool]
    _type: tuple[str, str]
    _name: str | None = None
    _is_done = False

    def __init__(
        self,
        item: int,
        type_of_item: tuple[str, str],
        read: Callable[[int], Object],
        may_have: Callable[[int, frozenset[str]], bool],
    ) -> None:
        """`may_have` is False if an item surely has none of these keys."""
        put(self, "item", item)
        put(self, "_type", type_of_item)
        put(self, "_read", read)
        put(self, "_may_have", may_have)

    @property
    def is_done(self) -> bool:
        return self._is_done

    def done(self) -> None:
        """Note that nothing needs its value any more."""
        put(self, "_name", self.name)
        put(self, "_is_done", True)

    def may_have(self, keys: frozenset[str]) -> bool:
        return self._may_have(self.item, keys) and super().may_have(keys)

    @property  # type: ignore[misc]
    def obj(self) -> Object:
        return self._read(self.item)

    @property
    def type(self) -> tuple[str, str]:
        return self._type

    @property
    def name(self) -> str:
        return name_of(self.obj) if self._name is None else self._name


def effective_namespace(obj: Object) -> str:
    """The namespace that a namespaced object is in."""
    return namespace_of(obj) or DEFAULT_NAMESPACE


def is_cluster_kind(kind: str) -> bool:
    """True for the cluster-wide instancetype and preference kinds, of every release."""
    return kind in CLUSTER_KINDS


def is_list(obj: Object) -> bool:
    """True for `kind: List`, `VirtualMachineList` and similar kinds: their objects only hold other objects."""
    return kind_of(obj).endswith(LIST) and isinstance(obj.get("items"), list)


def entries(items: Sequence[object]) -> Iterator[Entry]:
    """Every object of the items, in order. Lists are opened, also Lists in Lists. Items that are no map are skipped."""
    for number, item in enumerate(items):
        if isinstance(item, LateEntry):
            yield item
        elif isinstance(item, dict) and not is_list(item):
            yield Entry(obj=item, item=number)
        else:
            yield from _inside(item, number, ())


def value_of(item: Any) -> Any:
    """The value of an item, which is read now if the item is late."""
    return item.obj if isinstance(item, LateEntry) else item


def types_of(found: Iterable[Entry]) -> Types:
    """The types of the objects, in the order in which they first occur."""
    types: dict[tuple[str, str], list[int]] = {}
    for number, entry in enumerate(found):
        types.setdefault(entry.type, []).append(number)
    return types


def _inside(obj: object, number: int, path: Path) -> Iterator[Entry]:
    if not isinstance(obj, dict):
        return
    if is_list(obj):
        for index, below in enumerate(as_list(obj["items"])):
            yield from _inside(below, number, (*path, "items", index))
    else:
        yield Entry(obj=obj, item=number, path=path)


class Bundle:
    """The index. Kinds are spelled as in the API. Namespaces are those of `effective_namespace`, "" for cluster kinds.

    `places` has the file and index of each item, if the caller knows them. Otherwise the annotations of the items give them.
    `units` has, for each item, what applies it to a cluster, such as the kustomizations that build it. An item without units
    may be applied together with any other item; if `units` is empty, that holds for all items. Only the first `own` items
    belong to the bundle itself, or all items if `own` is negative. The others can be found, but no finding is about them.
    `external` are objects that are in the cluster and that no item has.
    """

    def __init__(
        self,
        items: Sequence[object],
        places: Sequence[tuple[str, int]] = (),
        units: Sequence[frozenset[str]] = (),
        own: int = -1,
        *,
        affixes: tuple[tuple[str, str], ...] = (),
        external: Sequence[Externals] = (),
    ) -> None:
        self.own = own if own >= 0 else len(items)
        self._items, self._places, self._units = items, places, units
        self.affixes, self.external = affixes, external
        self._place: dict[int, tuple[str, int]] = {}
        self.entries: Sequence[Entry] = tuple(entries(items))
        self.nulls = tuple(number for number, item in enumerate(items) if item is None)
        self._by_kind: dict[str, Sequence[Entry]] = {}
        self._homes: dict[str, dict[str, set[str]]] = {}
        self._derived: dict[Callable[[Bundle], Any], Any] = {}
        self._names: dict[str, dict[str, dict[str, Entry]]] = {}
        self._previous: dict[str, dict[str, dict[str, Entry]]] = {}
        self._take_types(types_of(self.entries))

    def _take_types(self, types: Types) -> None:
        """Note the entries of each type, and the first entry of each type."""
        self.types = tuple(self.entries[numbers[0]] for numbers in types.values())
        self._numbers: dict[str, list[Sequence[int]]] = {}
        for (_, kind), numbers in types.items():
            self._numbers.setdefault(kind, []).append(numbers)

    def place(self, item: int) -> tuple[str, int]:
        """File and index within it of an item; ("", 0) if they are not known, or if there is no item (-1)."""
        if item < 0:
            return "", 0
        if self._places:
            return self._places[item]
        if item not in self._place:
            self._place[item] = place_of(value_of(self._items[item]))
        return self._place[item]

    def is_context(self, item: int) -> bool:
        """True for an item that does not belong to the bundle itself."""
        return item >= self.own

    def former_names(self, entry: Entry, name: str = "") -> tuple[str, ...]:
        """The names that an object had before kustomize gave it `name`, or its own: as it says itself, or as affixes tell."""
        said = previous_names(entry.obj)
        if not self.affixes or self.is_context(entry.item):
            return said
        return (*said, *unaffixed(name or name_of(entry.obj), self.affixes))

    def units(self, item: int) -> frozenset[str]:
        """What applies an item to a cluster; empty if that is not known."""
        return self._units[item] if self._units else frozenset()

    def of_kind(self, kind: str, group: str | None = None) -> Sequence[Entry]:
        """All objects of a kind, and of an API group if one is given, in the bundle's order."""
        if kind not in self._numbers:  # as most kinds that are asked for
            return ()
        found = self._by_kind.get(kind)
        if found is None:
            found = self._by_kind[kind] = [self.entries[number] for number in self.numbers((kind,))]
        return found if group is None else [entry for entry in found if group_of(entry.obj) == group]

    def numbers(self, kinds: Iterable[str]) -> list[int]:
        """The numbers of all entries of these kinds, in order."""
        return sorted(number for kind in kinds for numbers in self._numbers.get(kind, ()) for number in numbers)

    def find(self, kind: str, namespace: str, name: str) -> Entry | None:
        """The object with this name, or with this name before kustomize's prefixes. Of several it is the first in `ordered`."""
        return self._index(kind, namespace).get(name) or self._previous_index(kind, namespace).get(name)

    def names(self, kind: str, namespace: str) -> Sequence[str]:
        """The names of a kind's objects in a namespace, in order, then their names before kustomize's prefixes and suffixes."""
        return tuple(dict.fromkeys((*self._index(kind, namespace), *self._previous_index(kind, namespace))))

    def namespaces(self, kind: str, name: str) -> Sequence[str]:
        """The namespaces that have an object of this kind and name, sorted."""
        if kind not in self._homes:
            homes = self._homes[kind] = {}
            for entry in self.of_kind(kind):
                homes.setdefault(name_of(entry.obj), set()).add(effective_namespace(entry.obj))
        return tuple(sorted(self._homes[kind].get(name, ())))

    def derived(self, make: Callable[[Bundle], Found]) -> Found:
        """What a function finds in the bundle; it is called once."""
        if make not in self._derived:
            self._derived[make] = make(self)
        return self._derived[make]  # type: ignore[no-any-return]

    def ordered(self, found: Iterable[Entry]) -> list[Entry]:
        """The objects by namespace, name, kind and apiVersion. Objects that are equal in these are ordered by file and content.

        Code that picks one of several objects takes the first, so that the result does not depend on the order of the items.
        """
        by_identity: dict[tuple[str, ...], list[Entry]] = {}
        for entry in found:
            by_identity.setdefault(_identity(entry.obj), []).append(entry)
        return [
            entry
            for key in sorted(by_identity)
            for entry in (by_identity[key] if len(by_identity[key]) == 1 else sorted(by_identity[key], key=self._content))
        ]

    def _content(self, entry: Entry) -> tuple[str, str, str]:
        """File and content. The annotations come last, so that an ignore does not move a finding to another object."""
        from krm_fn.base.paths import canonical  # few bundles have two objects with one name

        metadata = entry.obj.get("metadata")
        bare = entry.obj
        if isinstance(metadata, dict):
            bare = {**bare, "metadata": {key: value for key, value in metadata.items() if key != "annotations"}}
        return self.place(entry.item)[0], canonical(bare), canonical(entry.obj)

    def _index(self, kind: str, namespace: str) -> dict[str, Entry]:
        if kind not in self._names:
            self._names[kind] = self._built(kind, _present_names)
        return self._names[kind].get(namespace, {})

    def _previous_index(self, kind: str, namespace: str) -> dict[str, Entry]:
        """The index of previous names. It is built only when a name is not found, because it takes long."""
        if kind not in self._previous:
            self._previous[kind] = self._built(kind, previous_names)
        return self._previous[kind].get(namespace, {})

    def _built(self, kind: str, names: Callable[[Object], Sequence[str]]) -> dict[str, dict[str, Entry]]:
        """The objects of a kind by namespace and name."""
        cluster = is_cluster_kind(kind)
        built: dict[str, dict[str, Entry]] = {}
        by_name: dict[tuple[str, str], list[Entry]] = {}
        for entry in self.of_kind(kind):
            namespace = "" if cluster else effective_namespace(entry.obj)
            index = built.setdefault(namespace, {})
            for name in names(entry.obj):
                if index.setdefault(name, entry) is not entry:
                    by_name.setdefault((namespace, name), [index[name]]).append(entry)
        for (namespace, name), found in by_name.items():
            built[namespace][name] = self.ordered(found)[0]
        return built


def _identity(obj: Object) -> tuple[str, ...]:
    return effective_namespace(obj), name_of(obj), kind_of(obj), text(obj.get("apiVersion"))


def _present_names(obj: Object) -> tuple[str]:
    return (name_of(obj),)
