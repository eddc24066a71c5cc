"""One VM, pool, replica set or instance as it is rendered, with what each step wrote."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.bundle import Entry
from krm_fn.base.errors import InputError
from krm_fn.base.objects import Object
from krm_fn.base.paths import SCALARS, Path, copy, get, put_in
from krm_fn.base.value import Value
from krm_fn.explaining.inputs import Givers, ValueSource
from krm_fn.findings.limits import ProductLimit
from krm_fn.kubevirt import expand
from krm_fn.kubevirt.expand.defaults import is_read
from krm_fn.kubevirt.facts import Resolution
from krm_fn.kubevirt.holders import INSTANCE_SPEC, TEMPLATE, template_path
from krm_fn.kubevirt.trace import Trace
from krm_fn.pipeline import instances
from krm_fn.pipeline.analysis import Analysis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.pipeline.patching import Applying, WrittenPlace
Leaves = dict[Path, Any]

ABSENT: Any = object()
SIZES = (("domain", "resources"), ("domain", "memory", "hugepages"))  # from which the default of another size is worked out
ENDLESS = ProductLimit(1 << 62, "")  # a VM that is rendered again without a setting of the cluster was counted before


class Effect(Value):
    """The leaves that are others without a field, each with its value then, ABSENT for one that is gone.

    `needed`: the object can't be rendered without the field alone, so these are the leaves that KubeVirt's own settings change.
    """

    source: ValueSource
    changes: Leaves
    needed: bool = False


class Rendering:
    """An object as it is rendered: `whole`, None if it can't be, `notes` by their places in it, and what patches wrote.

    `prefix` is the path of the VM in it; there is no `resolution` without a VM.
    """

    def __init__(
        self, parts: Givers, entry: Entry, prefix: Path, resolution: Resolution | None, applying: Applying | None
    ) -> None:
        self.parts, self.analysis = parts, parts.analysis
        self.entry, self.prefix, self.resolution = entry, prefix, resolution
        start, skipped = (prefix, 0) if resolution else (template_path(entry.obj) or (), len(TEMPLATE))
        self._start = (*start, *INSTANCE_SPEC[skipped:])
        self._trace, self._asked = Trace(start, skipped), parts.settings.asked()
        self.patched: list[WrittenPlace] = []
        self._unpatched = self._rendered(self.analysis.but(trace=self._trace, cluster=self._asked))
        self.whole = self._unpatched
        if applying and resolution and self._unpatched is not None:
            self.whole = self._patched(applying, self._unpatched)
        self.notes = self._trace.notes
        parts.count(sum(not isinstance(each.giver, str) for each in self.notes))

    def is_completed(self, path: Path) -> bool:
        """True for a leaf that KubeVirt's defaults wrote."""
        inside, before = path[len(self._start) :], self._trace.before
        if before is None or path[: len(self._start)] != self._start:
            return False
        return bool(get(before, inside, ABSENT) != get(self.whole, path))

    def _rendered(self, analysis: Analysis) -> Object | None:
        """The object before patches; None if it can't be rendered."""
        entry, resolution = self.entry, self.resolution
        if resolution is None:
            found = instances.of_entry(analysis, entry) if analysis.presets else None
            return found.rendered if found else entry.obj
        try:
            facts = analysis.of_vm(entry, self.prefix, get(entry.obj, self.prefix), resolution)
        except InputError:  # a budget is spent
            return None
        if facts.rendered is None:
            return None
        whole: Object = put_in(entry.obj, self.prefix, instances.folded(analysis, facts).rendered)
        return whole

    def _patched(self, applying: Applying, rendered: Object) -> Object | None:
        """The object after the patches of the config; None if one of them can't be applied."""
        from krm_fn.pipeline.patching import patched  # few configs have some
        from krm_fn.rules.facts.patches import Patched

        found = patched(applying.but(written=self.patched), self.entry, self.prefix, rendered)
        return rendered if found is None else found.obj if isinstance(found, Patched) else None

    def effects(self, written: dict[ValueSource, dict[Path, None]]) -> Iterator[Effect]:
        """What settings of the cluster, and the fields that wrote at some places, decide through KubeVirt's defaults."""
        if self._trace.before is not None:
            yield from self._through_defaults(written)
        bare = self.analysis.cluster.but(configuration={})
        for source, cluster in self.parts.settings.deciding(self._asked):
            other = self._rendered(self.analysis.but(cluster=cluster, given=ENDLESS))
            needed = other is None
            other = self._rendered(self.analysis.but(cluster=bare, given=ENDLESS)) if needed else other
            if other is not None:
                yield Effect(source=source, changes=differences(self._unpatched, other), needed=needed)

    def _through_defaults(self, written: dict[ValueSource, dict[Path, None]]) -> Iterator[Effect]:
        start, release = len(self._start), self.analysis.release
        read: dict[ValueSource, list[Path]] = {}
        for source, places in written.items():
            inside = [each[start:] for each in places if each[:start] == self._start]
            if any(is_read(each, release) for each in inside):
                read[source] = inside
        every = [each for places in read.values() for each in places if each[:2] not in SIZES and each[:3] not in SIZES]
        # No default takes the place of one of them, or depends on it. A map that goes hides what becomes of those inside.
        if all(_is_simple(self._completed_without(layer), layer) for layer in _layers(every)):
            read = {source: places for source, places in read.items() if set(places).isdisjoint(every)}
        for source, inside in read.items():
            found = self._completed_without(inside)
            yield Effect(source=source, changes={(*self._start, *path): value for path, value in found.items()})

    def _completed_without(self, places: list[Path]) -> Leaves:
        """The leaves of the spec that are others if these places were empty before KubeVirt's defaults were added."""
        spec = copy(self._trace.before)
        for place in reversed(places):
            _leave_out(spec, place)
        expand.complete(spec, self.analysis.cluster, self.analysis.release)
        return differences(get(self._unpatched, self._start), spec)


