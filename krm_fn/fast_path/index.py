"""The bundle of a listing's items: objects are found by their names, and read when they are needed."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterator, Sequence
from krm_fn.base.bundle import DEFAULT_NAMESPACE, Bundle, Entry, is_cluster_kind
from krm_fn.base.objects import group_of
from krm_fn.fast_path.listing import Listing


class Late:
    """A sequence of values, each of them made when it is used."""

    def __init__(self, make: Callable[[int], Any], numbers: Sequence[int]) -> None:
        self._make, self._numbers = make, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, at: int) -> Any:
        return self._make(self._numbers[at])

    def __iter__(self) -> Iterator[Any]:
        return map(self._make, self._numbers)


class ListingBundle(Bundle):
    """The bundle of a listing's items. None of them is null or holds others. Reading an item may raise Unreadable."""

    def __init__(self, listing: Listing) -> None:
        super().__init__(())
        self._listing = listing
        every = range(len(listing.items))
        self._items: Sequence[object] = Late(listing.value, every)  # type: ignore[assignment]
        self.entries: Sequence[Entry] = Late(self._entry, every)  # type: ignore[assignment]
        self._take_types(listing.types)
        self._named: dict[str, dict[tuple[str, str], list[int]]] = {}

    def _entry(self, number: int) -> Entry:
        return Entry(obj=self._listing.value(number), item=number)

    def of_kind(self, kind: str, group: str | None = None) -> Sequence[Entry]:
        found: Any = Late(self._entry, self.numbers((kind,)))
        return found if group is None else [entry for entry in found if group_of(entry.obj) == group]

    def find(self, kind: str, namespace: str, name: str) -> Entry | None:
        numbers = self._by_name(kind).get((namespace, name), ())
        if len(numbers) > 1:
            return self.ordered(map(self._entry, numbers))[0]
        return self._entry(numbers[0]) if numbers else self._previous_index(kind, namespace).get(name)

    def names(self, kind: str, namespace: str) -> Sequence[str]:
        present = [name for within, name in self._by_name(kind) if within == namespace]
        return tuple(dict.fromkeys((*present, *self._previous_index(kind, namespace))))

    def _by_name(self, kind: str) -> dict[tuple[str, str], list[int]]:
        """The numbers of a kind's objects by namespace and name."""
        found = self._named.get(kind)
        if found is None:
            found = self._named[kind] = {}
            for number in self.numbers((kind,)):
                name, namespace = self._listing.names(number)
                within = "" if is_cluster_kind(kind) else namespace or DEFAULT_NAMESPACE
                found.setdefault((within, name or ""), []).append(number)
        return found
