"""Where the values of VMs come from, as plain data."""

from __future__ import annotations

from krm_fn import config
from krm_fn.base.annotations import Any, Callable, Iterator
from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.objects import Object, kind_of, name_of, ref_of
from krm_fn.base.paths import Path, as_map, dotted, get, with_integers
from krm_fn.base.redaction import Place, reach, redact_at, shown_path
from krm_fn.base.value import Value
from krm_fn.explaining.attribution import TOPOLOGY, Attributed, attributed
from krm_fn.explaining.inputs import CONFIGURATION, DEFAULT, MATCHERS, OWN, PATCH, Giver, Givers, ValueSource
from krm_fn.explaining.rendering import Rendering
from krm_fn.kubevirt.facts import Found
from krm_fn.kubevirt.fields.topology import ignored_topology
from krm_fn.kubevirt.holders import DOMAIN, holder_of, template_path
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.resolve import MATCHERS as RESOLVED
from krm_fn.kubevirt.resolve.matcher import Lookup
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline.analysis import Analysis, analysis_of
from krm_fn.rules.facts.bundles import NO_SURROUNDINGS, Surroundings

TYPE_CHECKING = False

if TYPE_CHECKING:
    from krm_fn.pipeline.patching import Applying


CATALOGUE = "catalogue"
REMEMBERED = 100_000
REQUESTED = (*DOMAIN, "resources", "requests", "memory")
SIZES = frozenset((*TOPOLOGY, "memory"))
TIMES = "\N{MULTIPLICATION SIGN}"


def explain(resource_list: Object) -> Object:
    """Where each value of each rendered VM comes from: `{"vms": [record, …]}`. The argument is left as it was.

    Raises: ConfigError where the functionConfig is wrong, InputError where `items` is no list.
    """
    settings, items = config.of_list(resource_list)
    return {"vms": list(records(Bundle([with_integers(item) for item in items]), settings))}


def every(_: Entry) -> bool:
    return True


def is_explained(entry: Entry) -> bool:
    """True for VMs, and for pools, replica sets and instances."""
    holder = holder_of(entry.obj)
    return holder is not None and holder.is_served and template_path(entry.obj) is not None


def records(
    bundle: Bundle,
    settings: Config,
    surroundings: Surroundings = NO_SURROUNDINGS,
    wanted: Callable[[Entry], bool] = every,
) -> Iterator[Object]:
    """The records of the wanted VMs, pools, replica sets and instances, in the order of the bundle.

    The annotations that `provenance` adds are not among the values.
    """
    return (each.record for each in explained(bundle, settings, surroundings, wanted))


class Explained(Value):
    """The record of an object, and the rendered object, None if it can't be rendered."""

    entry: Entry
    record: Object
    rendered: Object | None = None


def explained(
    bundle: Bundle,
    settings: Config,
    surroundings: Surroundings = NO_SURROUNDINGS,
    wanted: Callable[[Entry], bool] = every,
) -> Iterator[Explained]:
    """The same records, with the rendered objects."""
    settings = settings.but(mode="expand", instances="omit", provenance=False, pod_size=False)
    analysis = analysis_of(bundle, settings, surroundings)
    resolver, parts, known = analysis.resolver(), Givers(analysis), Shown()
    applying = _applying(analysis) if settings.patches else None
    for entry in filter(wanted, bundle.entries):
        if bundle.is_context(entry.item):
            continue
        resolved = analysis.resolved(entry, resolver)
        if resolved or is_explained(entry):
            prefix, _, resolution = resolved or ((), None, None)
            rendering = Rendering(parts, entry, prefix, resolution, applying)
            yield Explained(entry=entry, record=_Record(rendering, known).shown(), rendered=rendering.whole)


def _applying(analysis: Analysis) -> Applying:
    """The patches of the config, for all VMs of the bundle."""
    from krm_fn.pipeline.patching import applying_of  # few configs have some

    return applying_of(analysis.settings, len(analysis.bundle.entries))


class Shown:
    """What was shown already: most VMs of many have the same paths, and values of the same fields."""

    def __init__(self) -> None:
        self._paths: dict[Path, tuple[str, Place]] = {}
        self.sources: dict[ValueSource, Object] = {}

    def text(self, path: Path) -> str:
        """The text of a path as far as it may be shown."""
        return self._path(path)[0]

    def value(self, value: Any, path: Path) -> Any:
        """A value as far as it may be shown."""
        return redact_at(value, self._path(path)[1])

    def _path(self, path: Path) -> tuple[str, Place]:
        known = self._paths.get(path)
        if known is None:
            if len(self._paths) >= REMEMBERED:
                self._paths.clear()
            found = reach(path)
            known = self._paths[path] = dotted(found.shown), found.place
        return known


