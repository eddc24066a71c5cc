"""The instancetypes that VMs may refer to: of the catalogue, of the bundle, and those that are made for a shape.

The right size: instancetypes that are smaller than a VM and larger than what its guest was measured to use.
"""

from __future__ import annotations

from bisect import bisect_left
from decimal import Decimal, InvalidOperation, Overflow

from krm_fn.base.annotations import Any, Iterable, Iterator, Mapping, Sequence
from krm_fn.base.bundle import Bundle, effective_namespace
from krm_fn.base.errors import ConfigError, InputError
from krm_fn.base.objects import Object, Ref, name_of
from krm_fn.base.paths import Path, as_map, copy, get, leaves
from krm_fn.base.quantity import NANO, parse
from krm_fn.base.value import Value
from krm_fn.kubevirt.admission.formats import is_subdomain
from krm_fn.kubevirt.catalogue import Catalogue
from krm_fn.kubevirt.expand import apply
from krm_fn.kubevirt.facts import Found
from krm_fn.kubevirt.fields.instancetype import overcommitted
from krm_fn.kubevirt.fields.topology import counts, laid_out, named_topology, whole_number
from krm_fn.kubevirt.holders import INSTANCE_SPEC
from krm_fn.kubevirt.pods import vcpus_of
from krm_fn.kubevirt.releases import Release, Version
from krm_fn.kubevirt.resolve import INSTANCETYPE, PREFERENCE, Resolver
from krm_fn.kubevirt.resolve.matcher import API_VERSION

CATALOGUE, BUNDLE, OWN = "catalogue", "bundle", "own"
GUEST: Path = ("domain", "memory", "guest")
RESOURCES: Path = ("domain", "resources")
SIZED = frozenset(
    (
        GUEST,
        ("domain", "memory", "maxGuest"),
        *(("domain", "cpu", key) for key in ("sockets", "cores", "threads", "maxSockets")),
    )
)
# Before this release, a VM with an instancetype must not have the block `memory` at all.
WHOLE_MEMORY_UNTIL: Version = (1, 7)
MOST_PERCENT = 99
DEFAULT_SCHEME = "{vcpus}vcpu-{memory}"


class Size(Value):
    """The vCPUs and the memory of a guest, in bytes times a billion."""

    vcpus: int
    nanos: int

    def holds(self, other: Size) -> bool:
        """True where nothing of this size is less than that of the other."""
        return self.vcpus >= other.vcpus and self.nanos >= other.nanos

    @property
    def key(self) -> tuple[int, int]:
        return self.nanos, self.vcpus


class Instancetype(Value):
    """An instancetype that VMs may refer to. `origin` is the catalogue, the bundle, or a VM for which it was made.

    `topology` is the spec of a preference that belongs to it, None for none. `traits` are what it sets beside sizes: paths of
    an instance's spec with their values.
    """

    kind: str
    name: str
    spec: Object
    origin: str
    size: Size
    deprecated: bool = False
    topology: Object | None = None
    traits: tuple[tuple[Path, Any], ...] = ()

    @property
    def matcher(self) -> Object:
        """What a VM writes to refer to it."""
        return {"kind": self.kind, "name": self.name}

    @property
    def found(self) -> Found:
        """The instancetype as a matcher leads to it."""
        return Found(
            spec=self.spec, ref=Ref(api_version=API_VERSION, kind=self.kind, namespace="", name=self.name), origin=BUNDLE
        )

    @property
    def manifests(self) -> list[Object]:
        """The objects of an instancetype that was made."""
        found = [_manifest(self.kind, self.name, self.spec)]
        return [*found, _manifest(PREFERENCE.cluster_kind, preference_name(self), self.topology)] if self.topology else found


