"""What the rows of the field tables are made of: a source path, verbs, and the releases they hold for.

A verb is a function of the application, the value of its field, and the field's path. Paths are taken apart when a table is
loaded, never for a VM. "Set" is `paths.is_set` unless a row says otherwise.
"""

from __future__ import annotations

from krm_fn.base.paths import SCALARS, as_list, copy, get, is_set
from krm_fn.base.value import Value, put
from krm_fn.kubevirt.facts import Conflict
from krm_fn.kubevirt.holders import INSTANCE_SPEC
from krm_fn.kubevirt.quantity import canonical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.releases import Release, Version

    Verb = Callable[["Application", Any, Path], None]
    Plan = tuple[tuple[Verb, Any, Path], ...]
    # A row at its key: where it stands, its verbs, and what tells a value that is set.
    Row = tuple[str, Path, tuple[Verb, ...], Callable[[object], bool]]
    # Blocks of a spec: where each stands, the keys that some row is about, and the rows by their keys, in order.
    Groups = tuple[tuple[Path, frozenset[str], tuple[Row, ...]], ...]

# What Go writes inside a structure even when nothing was put there.
ALWAYS_WRITTEN: dict[str, Object] = {
    "domain": {"devices": {}, "resources": {}},
    "features": {"acpi": {}},
    "machine": {"type": ""},
}


# Go's plain booleans and integers in what specs hold whole: their zero is not written.
PLAIN = ("endOfInterrupt", "hidden", "logical", "physical")


class Application:
    """One application of two specs: the VM's own template, which the verbs write into, and the conflicts found so far."""

    __slots__ = ("conflicts", "instancetype", "preference", "spec", "template")

    def __init__(self, template: Object, *, preference: Object | None, instancetype: Object | None = None) -> None:
        self.template = template
        self.spec = enter(template, "spec")
        self.instancetype = instancetype
        self.preference = preference
        self.conflicts: list[Conflict] = []


class Field(Value):
    """A row: the field's path in its spec, what becomes of it, and from which release on and before which.

    A row without verbs says in `reason` why nothing happens here. `pointer` marks a text that is a pointer in Go, whose empty
    text counts too. It is made without `Value`: every start makes a hundred.
    """

    source: Path
    verbs: tuple[Verb, ...] = ()
    reason: str = ""
    pointer: bool = False
    since: Version = ()
    until: Version = ()

    def __init__(
        self, source: str, *verbs: Verb | str, pointer: bool = False, since: Version = (), until: Version = ()
    ) -> None:
        put(self, "source", tuple(source.split(".")))
        if pointer:
            put(self, "pointer", pointer)
        if len(verbs) == 1 and isinstance(verbs[0], str):
            put(self, "reason", verbs[0])
        else:
            put(self, "verbs", verbs)
        if since or until:
            put(self, "since", since)
            put(self, "until", until)


def groups_of(table: Iterable[Field], release: Release) -> Groups:
    """A release's rows by the block they stand in, so that a block a spec lacks costs one look."""
    blocks: dict[Path, list[Row]] = {(): []}
    for row in table:
        if row.verbs and release.within(since=row.since, until=row.until):
            place = ("spec", *row.source)
            key, counts = str(row.source[-1]), given if row.pointer else is_set
            blocks.setdefault(row.source[:-1], []).append((key, place, row.verbs, counts))
    return tuple((block, frozenset(row[0] for row in rows), tuple(rows)) for block, rows in blocks.items())


# What there is to do for the specs of late: many VMs share one. With each the spec itself, so that no other gets its id.
_plans: dict[tuple[int, int], tuple[Groups, Object, Plan]] = {}
_PLANS_AT_MOST = 2_000


def carry_out(groups: Groups, spec: Object, application: Application) -> None:
    """Run the verbs of every field that the spec sets. Nobody changes the spec afterwards."""
    key = id(groups), id(spec)
    if key not in _plans:
        if len(_plans) >= _PLANS_AT_MOST:
            _plans.clear()
        _plans[key] = groups, spec, tuple(_planned(groups, spec))
    for verb, value, place in _plans[key][2]:
        verb(application, value, place)


def _planned(groups: Groups, spec: Object) -> Iterator[tuple[Verb, Any, Path]]:
    for way, keys, rows in groups:
        block: Any = spec
        for key in way:
            block = block.get(key) if isinstance(block, dict) else None
        if not isinstance(block, dict) or keys.isdisjoint(block):
            continue
        for key, place, verbs, counts in rows:
            value = block.get(key)
            if value is not None and counts(value):
                for verb in verbs:
                    yield verb, value, place


def enter(parent: Object, key: str) -> Object:
    """The map at `key`, made as Go makes it where none is. Where the user wrote something else, a map that leads nowhere."""
    below = parent.get(key)
    if below is None:
        below = parent[key] = copy(ALWAYS_WRITTEN[key]) if key in ALWAYS_WRITTEN else {}
    return below if isinstance(below, dict) else {}


