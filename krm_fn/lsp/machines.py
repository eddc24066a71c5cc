"""The machines of a target, found by what one of its files calls them: a build may have changed their namespaces and names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.base.bundle import effective_namespace, entries
from krm_fn.base.objects import group_of, kind_of, name_of
from krm_fn.kubevirt.holders import HOLDERS

if TYPE_CHECKING:
    from krm_fn.base.objects import Object
    from krm_fn.lsp.sizes import Key
    from krm_fn.sources.source import Sources


def key_of(obj: Object) -> Key:
    """Kind, namespace and name of a machine."""
    return kind_of(obj), effective_namespace(obj), name_of(obj)


class Machines:
    """The machines of a target, for questions about one of its files."""

    def __init__(self, found: Sources, file: str) -> None:
        self._here: dict[str, list[Object]] = {}
        self._by_name: dict[tuple[str, str], list[Object]] = {}
        places = found.places
        machines = [each for each in entries(found.items) if (group_of(each.obj), kind_of(each.obj)) in HOLDERS]
        for each in machines:
            if places[each.item][0] == file:
                self._here.setdefault(kind_of(each.obj), []).append(each.obj)
        others = (each.obj for each in machines if kind_of(each.obj) not in self._here)  # for a patch
        for obj in (*(obj for here in self._here.values() for obj in here), *others):
            self._by_name.setdefault((kind_of(obj), name_of(obj)), []).append(obj)

    def called(self, key: Key) -> Object | None:
        """The machine that the file has under a key."""
        kind, namespace, name = key
        named, here = self._by_name.get((kind, name), []), self._here.get(kind, [])
        fitting = (obj for obj in named if effective_namespace(obj) == namespace)
        alone = here[0] if len(here) == 1 else None
        return next(fitting, named[0] if named else alone)
