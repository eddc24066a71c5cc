"""The API's schema: the fields of a kind in a release, their types, and the places of an object that do not match.

`checking.check` checks one object against the release's own API, or against a CustomResourceDefinition in the bundle;
`examine` checks a complete bundle. Kinds that neither knows are skipped.

Rendering needs only the fields of other releases. To avoid loading the types for this, it first checks whether an object has
a key with such a name: the `[strange]` section at the top of `api.txt` lists them by release.
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable, Container, Iterator, Sequence
from krm_fn.base.bundle import Bundle, Entry
from krm_fn.base.objects import Object, kind_of
from krm_fn.base.paths import Path, as_map, get, is_set
from krm_fn.base.value import Value
from krm_fn.kubevirt.holders import DOMAIN, RENDERED
from krm_fn.kubevirt.releases import Release, lacks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.schema.crds import Crds
    from krm_fn.kubevirt.schema.flaws import Flaw
Objects = Sequence[Object]


FILE = f"{__path__[0]}/api.txt"

# Rendering reads these kinds, so fields that it would not know there are reported in every mode.
READ = frozenset(
    (
        *(holder.kind for holder in RENDERED),
        "VirtualMachineInstancetype",
        "VirtualMachineClusterInstancetype",
        "VirtualMachinePreference",
        "VirtualMachineClusterPreference",
    )
)

# The place of a VM's domain in the kinds that hold one.
DOMAINS = {holder.kind: holder.in_vm(DOMAIN) for holder in RENDERED}

_strange: dict[str, frozenset[str]] = {}


class ObjectFacts(Value):
    """The flaws of an object by the schema of its kind; the paths of `flaws` start at its root."""

    entry: Entry
    release: Release
    flaws: tuple[Flaw, ...]
    prefix: Path = ()

    @property
    def troubled(self) -> bool:
        """True if some rule may have a finding."""
        return bool(self.flaws)

    def without(self, reported: Container[Path]) -> ObjectFacts:
        """The facts without the flaws of places that are already reported."""
        return self.but(flaws=tuple(flaw for flaw in self.flaws if flaw.path not in reported))


def examine(
    bundle: Bundle,
    release: Release,
    *,
    complete: bool,
    handed_on: bool = False,
    schemas: Objects = (),
    sound: Container[tuple[int, Path]] = (),
    definitions: bool = True,
) -> Iterator[ObjectFacts]:
    """The facts of every object of the bundle that has flaws.

    If `complete` is False, only fields of other releases are searched, and only in the kinds that rendering reads. If VMs are
    `handed_on` without rendering, their domain is checked, too.
    `schemas` are objects outside of the bundle: CustomResourceDefinitions among them count like those of the bundle, and first.
    `sound` are the items and paths of objects that are known to match the API's own schema. If `definitions` is False, no
    definition of the bundle replaces the release's own API.
    """
    if complete:
        found = _all_flaws(bundle, release, _definitions(bundle, schemas, trusted=definitions), sound)
    else:
        entries = (entry for entry in bundle.entries if not entry.is_done)
        found = ((entry, flaws_of_read(entry, release, handed_on=handed_on)) for entry in entries)
    for entry, flaws in found:
        if flaws:
            yield ObjectFacts(entry=entry, release=release, flaws=flaws)


def _all_flaws(
    bundle: Bundle, release: Release, crds: Callable[[Entry], Crds | None] | None, sound: Container[tuple[int, Path]]
) -> Iterator[tuple[Entry, tuple[Flaw, ...]]]:
    from krm_fn.kubevirt.schema.checking import check

    for entry in bundle.entries:
        if crds:  # a definition may require more
            yield entry, tuple(check(entry.obj, release, crds(entry)))
        elif (entry.item, entry.path) not in sound:
            yield entry, tuple(check(entry.obj, release))


def flaws_of_read(entry: Entry, release: Release, *, handed_on: bool) -> tuple[Flaw, ...]:
    """The fields of other releases in an object that rendering reads.

    For an object that is handed on without rendering, also the flaws at its domain: no webhook accepts a VM without one.
    """
    if entry.type[1] not in READ:
        return ()
    around = _around_lost_domain(entry.obj) if handed_on else frozenset()
    if not around and not entry.may_have(strange_names(release)):
        return ()
    from krm_fn.kubevirt.schema.checking import check, of_other_releases  # needed only if there may be a flaw

    lost = (flaw for flaw in check(entry.obj, release) if flaw.path in around) if around else ()
    return (*of_other_releases(entry.obj, release), *lost)


def _around_lost_domain(obj: Object) -> frozenset[Path]:
    """The places that may have a flaw if a VM has no domain; none if it has one.

    That a VM with references has no template is a separate finding.
    """
    path = DOMAINS.get(kind_of(obj), ())
    if not path or isinstance(get(obj, path), dict):
        return frozenset()
    spec = as_map(get(obj, path[:-3]))
    refers = any(is_set(spec.get(matcher)) for matcher in ("instancetype", "preference"))
    return frozenset(path[:length] for length in range(len(path) + 1) if not refers or length != len(path) - 2)


def strange_names(release: Release) -> frozenset[str]:
    """The names of fields that only other releases have. Raises: ConfigError if the file does not have the release."""
    minor = "{}.{}".format(*release.version)
    if minor not in _strange:
        start = minor.encode() + b" "
        with open(FILE, "rb") as file:  # noqa: PTH123  pathlib is too heavy here
            line = next((line for line in file if line.startswith(start)), b"")
        if not line:
            raise lacks("types", release)
        _strange[minor] = frozenset(line.decode().split()[1:])
    return _strange[minor]


def _definitions(bundle: Bundle, schemas: Objects, *, trusted: bool) -> Callable[[Entry], Crds | None] | None:
    """What gives the definitions that count for an object: those of `schemas`, then those of the bundle.

    Of the bundle's, only the `trusted` ones count if the API knows the kind. None if there is no definition.
    """
    own = bundle.of_kind("CustomResourceDefinition")
    if not (schemas or own):
        return None
    from krm_fn.kubevirt.schema.crds import chosen, defines_known_kind  # needed only if there is a definition

    return chosen(schemas, [entry for entry in own if trusted or not defines_known_kind(entry.obj)], bundle.units)