def _layers(places: list[Path]) -> Iterator[list[Path]]:
    """The places, those inside of others first: none of a layer is inside of another one of it."""
    while places:
        around = {place[:count] for place in places for count in range(len(place))}
        yield [place for place in places if place not in around]
        places = [place for place in places if place in around]


def _is_simple(changes: Leaves, places: list[Path]) -> bool:
    """True if nothing changes but the places themselves, which are gone."""
    gone = {path[: len(place)] for path, value in changes.items() for place in places if value is ABSENT}
    return (
        all(value is ABSENT for value in changes.values())
        and gone >= set(places)
        and all(any(path[: len(place)] == place for place in places) for path in changes)
    )


def _leave_out(value: Any, path: Path) -> None:
    """Remove what is at a path, if it is there. Changes `value` in place."""
    around, last = get(value, path[:-1]), path[-1]
    if get(around, (last,), ABSENT) is not ABSENT:
        del around[last]


def flat(value: Any) -> Leaves:
    """The leaves of a value by their paths, in order: values that are no map and no list, and empty maps and lists."""
    found: Leaves = {}
    _flatten(value, (), found)
    return found


def _flatten(value: Any, path: Path, found: Leaves) -> None:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not below or not value:
        found[path] = value
        return
    for key, each in below:
        if each.__class__ in SCALARS:
            found[(*path, key)] = each
        else:
            _flatten(each, (*path, key), found)


def differences(value: Any, other: Any) -> Leaves:
    """The leaves of a value that another value does not have, each with the other's value there, or ABSENT."""
    found: Leaves = {}
    _compare(value, other, (), found)
    return found


def _compare(value: Any, other: Any, path: Path, found: Leaves) -> None:
    if type(value) is type(other) and value == other:  # a comparison in C; most parts are equal
        return
    if isinstance(value, dict) and value:
        inside = other if isinstance(other, dict) else {}
        for key, each in value.items():
            _compare(each, inside.get(key, ABSENT), (*path, key), found)
    elif isinstance(value, list) and value:
        entries = other if isinstance(other, list) else []
        for index, each in enumerate(value):
            _compare(each, entries[index] if index < len(entries) else ABSENT, (*path, index), found)
    else:
        found[path] = other