def enter_list(parent: Object, key: str) -> list[Any]:
    """The list at `key`, made where none is. Where the user wrote something else, a list that leads nowhere."""
    below = parent.get(key)
    if below is None:
        below = parent[key] = []
    return below if isinstance(below, list) else []


def reach(parent: Object, way: Iterable[str]) -> Object:
    """The map at the end of a path, every step entered."""
    for key in way:
        below = parent.get(key)
        parent = below if isinstance(below, dict) else enter(parent, key)
    return parent


def write(parent: Object, path: Iterable[str], value: Any) -> None:
    """Set the value at a path, every step entered; nothing where the user wrote something else on the way."""
    *way, last = path
    reach(parent, way)[last] = value


def as_written(value: Any) -> Any:
    """A copy of a part of a spec as Go writes it: without what is unset in it."""
    if value.__class__ in SCALARS:
        return value
    if isinstance(value, dict):
        return {key: as_written(below) for key, below in value.items() if below or _is_written(key, below)}
    return [as_written(entry) for entry in value] if isinstance(value, list) else value


def _is_written(key: str, empty: Any) -> bool:
    """True where Go writes an empty value: names always."""
    return empty is not None if key == "name" else is_set(empty) and key not in PLAIN


def as_quantity(value: Any) -> Any:
    """A quantity as Go writes it."""
    return canonical(as_written(value))


def given(value: object) -> bool:
    """True for what is set and for an empty text, as for what Go has a pointer to."""
    return value == "" or is_set(value)


def filled(value: object) -> bool:
    """True for a map with something in it: Go doesn't write an empty one."""
    return isinstance(value, dict) and bool(value)


def forbid(target: str, *, present: Callable[[object], bool] = is_set, upstream: str = "") -> Verb:
    """The VM must leave `target` unset, else it conflicts. `upstream` is how KubeVirt spells the path where it errs."""
    way = tuple(target.split("."))
    named = ".".join((*INSTANCE_SPEC, upstream)) if upstream else ""

    def verb(application: Application, value: Any, source: Path) -> None:
        current = get(application.spec, way)
        if present(current):
            found = Conflict(path=(*INSTANCE_SPEC, *way), current=current, source_path=source, value=value, upstream_path=named)
            application.conflicts.append(found)

    return verb


def overwrite(target: str, *, present: Callable[[object], bool] = is_set, written: Callable[[Any], Any] = as_written) -> Verb:
    """`target` gets the value whatever stood there; it goes where the value is one that Go doesn't write."""
    *way, last = target.split(".")

    def verb(application: Application, value: Any, _: Path) -> None:
        place = reach(application.spec, way)
        if present(value):
            place[last] = written(value)
        else:
            place.pop(last, None)

    return verb


def claim(
    target: str,
    *,
    present: Callable[[object], bool] = is_set,
    written: Callable[[Any], Any] = as_written,
    upstream: str = "",
) -> tuple[Verb, Verb]:
    """`target` is the instancetype's: a VM that sets it conflicts, any other gets the value."""
    return forbid(target, present=present, upstream=upstream), overwrite(target, present=present, written=written)


def default(target: str) -> Verb:
    """`target` gets the value where it is unset; what leads there is made."""
    *way, last = target.split(".")

    def verb(application: Application, value: Any, _: Path) -> None:
        place = reach(application.spec, way)
        if not is_set(place.get(last)):
            place[last] = as_written(value)

    return verb


def default_within(target: str) -> Verb:
    """`target` gets the value where it is unset and the map that holds it is there."""
    *way, last = target.split(".")

    def verb(application: Application, value: Any, _: Path) -> None:
        place = get(application.spec, tuple(way))
        if isinstance(place, dict) and not is_set(place.get(last)):
            place[last] = as_written(value)

    return verb


def anywhere(_: Object) -> bool:
    return True


def default_each(
    entries: str,
    target: str,
    *,
    where: Callable[[Object], bool] = anywhere,
    present: Callable[[object], bool] = is_set,
    written: Callable[[Any], Any] = as_written,
) -> Verb:
    """`target` in every entry of a list (of those that `where` holds for) gets the value where it is unset."""
    listed = tuple(entries.split("."))
    *way, last = target.split(".")

    def verb(application: Application, value: Any, _: Path) -> None:
        for entry in as_list(get(application.spec, listed)):
            if isinstance(entry, dict) and where(entry):
                place = reach(entry, way)
                if not present(place.get(last)):
                    place[last] = written(value)

    return verb


def ensure(target: str) -> Verb:
    """The map at `target` is made where it is missing, empty as Go makes it."""
    way = tuple(target.split("."))

    def verb(application: Application, _value: Any, _: Path) -> None:
        reach(application.spec, way)

    return verb


def consulted(by: str) -> str:
    """The reason of a row that another row's function, or another stage, reads."""
    return f"consulted by {by}"


def ignored(why: str) -> str:
    """The reason of a row that KubeVirt declares and does nothing with."""
    return f"ignored: {why}"