class _Record:
    """The record of one object."""

    def __init__(self, rendering: Rendering, known: Shown) -> None:
        self._rendering, self._known = rendering, known
        self._analysis: Analysis = rendering.analysis
        entry = rendering.entry
        self._own = {"from": OWN.kind, **self._named(entry), "field": "", **self._place(entry)}

    def shown(self) -> Object:
        """The record as plain data. An object that can't be rendered has `error` in place of `fields`."""
        entry, resolution = self._rendering.entry, self._rendering.resolution
        found = {kind: getattr(resolution, kind) for kind in MATCHERS if resolution}
        shown = {
            "kind": kind_of(entry.obj),
            "namespace": effective_namespace(entry.obj),
            "name": name_of(entry.obj),
            **self._place(entry),
            "release": str(self._analysis.release),
            **{kind: self._of_found(each) | self._inferred(kind) for kind, each in found.items() if each},
        }
        if self._rendering.whole is None:
            return {**shown, "error": "the VM can't be rendered; `check` says why"}
        fields: dict[str, Object] = {}  # all that is below a secret is one field
        for path, (value, given) in attributed(self._rendering).items():
            fields.setdefault(self._known.text(path), self._field(path, value, given))
        return {**shown, "fields": list(fields.values())}

    def _field(self, path: Path, value: Any, given: Attributed) -> Object:
        value = self._known.value(value, path)
        shown: Object = {"path": self._known.text(path), "value": value, "source": self._source(given.source)}
        if given.beside:
            shown["beside"] = [self._source(each) for each in given.beside]
        if given.lost:
            shown["lost"] = [{**self._source(each), "wanted": self._known.value(wanted, path)} for each, wanted in given.lost]
        if path[-1] in SIZES and (how := self._how(path, given.source)):
            shown["how"] = how
        return shown

    def _source(self, source: ValueSource) -> Object:
        """What gives a value, as plain data: `from`, the object, the field there, and its place among the items."""
        if source.part is OWN:
            return {**self._own, "field": self._known.text(source.path)}
        known = self._known.sources.get(source)
        if known is None:
            if len(self._known.sources) >= REMEMBERED:
                self._known.sources.clear()
            known = self._known.sources[source] = self._given(source)
        return {**known}

    def _given(self, source: ValueSource) -> Object:
        part = source.part
        if part is DEFAULT:
            return {"from": part.kind, "release": str(self._analysis.release)}
        shown = {"from": part.kind, **self._of_part(part), "field": self._known.text((*part.root, *source.path))}
        if part.encoded:
            shown |= {"field": dotted(part.root), "decoded": dotted(source.path)}
        value = get(part.tree, source.path)
        patched = part.kind == PATCH
        shown["value"] = self._operation(value) if patched else self._known.value(value, (*part.root, *source.path))
        return {**shown, "same": source.same} if source.same else shown

    def _operation(self, operation: Object) -> Object:
        """An operation of a JSON patch, with a value that may be shown."""
        place = tuple(operation["path"].split("/")[1:])
        shown = "".join(f"/{step}" for step in shown_path(place))
        return {key: self._known.value(value, place) if key == "value" else value for key, value in operation.items()} | {
            "path": shown
        }

    def _of_part(self, part: Giver) -> Object:
        if part.found:
            return self._of_found(part.found)
        if part.entry is None:
            return {"kind": "RenderVirtualMachines"} if part.kind in (CONFIGURATION, PATCH) else {}
        return {**self._named(part.entry), **self._place(part.entry)}

    def _of_found(self, found: Found) -> Object:
        """An instancetype or preference: its object, and where it was found."""
        shown: Object = {"kind": found.ref.kind, "namespace": found.ref.namespace, "name": found.ref.name}
        if found.revision:
            shown["revision"] = found.revision.name
        if found.origin == CATALOGUE:
            shown["catalogue"] = str(self._analysis.release)
        shown = {key: value for key, value in shown.items() if value}
        return {**shown, **(self._place(found.entry) if found.entry else {})}

    def _inferred(self, kind: str) -> Object:
        """How the VM's volumes name an instancetype or preference; nothing if the VM names it itself."""
        entry, vm = self._rendering.entry, get(self._rendering.entry.obj, self._rendering.prefix)
        found = inferred(vm, kind, entry, self._analysis.bundle, self._analysis.release)
        if found is None:
            return {}
        labelled = found.chain[-1]
        of_label = {**self._named(labelled), "field": dotted(found.path), **self._place(labelled)}
        through = [self._named(each) for each in found.chain[:-1]]
        return {"inferred": {"volume": found.volume, **({"through": through} if through else {}), **of_label}}

    def _named(self, entry: Entry) -> Object:
        ref = ref_of(entry.obj)
        shown = {"kind": ref.kind, "namespace": ref.namespace, "name": ref.name}
        return {key: value for key, value in shown.items() if value}

    def _place(self, entry: Entry) -> Object:
        """The place of an object: the number of its item, its path in a List, and file and index where they are known."""
        file, index = self._analysis.bundle.place(entry.item)
        inside = {"inside": dotted(entry.path)} if entry.path else {}
        return {"item": entry.item, **inside, **({"file": file, "index": index} if file else {})}

    def _how(self, path: Path, source: ValueSource) -> str:
        """How a size was worked out; "" for other values."""
        resolution, prefix = self._rendering.resolution, self._rendering.prefix
        if resolution is None or resolution.instancetype is None or source.part is OWN:
            return ""
        place, spec = path[len(prefix) :], resolution.instancetype.spec
        if place[:-1] == (*DOMAIN, "cpu") and place[-1] in TOPOLOGY:
            return self._layout((*prefix, *DOMAIN, "cpu"), spec, resolution.preference)
        percent = get(spec, ("memory", "overcommitPercent"))
        if place == REQUESTED and percent and source.part is not DEFAULT:
            return f"{get(spec, ('memory', 'guest'))} less {percent} %: overcommitPercent"
        return ""

    def _layout(self, cpu: Path, spec: Object, preference: Found | None) -> str:
        """How the vCPUs of an instancetype are laid out."""
        release, guest = self._analysis.release, get(spec, ("cpu", "guest"))
        numbers = [get(self._rendering.whole, (*cpu, each), 0) for each in TOPOLOGY]
        parts = [_counted(number, each) for number, each in zip(numbers, TOPOLOGY, strict=True) if number]
        words, unknown = _wishes(preference), ignored_topology(spec, preference.spec if preference else None, release)
        how = f"{_counted(guest, 'vCPUs')} as {f' {TIMES} '.join(parts)}"
        how += f": preference {', '.join(words)}" if words else ""
        return f"{how}; KubeVirt {release} does not know `{unknown}`" if unknown else how


