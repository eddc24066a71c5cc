"""The parts of the rows of the field tables: a source path, verbs, and the releases of the row.

A verb is a function of the application, the value of its field, and the field's path. Paths are split when a table is loaded,
never for a VM. "Set" means `paths.is_set`, unless a row says otherwise.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterable, Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import SCALARS, Path, as_list, copy, get, is_set
from krm_fn.base.quantity import canonical
from krm_fn.base.value import Value, put
from krm_fn.kubevirt.facts import Conflict
from krm_fn.kubevirt.holders import INSTANCE_SPEC
from krm_fn.kubevirt.releases import Bound, Release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.trace import Trace
Verb = Callable[["Application", Any, Path], None]
Plan = tuple[tuple[Verb, Any, Path], ...]
# A row by its key: its place, its verbs, and the test whether a value is set.
Row = tuple[str, Path, tuple[Verb, ...], Callable[[object], bool]]
# Blocks of a spec: the place of each, the keys that have rows, and the rows in order, with their keys.
Groups = tuple[tuple[Path, frozenset[str], tuple[Row, ...]], ...]


# Parts that Go always writes inside a structure.
ALWAYS_WRITTEN: dict[str, Object] = {
    "domain": {"devices": {}, "resources": {}},
    "features": {"acpi": {}},
    "machine": {"type": ""},
}


# Go's plain booleans and integers in parts that are copied completely: Go does not write their zero.
PLAIN = ("endOfInterrupt", "hidden", "logical", "physical")


class Application:
    """One application of two specs: the VM's own template, which the verbs change, and the conflicts that were found.

    The verbs tell `trace` what they write and why, if somebody asks.
    """

    __slots__ = ("conflicts", "instancetype", "preference", "release", "spec", "template", "trace")

    def __init__(
        self,
        template: Object,
        *,
        release: Release,
        preference: Object | None,
        instancetype: Object | None = None,
        trace: Trace | None = None,
    ) -> None:
        self.template = template
        self.spec = enter(template, "spec")
        self.instancetype = instancetype
        self.preference = preference
        self.release = release
        self.trace = trace
        self.conflicts: list[Conflict] = []


class Field(Value):
    """A row: the field's path in its spec, its verbs, and the first release with it and the first without it.

    A row without verbs has the `reason` why the field has no effect. `pointer` marks a text that is a pointer in Go, so that an
    empty text counts too. The class does not use `Value`, because every start creates a hundred rows.
    """

    source: Path
    verbs: tuple[Verb, ...] = ()
    reason: str = ""
    pointer: bool = False
    since: Bound = ()
    until: Bound = ()

    def __init__(self, source: str, *verbs: Verb | str, pointer: bool = False, since: Bound = (), until: Bound = ()) -> None:
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
    """A release's rows by the block that they are in, so that a block that a spec does not have takes little time."""
    blocks: dict[Path, list[Row]] = {(): []}
    for row in table:
        if row.verbs and release.within(since=row.since, until=row.until):
            place = ("spec", *row.source)
            key, counts = str(row.source[-1]), given if row.pointer else is_set
            blocks.setdefault(row.source[:-1], []).append((key, place, row.verbs, counts))
    return tuple((block, frozenset(row[0] for row in rows), tuple(rows)) for block, rows in blocks.items())


# The plans for the last specs, because many VMs share one. Each plan keeps its spec, so that no other spec gets its id.
_plans: dict[tuple[int, int], tuple[Groups, Object, Plan]] = {}
_PLANS_AT_MOST = 2_000


def carry_out(groups: Groups, spec: Object, application: Application) -> None:
    """Run the verbs of every field that the spec sets. The spec must not change afterwards."""
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
    """The map at `key`, created as Go does if there is none. If the key has another value, a map outside of the spec."""
    below = parent.get(key)
    if below is None:
        below = parent[key] = copy(ALWAYS_WRITTEN[key]) if key in ALWAYS_WRITTEN else {}
    return below if isinstance(below, dict) else {}


def enter_list(parent: Object, key: str) -> list[Any]:
    """The list at `key`, created if there is none. If the key has another value, a list outside of the spec."""
    below = parent.get(key)
    if below is None:
        below = parent[key] = []
    return below if isinstance(below, list) else []


def reach(parent: Object, way: Iterable[str]) -> Object:
    """The map at the end of a path. Missing maps are created."""
    for key in way:
        below = parent.get(key)
        parent = below if isinstance(below, dict) else enter(parent, key)
    return parent


def write(parent: Object, path: Iterable[str], value: Any) -> None:
    """Set the value at a path. Missing maps are created. Nothing changes if a step of the path has another value."""
    *way, last = path
    reach(parent, way)[last] = value


