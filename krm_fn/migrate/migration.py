"""One migration: the original bundle, the objects that its VMs refer to, and the parts that are left to the user."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator, Sequence
from krm_fn.base.bundle import Bundle, Entry, effective_namespace, is_cluster_kind
from krm_fn.base.objects import Object, name_of, text
from krm_fn.base.paths import Path, as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.api_versions import present_form
from krm_fn.kubevirt.facts import Resolution
from krm_fn.kubevirt.holders import vm_path
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.resolve import MATCHERS, Matcher, Resolver
from krm_fn.kubevirt.resolve.flavors import FLAVOR
from krm_fn.rules.facts.migrations import Leftover


class User(Value):
    """A VM of the bundle: its object's entry, its path there, and the objects that its matchers refer to."""

    entry: Entry
    path: Path
    vm: Object
    resolution: Resolution


class Migration:
    """The data that the changes read, and the list of parts that they cannot migrate."""

    def __init__(self, bundle: Bundle, release: Release) -> None:
        self.bundle, self.release = bundle, release
        self.leftovers: list[Leftover] = []
        self._resolver = Resolver(bundle=bundle, release=release, catalogue=None)
        self._users: tuple[User, ...] | None = None
        self._by_entry: dict[int, User] | None = None
        self._by_preference: dict[int, list[User]] | None = None
        self._pointers: dict[tuple[str, str], tuple[Matcher, Object]] | None = None
        self._named: dict[tuple[str, str], dict[tuple[str, str], list[Entry]]] = {}

    def add_leftover(self, entry: Entry, reason: str, path: Path = (), **more: Any) -> None:
        """Note that a part stays as it is. `more`: `current`, and the values that the reason needs."""
        known = {"current": more.pop("current")} if "current" in more else {}
        self.leftovers.append(Leftover(entry=entry, reason=reason, path=path, detail=tuple(more.items()), **known))

    @property
    def users(self) -> tuple[User, ...]:
        """All VMs of the bundle, including those in pools, with the objects that their matchers refer to."""
        if self._users is None:
            self._users = tuple(self._resolved())
        return self._users

    def user(self, entry: Entry) -> User | None:
        """The VM of an entry; None if it holds no VM."""
        if self._by_entry is None:
            self._by_entry = {id(user.entry): user for user in self.users}
        return self._by_entry.get(id(entry))

    def users_of_preference(self, entry: Entry) -> Sequence[User]:
        """The VMs that refer to this preference of the bundle."""
        if self._by_preference is None:
            self._by_preference = {}
            for user in self.users:
                found = user.resolution.preference
                if found is not None and found.entry is not None:
                    self._by_preference.setdefault(id(found.entry), []).append(user)
        return self._by_preference.get(id(entry), ())

    def pointer(self, revision: str, field: str) -> tuple[Matcher, Object] | None:
        """The first matcher of a VM, as written, that names a revision with an object for `field`; None if there is none."""
        if self._pointers is None:
            self._pointers = {}
            for user in self.users:
                for matcher in (*MATCHERS, FLAVOR):
                    written = as_map(get(user.vm, ("spec", matcher.field)))
                    key = text(written.get("revisionName")), matcher.payload or matcher.field
                    self._pointers.setdefault(key, (matcher, written))
        return self._pointers.get((revision, field)) if revision else None

    def _resolved(self) -> Iterator[User]:
        for entry in self.bundle.entries:
            path = vm_path(entry.obj)
            if path is not None:
                vm = get(entry.obj, path)
                resolution = self._resolver.resolve(vm, namespace=effective_namespace(entry.obj))
                yield User(entry=entry, path=path, vm=vm, resolution=resolution)

    def is_taken(self, entry: Entry) -> bool:
        """True if another object has the kind and the name that this object would get."""
        form = present_form(entry.obj, self.release)
        if form is None or not name_of(entry.obj):  # the cluster generates different names for these
            return False
        group, kind = form[0].partition("/")[0], form[1]
        if (group, kind) not in self._named:
            self._named[group, kind] = {}
            for other in self.bundle.of_kind(kind, group):
                self._named[group, kind].setdefault(_name(other, kind), []).append(other)
        return any(other is not entry for other in self._named[group, kind].get(_name(entry, kind), ())[:2])


def _name(entry: Entry, kind: str) -> tuple[str, str]:
    """Namespace and name of an object of that kind; "" is the namespace of cluster kinds."""
    return "" if is_cluster_kind(kind) else effective_namespace(entry.obj), name_of(entry.obj)
