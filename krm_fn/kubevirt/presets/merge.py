"""One preset and a domain: their clashes, and the merged domain.

An era says how releases differ: which part applied presets, what it refused, which annotations it read and wrote. Quantities
are compared by value, or by spelling, as KubeVirt compares the requests of presets.

KubeVirt compares Go's parsed structures there. They keep the text of a quantity if it is in its shortest form, so 1Gi and
1024Mi differ. For 8Gi and 8192Mi they keep only the amount, so these two are equal. One case differs on purpose: Go keeps a
fraction such as 1.5Gi behind a pointer, so KubeVirt reports a conflict of 1.5Gi with 1.5Gi; here it is compared by value.

upstream: pkg/virt-api/webhooks/mutating-webhook/mutators/preset.go:checkMergeConflicts, mergeDomainSpec
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterable, Iterator
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import Path, as_map, drop, get, is_nonzero
from krm_fn.base.quantity import canonical, parse
from krm_fn.base.value import Value
from krm_fn.kubevirt.fields.preset import PresetSection
from krm_fn.kubevirt.fields.verbs import as_written
from krm_fn.kubevirt.holders import DOMAIN as TEMPLATE_DOMAIN
from krm_fn.kubevirt.presets.domain import DOMAIN, Domain, Preset
from krm_fn.kubevirt.presets.facts import Clash
from krm_fn.kubevirt.releases import Release, Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.trace import Trace


class Era(Value):
    """A span of releases that treat presets in the same way.

    `exclude` is the annotation that excludes an instance from presets, "" if there was none. `marker` is the annotation that
    the preset controller set on every instance that it processed, "" if the webhook does the work. `compares_presets`: presets
    that disagree are refused together. `refuses_selectors`: one invalid selector stops the instance; otherwise only its preset
    is dropped. `credits_copies`: a preset counts as applied only if it changed something, not if the instance already had the
    same values. `amounts_by_value`: 1Gi and 1024Mi are equal when deciding whether a preset counts as applied.
    `reports_idle`: a preset that matched but set nothing is reported.
    """

    exclude: str = ""
    marker: str = ""
    compares_presets: bool = True
    refuses_selectors: bool = True
    credits_copies: bool = False
    amounts_by_value: bool = True
    reports_idle: bool = True
    since: Version = ()
    until: Version = ()


EXCLUDE = "virtualmachineinstancepresets.admission.kubevirt.io/exclude"
FIRST_EXCLUDE = "virtualmachinepresets.admission.kubevirt.io/exclude"
MARKER = "presets.virtualmachines.kubevirt.io/presets-applied"

_CONTROLLER = Era(marker=MARKER, refuses_selectors=False, amounts_by_value=False, reports_idle=False)
_ERAS = (
    _CONTROLLER.but(until=(0, 4), compares_presets=False, credits_copies=True),
    _CONTROLLER.but(since=(0, 4), until=(0, 5, 1)),
    _CONTROLLER.but(since=(0, 5, 1), until=(0, 6, 1), exclude=FIRST_EXCLUDE),
    _CONTROLLER.but(since=(0, 6, 1), until=(0, 9), exclude=EXCLUDE),
    Era(since=(0, 9), until=(0, 50), exclude=EXCLUDE, amounts_by_value=False),
    Era(since=(0, 50), exclude=EXCLUDE),
)


class _Served(Value):
    """The API version that a release writes into the annotations."""

    group_version: str
    since: Version = ()
    until: Version = ()


_SERVED = (
    _Served(group_version="kubevirt.io/v1alpha1", until=(0, 6, 1)),
    _Served(group_version="kubevirt.io/v1alpha2", since=(0, 6, 1), until=(0, 13)),
    _Served(group_version="kubevirt.io/v1alpha3", since=(0, 13), until=(0, 37)),
    _Served(group_version="kubevirt.io/v1", since=(0, 37)),
)

# The newest release whose treatment an object of an old API version gets. v1alpha2 was served until 0.12, but its presets are
# those of the controller, which the webhook replaced in 0.9.
_NEWEST = {"kubevirt.io/v1alpha1": (0, 6, 0), "kubevirt.io/v1alpha2": (0, 8, 0)}


def era_of(release: Release) -> Era:
    """The era of a release."""
    return next(era for era in _ERAS if release.within(since=era.since, until=era.until))


def group_version_of(release: Release) -> str:
    """The value that a release writes into its annotations: `kubevirt.io/v1`."""
    return next(row.group_version for row in _SERVED if release.within(since=row.since, until=row.until))


def release_for(instance: Object, release: Release) -> Release:
    """The release whose treatment an instance gets: the given one, or an older one if its API version was removed."""
    newest = _NEWEST.get(text(get(instance, ("apiVersion",))))
    return Release(version=min(newest, release.version)) if newest else release


def same_form(one: object, other: object) -> bool:
    """True if KubeVirt finds no conflict between two quantities. Other values are compared as they are."""
    first, second = parse(one), parse(other)
    return one == other if first is None or second is None else first == second


def same_amount(one: object, other: object) -> bool:
    """True if two quantities are the same amount, in any spelling."""
    first, second = parse(one), parse(other)
    return one == other if first is None or second is None else first.nanos == second.nanos


def clashes(preset: Preset, domain: Domain, release: Release) -> Iterator[Clash]:
    """The parts that a preset and a domain set differently, in KubeVirt's order."""
    for section, value in preset.offers(release):
        if not domain.is_taken(section):
            continue
        if section.amounts:
            yield from _amount_clashes(section, value, as_map(domain.current(section)))
        elif preset.domain.meaning(section) != domain.meaning(section):
            path = (*DOMAIN, *section.path)
            yield Clash(path=path, upstream=section.upstream, value=value, current=domain.current(section))