def _wishes(preference: Found | None) -> list[str]:
    """What a preference says of the topology."""
    cpu = as_map(as_map(preference.spec if preference else None).get("cpu"))
    words = [f"`{cpu['preferredCPUTopology']}`"] if cpu.get("preferredCPUTopology") else []
    spread = as_map(cpu.get("spreadOptions"))
    ratio = spread.get("ratio") or as_map(preference.spec if preference else None).get("preferSpreadSocketToCoreRatio")
    words += [f"across {spread['across']}"] if spread.get("across") else []
    return words + ([f"ratio {ratio}"] if ratio else [])


def _counted(number: Any, plural: str) -> str:
    return f"{number} {plural[:-1] if number == 1 else plural}"


class Inferred(Value):
    """The volume that a matcher names, and the object with the label: the last of `chain`. `path` is the label's place."""

    volume: str
    chain: tuple[Entry, ...]
    path: Path


class Noting(Lookup):
    """A lookup that notes what it finds."""

    def __init__(self, bundle: Bundle) -> None:
        super().__init__(bundle)
        self.noted: list[Entry] = []

    def find(self, kind: str, namespace: str, name: str) -> Entry | None:
        found = super().find(kind, namespace, name)
        if found is not None:
            self.noted.append(found)
        return found


def inferred(vm: Object, field: str, entry: Entry, bundle: Bundle, release: Release) -> Inferred | None:
    """How the matcher of a VM at `spec.FIELD` got its name; None if the VM has the name itself."""
    volume = get(vm, ("spec", field, "inferFromVolume"))
    if not volume:
        return None
    from krm_fn.kubevirt.resolve.infer import NotInferred, infer  # few VMs infer

    matcher, lookup = next(each for each in RESOLVED if each.field == field), Noting(bundle)
    try:
        infer(vm, matcher, namespace=effective_namespace(entry.obj), lookup=lookup, release=release)
    except NotInferred:  # the policy lets the VM do without
        return None
    path = ("metadata", "labels", matcher.name_label)
    return Inferred(volume=volume, chain=tuple(lookup.noted), path=path)