def _manifest(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": copy(spec)}


def preference_name(of: Instancetype) -> str:
    """The name of the preference for the topology of an instancetype, which all of that topology share."""
    cpu = as_map(as_map(of.topology).get("cpu"))
    options = as_map(cpu.get("spreadOptions"))
    return "-".join(str(part).lower() for part in (cpu["preferredCPUTopology"], *options.values()))


def size_of(spec: Object) -> Size | None:
    """The size that an instancetype gives; None for one that gives none."""
    vcpus, memory = whole_number(get(spec, ("cpu", "guest"))), parse(get(spec, ("memory", "guest")))
    return Size(vcpus=vcpus, nanos=memory.nanos) if vcpus and memory else None


def size_of_guest(instance: Object) -> Size | None:
    """The size of the guest of a complete instance."""
    spec = as_map(instance.get("spec"))
    memory = parse(get(spec, GUEST))
    return Size(vcpus=vcpus_of(as_map(get(spec, ("domain", "cpu")))), nanos=memory.nanos) if memory else None


class Choices:
    """The instancetypes of the catalogue, cluster-wide ones of a bundle, and those of one namespace, by their sizes."""

    def __init__(self, found: Iterable[Instancetype]) -> None:
        self.all = sorted(found, key=lambda each: (*each.size.key, each.deprecated, each.origin == CATALOGUE, each.name))
        self._keys = [each.size.key for each in self.all]

    def of_size(self, size: Size) -> list[Instancetype]:
        """Those of exactly a size."""
        start = bisect_left(self._keys, size.key)
        return self.all[start : bisect_left(self._keys, (size.nanos, size.vcpus + 1))]

    def larger(self, size: Size) -> Iterator[Instancetype]:
        """Those that are larger, the ones with the least memory first."""
        start = bisect_left(self._keys, size.key)
        return (each for each in self.all[start:] if each.size.holds(size) and each.size != size)


def available(bundle: Bundle, resolver: Resolver, catalogue: Catalogue | None, namespace: str, release: Release) -> Choices:
    """The instancetypes that a VM of a namespace may refer to."""
    own = {(each.kind, each.name): each for each in _of_bundle(bundle, resolver, namespace)}
    shipped = _of_catalogue(catalogue) if catalogue else ()
    found = [*own.values(), *(each for each in shipped if (each.kind, each.name) not in own)]
    return Choices(each.but(traits=tuple(traits(each.spec, None, release))) for each in found)


def traits(instancetype: Object | None, preference: Object | None, release: Release) -> Iterator[tuple[Path, Any]]:
    """What they set beside sizes: paths of an instance's spec with their values."""
    template: Object = {"metadata": {}, "spec": {"domain": {}}}
    apply(template, instancetype=instancetype, preference=preference, release=release)
    for path, value in leaves(template):
        if value != {} and path[1:] not in SIZED and path[1:3] != RESOURCES:
            yield path[1:], value


def _of_bundle(bundle: Bundle, resolver: Resolver, namespace: str) -> Iterator[Instancetype]:
    for kind in INSTANCETYPE.kinds:
        for entry in bundle.of_kind(kind):
            name = name_of(entry.obj)
            if not name or (kind == INSTANCETYPE.kind and effective_namespace(entry.obj) != namespace):
                continue
            vm = {"spec": {"instancetype": {"kind": kind, "name": name}}}
            found = resolver.resolve(vm, namespace=namespace).instancetype
            if found and (size := size_of(found.spec)):
                yield Instancetype(kind=kind, name=name, spec=found.spec, origin=BUNDLE, size=size)


def _of_catalogue(catalogue: Catalogue) -> Iterator[Instancetype]:
    kind = INSTANCETYPE.cluster_kind
    for name in catalogue.names(kind):
        spec = catalogue.find(kind, name)
        if spec and (size := size_of(spec)):
            deprecated = catalogue.deprecated(kind, name)
            yield Instancetype(kind=kind, name=name, spec=spec, origin=CATALOGUE, size=size, deprecated=deprecated)


def preferences(bundle: Bundle, resolver: Resolver, catalogue: Catalogue | None, namespace: str) -> Iterator[Found]:
    """The preferences of the bundle and the catalogue that lay out vCPUs."""
    names = [(kind, name_of(entry.obj)) for kind in PREFERENCE.kinds for entry in bundle.of_kind(kind)]
    shipped = catalogue.names(PREFERENCE.cluster_kind) if catalogue else ()
    for kind, name in dict.fromkeys((*names, *((PREFERENCE.cluster_kind, name) for name in shipped))):
        found = resolver.resolve({"spec": {"preference": {"kind": kind, "name": name}}}, namespace=namespace).preference
        if found and named_topology(found.spec):
            yield found


def made_for(vm: Object, instance: Object, release: Release) -> Instancetype | None:
    """An instancetype with the size of a flat VM, whose instance this is; None where the guest has no size."""
    size = size_of_guest(instance)
    if size is None:
        return None
    written, started = get(vm, INSTANCE_SPEC), as_map(instance["spec"])
    memory: Object = {"guest": get(started, GUEST)}
    if release.within(until=WHOLE_MEMORY_UNTIL):
        memory |= {key: value for key, value in as_map(get(written, GUEST[:-1])).items() if key in ("hugepages", "maxGuest")}
    if percent := _overcommit(get(written, ("domain", "resources", "requests", "memory")), size):
        memory["overcommitPercent"] = percent
    return Instancetype(
        kind=INSTANCETYPE.cluster_kind,
        name="",
        spec={"cpu": {"guest": size.vcpus}, "memory": memory},
        origin=OWN,
        size=size,
        topology=_topology(as_map(get(started, ("domain", "cpu"))), size.vcpus, release),
    )


def _overcommit(requested: Any, size: Size) -> int:
    """How many percent less than the guest has a VM requests; 0 where it is as much, or no whole percent."""
    request, guest = parse(requested), size.nanos // NANO
    if request is None or not 0 < request.nanos < size.nanos:
        return 0
    percent = round(100 - 100 * request.nanos / size.nanos)
    near = (each for each in (percent, percent - 1, percent + 1) if 0 < each <= MOST_PERCENT)
    return next((each for each in near if overcommitted(guest, each) == request.value()), 0)


def _topology(cpu: Object, vcpus: int, release: Release) -> Object | None:
    """The preference that lays out vCPUs as a guest has them; None for sockets, and where none does."""
    wanted = {key: count or 1 for key, count in counts(cpu).items()}
    if wanted == laid_out(vcpus, None, release):
        return None
    spread = {"preferredCPUTopology": "spread"}
    ways: list[Object] = [{"preferredCPUTopology": "cores"}, {"preferredCPUTopology": "threads"}]
    ways += [{**spread, "spreadOptions": {"across": "SocketsCores", "ratio": wanted["cores"]}}]
    ways += [{**spread, "spreadOptions": {"across": "CoresThreads", "ratio": wanted["threads"]}}]
    ways += [{**spread, "spreadOptions": {"across": "SocketsCoresThreads", "ratio": wanted["cores"]}}]
    return next(({"cpu": way} for way in ways if laid_out(vcpus, {"cpu": way}, release) == wanted), None)


def named(of: Instancetype, scheme: str, taken: dict[str, Object]) -> Instancetype:
    """The instancetype under the name that a scheme gives it; `taken` has the specs of names, and gets this one.

    `{vcpus}` and `{memory}` stand for the size, such as 4 and 8gi. Raises: ConfigError for a scheme that makes no name.
    """
    memory = str(get(of.spec, ("memory", "guest"))).lower().replace(".", "-")
    name = scheme.replace("{vcpus}", str(of.size.vcpus)).replace("{memory}", memory)
    if not is_subdomain(name):
        raise ConfigError(f"the scheme {scheme!r} makes no name; expected text with {{vcpus}} and {{memory}}")
    spec, number = {**of.spec, "topology": of.topology}, 1
    while (chosen := name if number == 1 else f"{name}-{number}") in taken and taken[chosen] != spec:
        number += 1
    taken[chosen] = spec
    return of.but(name=chosen)


COLUMNS = ("namespace", "name", "vcpus", "memory")
PeakKey = tuple[str, str]


class Peak(Value):
    """The most vCPUs that a guest used, in billionths, and its memory in bytes times a billion."""

    vcpus: int
    nanos: int


class Fit(Value):
    """A VM of a size with its peaks, and the smallest instancetype that holds them, None where none is smaller."""

    namespace: str
    name: str
    size: Size
    peak: Peak
    smaller: Instancetype | None = None

    @property
    def peak_vcpus(self) -> str:
        """The vCPUs of the peak, as people write them."""
        whole, rest = divmod(self.peak.vcpus, NANO)
        return f"{whole}.{rest:09}".rstrip("0").rstrip(".")

    @property
    def answer(self) -> Object:
        """The same as plain data, memory in bytes."""
        found: Object = {
            "namespace": self.namespace,
            "name": self.name,
            "vcpus": self.size.vcpus,
            "memory": self.size.nanos // NANO,
            "peak": {"vcpus": self.peak_vcpus, "memory": self.peak.nanos // NANO},
        }
        if self.smaller:
            size = self.smaller.size
            saved = {"vcpus": self.size.vcpus - size.vcpus, "memory": (self.size.nanos - size.nanos) // NANO}
            found["smaller"] = {**self.smaller.matcher, "saves": saved}
        return found


def read_peaks(rows: Iterable[Mapping[str, str | None]], columns: Sequence[str]) -> dict[PeakKey, Peak]:
    """The peaks of the rows of a table with these columns, by namespace and name.

    Of several rows of a VM, the largest values count.

    `vcpus` is a number, `memory` a quantity or a number of bytes. Raises: InputError with the line of the wrong row.
    """
    if lacking := next((column for column in COLUMNS if column not in columns), ""):
        raise InputError(f"the first line has no column {lacking}; expected {', '.join(COLUMNS)}", line=1, column=1)
    found: dict[PeakKey, Peak] = {}
    for line, row in enumerate(rows, start=2):
        missing = [column for column in COLUMNS if not (row.get(column) or "").strip()]
        if missing:
            raise InputError(f"{missing[0]} has no value; expected the columns {', '.join(COLUMNS)}", line=line, column=1)
        key = (row["namespace"] or "").strip(), (row["name"] or "").strip()
        peak = Peak(vcpus=_number(row["vcpus"] or "", "vcpus", line), nanos=_bytes(row["memory"] or "", line))
        known = found.get(key, peak)
        found[key] = Peak(vcpus=max(known.vcpus, peak.vcpus), nanos=max(known.nanos, peak.nanos))
    return found


def _number(text: str, column: str, line: int) -> int:
    try:
        value = Decimal(text.strip()) * NANO
    except (InvalidOperation, Overflow):
        value = Decimal(-1)
    if not value.is_finite() or value < 0 or value.adjusted() > 2 * len(str(NANO)):
        raise InputError(f"{column} is {text.strip()!r}; expected a number of 0 or more", line=line, column=1)
    return int(value)


def _bytes(text: str, line: int) -> int:
    amount = parse(text.strip())
    return amount.nanos if amount and amount.nanos >= 0 else _number(text, "memory", line)


def smaller(choices: Choices, size: Size, peak: Peak, spare: int) -> Instancetype | None:
    """The smallest instancetype that holds a peak and `spare` percent more, and is smaller than the size of the VM."""
    factor = 100 + spare
    fitting = (each for each in choices.all if not each.deprecated and _is_plain(each))
    return next(
        (each for each in fitting if each.size != size and size.holds(each.size) and _holds(each.size, peak, factor)), None
    )


def _holds(size: Size, peak: Peak, factor: int) -> bool:
    return size.vcpus * NANO * 100 >= peak.vcpus * factor and size.nanos * 100 >= peak.nanos * factor


def _is_plain(of: Instancetype) -> bool:
    """True for an instancetype that gives nothing but a size."""
    spec: Iterator[tuple[str, object]] = ((key, set(value)) for key, value in of.spec.items() if isinstance(value, dict))
    return of.spec.keys() <= {"cpu", "memory"} and all(keys == {"guest"} for _, keys in spec)
