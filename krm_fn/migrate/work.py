"""One migration at work: the bundle as it came, what its VMs refer to, and what is left to the user."""

from __future__ import annotations

from krm_fn.bundle import effective_namespace, is_cluster_kind
from krm_fn.migrate.facts import Leftover
from krm_fn.paths import get
from krm_fn.removed import vm_path
from krm_fn.resolve import Resolver
from krm_fn.resource import name_of
from krm_fn.served import present_form
from krm_fn.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from krm_fn.bundle import Bundle, Entry
    from krm_fn.facts import Resolution
    from krm_fn.paths import Path
    from krm_fn.releases import Release
    from krm_fn.resource import Object


class User(Value):
    """A VM of the bundle: its object's entry, the path to it there, and what its matchers lead to."""

    entry: Entry
    path: Path
    vm: Object
    resolution: Resolution


class Work:
    """What the rewritings read, and where they leave what they can't carry over."""

    def __init__(self, bundle: Bundle, release: Release) -> None:
        self.bundle, self.release = bundle, release
        self.leftovers: list[Leftover] = []
        self._resolver = Resolver(bundle=bundle, release=release, catalogue=None)
        self._users: tuple[User, ...] | None = None

    def leave(self, entry: Entry, reason: str, path: Path = (), **more: Any) -> None:
        """Note that something stays as it is. `more`: `current`, and whatever the reason needs."""
        known = {"current": more.pop("current")} if "current" in more else {}
        self.leftovers.append(Leftover(entry=entry, reason=reason, path=path, detail=tuple(more.items()), **known))

    @property
    def users(self) -> tuple[User, ...]:
        """All VMs of the bundle, those in pools too, with what their matchers lead to in the bundle."""
        if self._users is None:
            self._users = tuple(self._resolved())
        return self._users

    def user(self, entry: Entry) -> User | None:
        """The VM of an entry, None where it holds none."""
        return next((user for user in self.users if user.entry is entry), None)

    def _resolved(self) -> Iterator[User]:
        for entry in self.bundle.entries:
            path = vm_path(entry.obj)
            if path is not None:
                vm = get(entry.obj, path)
                resolution = self._resolver.resolve(vm, namespace=effective_namespace(entry.obj))
                yield User(entry=entry, path=path, vm=vm, resolution=resolution)

    def is_taken(self, entry: Entry) -> bool:
        """True where another object has the kind and the name that this one would get by its rewriting."""
        form = present_form(entry.obj, self.release)
        if form is None or not name_of(entry.obj):  # those whose names the cluster makes up share none
            return False
        group, kind = form[0].partition("/")[0], form[1]
        return any(
            other is not entry
            and name_of(other.obj) == name_of(entry.obj)
            and (is_cluster_kind(kind) or effective_namespace(other.obj) == effective_namespace(entry.obj))
            for other in self.bundle.of_kind(kind, group)
        )