def merge(preset: Preset, domain: Domain, release: Release, era: Era, *, trace: Trace | None = None) -> bool:
    """Copy the sections that the domain does not have from a preset's domain; True if the preset counts as applied.

    Changes `domain` in place. A section that the domain has does not change, even if it is empty.
    """
    credited = False
    for section, value in preset.offers(release):
        copies = domain.is_fillable(section)
        if trace:
            trace.giver = preset.entry
            _note(trace, section, _written(section, value), kept=not copies)
        if copies:
            domain.fill(section, _written(section, value))
        credited |= copies if era.credits_copies else _held(section, preset, domain, by_value=era.amounts_by_value)
    return credited


def _note(trace: Trace, section: PresetSection, written: Any, *, kept: bool) -> None:
    """Note a section, and first what Go writes with it in any case."""
    field = (*DOMAIN, *section.path)
    for key in section.always:
        trace.note((*section.path, key), field, {}, root=TEMPLATE_DOMAIN, kept=kept)
    trace.note(section.path, field, written, root=TEMPLATE_DOMAIN, kept=kept)


class SeenValues:
    """The values of each part in several presets, to find out whether a later preset differs from one of them."""

    __slots__ = ("_first", "_release", "_various")

    def __init__(self, release: Release) -> None:
        self._release = release
        self._first: dict[Path, Any] = {}
        self._various: set[Path] = set()  # with different values

    def otherwise(self, preset: Preset) -> bool:
        """True if the preset clashes with one that was added."""
        return any(
            path in self._various or (path in self._first and self._first[path] != value) for path, value in self._parts(preset)
        )

    def add(self, preset: Preset) -> None:
        for path, value in self._parts(preset):
            if self._first.setdefault(path, value) != value:
                self._various.add(path)

    def _parts(self, preset: Preset) -> Iterator[tuple[Path, Any]]:
        """The values of a preset, by section, and by key if a section holds amounts."""
        for section, value in preset.offers(self._release):
            if section.amounts:
                yield from (((*section.path, key), parse(amount) or (amount,)) for key, amount in value.items())
            else:
                yield section.path, preset.domain.meaning(section)


def agree(presets: Iterable[Preset], section: PresetSection) -> bool:
    """True if the presets that set a section set the same value."""
    first, *others = presets
    return all(_is_same(section, first.domain, other.domain, unnarrowed=False) for other in others)


def _written(section: PresetSection, value: Any) -> Any:
    """The section as Go writes it: quantities in the shortest form, no plain zeros, and structures that it always writes."""
    if section.amounts:
        return {key: canonical(amount) for key, amount in value.items()}
    if not isinstance(value, dict):
        return value
    written = {**{key: {} for key in section.always}, **as_written(value)}
    for plain in section.zero:
        if not is_nonzero(get(written, plain)):
            drop(written, plain)
    return written


def _amount_clashes(section: PresetSection, value: Object, current: Object) -> Iterator[Clash]:
    for key in sorted(value.keys() & current.keys(), key=str):
        if not same_form(value[key], current[key]):
            yield Clash(
                path=(*DOMAIN, *section.path, key),
                upstream=f"{section.upstream}[{key}]",
                value=value[key],
                current=current[key],
                same_amount=same_amount(value[key], current[key]),
            )


def _held(section: PresetSection, preset: Preset, domain: Domain, *, by_value: bool) -> bool:
    """True if the domain contains the complete section of the preset; for the clock's offset, the complete clock."""
    return _is_same(section, preset.domain, domain, unnarrowed=True, amounts=same_amount if by_value else same_form)


def _is_same(
    section: PresetSection,
    one: Domain,
    other: Domain,
    *,
    unnarrowed: bool,
    amounts: Callable[[object, object], bool] = same_amount,
) -> bool:
    """True if Go reads the same from a section of both."""
    if section.amounts:
        here, there = one.current(section), other.current(section)
        if isinstance(here, dict) and isinstance(there, dict):
            return here.keys() == there.keys() and all(amounts(here[key], there[key]) for key in here)
    return bool(one.meaning(section, unnarrowed=unnarrowed) == other.meaning(section, unnarrowed=unnarrowed))