def as_written(value: Any) -> Any:
    """A copy of a part of a spec as Go writes it: without unset fields."""
    if value.__class__ in SCALARS:
        return value
    if isinstance(value, dict):
        return {key: as_written(below) for key, below in value.items() if below or _is_written(key, below)}
    return [as_written(entry) for entry in value] if isinstance(value, list) else value


def _is_written(key: str, empty: Any) -> bool:
    """True if Go writes this empty value: names always."""
    return empty is not None if key == "name" else is_set(empty) and key not in PLAIN


def as_quantity(value: Any) -> Any:
    """A quantity as Go writes it."""
    return canonical(as_written(value))


def given(value: object) -> bool:
    """True for a value that is set, and for an empty text, as for a pointer in Go."""
    return value == "" or is_set(value)


def filled(value: object) -> bool:
    """True for a map that is not empty: Go does not write an empty one."""
    return isinstance(value, dict) and bool(value)


def forbid(target: str, *, present: Callable[[object], bool] = is_set, upstream: str = "") -> Verb:
    """The VM must not set `target`, or it conflicts. `upstream` is KubeVirt's spelling of the path, if that is wrong."""
    way = tuple(target.split("."))
    named = ".".join((*INSTANCE_SPEC, upstream)) if upstream else ""

    def verb(application: Application, value: Any, source: Path) -> None:
        current = get(application.spec, way)
        if present(current):
            found = Conflict(path=(*INSTANCE_SPEC, *way), current=current, source_path=source, value=value, upstream_path=named)
            application.conflicts.append(found)

    return verb


def overwrite(target: str, *, present: Callable[[object], bool] = is_set, written: Callable[[Any], Any] = as_written) -> Verb:
    """`target` always gets the value. It is removed if Go does not write the value."""
    *way, last = target.split(".")

    def verb(application: Application, value: Any, source: Path) -> None:
        place = reach(application.spec, way)
        if present(value):
            place[last] = written(value)
            if application.trace:
                application.trace.note((*way, last), source, place[last])
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
    """`target` belongs to the instancetype: a VM that sets it conflicts, any other VM gets the value."""
    return forbid(target, present=present, upstream=upstream), overwrite(target, present=present, written=written)


def fill(
    application: Application,
    at: tuple[Any, ...],
    place: Object,
    value: Any,
    source: Path,
    *,
    present: Callable[[object], bool] = is_set,
    written: Callable[[Any], Any] = as_written,
    read: Path = (),
) -> None:
    """Give `place`, the map in which the path `at` ends, the value if it has none there."""
    kept = present(place.get(at[-1]))
    if not kept:
        place[at[-1]] = written(value)
    if application.trace:
        application.trace.note(at, source, written(value), kept=kept, read=read)


def default(target: str) -> Verb:
    """`target` gets the value if it is unset; maps on the way are created."""
    at = tuple(target.split("."))
    way = at[:-1]

    def verb(application: Application, value: Any, source: Path) -> None:
        fill(application, at, reach(application.spec, way), value, source)

    return verb


def default_within(target: str) -> Verb:
    """`target` gets the value if it is unset and the map around it exists."""
    at = tuple(target.split("."))
    way = at[:-1]

    def verb(application: Application, value: Any, source: Path) -> None:
        place = get(application.spec, way)
        if isinstance(place, dict):
            fill(application, at, place, value, source)

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
    read: str = "",
) -> Verb:
    """`target` gets the value if it is unset, in every entry of a list, or in those for which `where` is true.

    `read` is the place in an entry of the value that `where` compares.
    """
    listed, inside = tuple(entries.split(".")), tuple(target.split("."))
    compared = tuple(read.split(".")) if read else ()

    def verb(application: Application, value: Any, source: Path) -> None:
        for number, entry in enumerate(as_list(get(application.spec, listed))):
            if isinstance(entry, dict) and where(entry):
                at: Path = (*listed, number, *inside)
                beside: Path = (*listed, number, *compared) if read else ()
                place = reach(entry, inside[:-1])
                fill(application, at, place, value, source, present=present, written=written, read=beside)

    return verb


def ensure(target: str) -> Verb:
    """Create the map at `target` if it is missing, empty as in Go."""
    way = tuple(target.split("."))

    def verb(application: Application, _value: Any, source: Path) -> None:
        created = application.trace and get(application.spec, way) is None
        block = reach(application.spec, way)
        if application.trace and created:
            application.trace.note(way, source, block)

    return verb


def consulted(by: str) -> str:
    """The reason of a row whose field the function of another row, or another stage, reads."""
    return f"consulted by {by}"


def ignored(why: str) -> str:
    """The reason of a row that KubeVirt declares, but does not use."""
    return f"ignored: {why}"
