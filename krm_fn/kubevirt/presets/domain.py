"""Domains as presets read them: section by section. Each section is read once, also if it is compared many times."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_map, get, is_nonzero, is_set, number_of_values, put
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.fields.preset import PresetSection, sections
from krm_fn.kubevirt.presets.facts import Problem, Selector, problems
from krm_fn.kubevirt.releases import Release, Version

Offers = tuple[tuple[PresetSection, Any], ...]


DOMAIN = ("spec", "domain")
SELECTOR: Path = ("spec", "selector")
REQUESTS, VALUES = 2, 8  # of a preset of the usual size


class Domain:
    """A domain, and the values of its sections in Go. Code that fills a section must own the domain's value."""

    __slots__ = ("_meanings", "value")

    def __init__(self, value: Object) -> None:
        self.value = value
        self._meanings: dict[tuple[Path, bool], Any] = {}

    def current(self, section: PresetSection, *, unnarrowed: bool = False) -> Any:
        """The value of a section; with `unnarrowed` also the keys to which the section is not restricted."""
        value = get(self.value, section.path)
        return value if unnarrowed else narrowed(section, value)

    def meaning(self, section: PresetSection, *, unnarrowed: bool = False) -> Any:
        """The value of a section as Go reads it."""
        key = section.path, unnarrowed
        if key not in self._meanings:
            self._meanings[key] = _meaning(section, self.current(section, unnarrowed=unnarrowed))
        return self._meanings[key]

    def is_taken(self, section: PresetSection) -> bool:
        """True if the domain has the section. An empty one counts, because it is no nil pointer in Go."""
        return get(self.value, section.path) is not None

    def is_fillable(self, section: PresetSection) -> bool:
        """True if the domain does not have the section and can get it: what is around it is a map or absent."""
        around = (get(self.value, section.path[:n]) for n in range(1, len(section.path)))
        return not self.is_taken(section) and all(one is None or isinstance(one, dict) for one in around)

    def fill(self, section: PresetSection, value: Any) -> None:
        """Set a section in place."""
        put(self.value, section.path, value)
        self._meanings.clear()


class Preset:
    """A preset with its place in the bundle, its selector and its domain, and the problems of the selector."""

    __slots__ = ("_offers", "_weights", "domain", "entry", "problems", "selector")

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.domain = Domain(domain_of(entry.obj))
        given = get(entry.obj, SELECTOR)
        self.problems: tuple[Problem, ...] = tuple(problems(given))
        self.selector = None if self.problems else Selector(given)
        self._offers: dict[Version, Offers] = {}
        self._weights: dict[Version, int] = {}

    def offers(self, release: Release) -> Offers:
        """The sections that it sets, in order, with their values."""
        if release.version not in self._offers:
            given = ((section, offered(self.domain.value, section)) for section in sections(release))
            self._offers[release.version] = tuple((section, value) for section, value in given if value is not UNSET)
        return self._offers[release.version]

    def weight(self, release: Release) -> int:
        """How many presets of the usual size take the same time: each request is compared separately."""
        if release.version not in self._weights:
            given = self.offers(release)
            requests = sum(len(value) for section, value in given if section.amounts)
            self._weights[release.version] = max(
                1, requests // REQUESTS, number_of_values([value for _, value in given]) // VALUES
            )
        return self._weights[release.version]


def domain_of(obj: Object) -> Object:
    """The domain of a preset or an instance; empty if there is none."""
    return as_map(get(obj, DOMAIN))


def offers(domain: Object, section: PresetSection) -> bool:
    """True if a preset's domain sets a section."""
    return offered(domain, section) is not UNSET


def offered(domain: Object, section: PresetSection) -> Any:
    """The value that a preset's domain sets in a section; UNSET for nothing."""
    value = get(domain, section.path)
    if section.scalar:
        return value if isinstance(value, str) else UNSET
    if not isinstance(value, dict) or (section.amounts and not value):
        return UNSET
    return narrowed(section, value)


def narrowed(section: PresetSection, value: Any) -> Any:
    return {key: value[key] for key in section.only if key in value} if section.only and isinstance(value, dict) else value


def _meaning(section: PresetSection, value: Any, path: Path = ()) -> Any:
    """The value without parts that have no effect in Go: unset keys, and zeros of plain scalars."""
    if isinstance(value, list):
        return [_meaning(section, item, path) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _meaning(section, item, (*path, key)) for key, item in value.items() if is_set(item)}
    for plain in section.zero:
        if plain[:-1] == path and plain[-1] in kept and not is_nonzero(kept[plain[-1]]):
            del kept[plain[-1]]
    return kept if path else {**{key: {} for key in section.always}, **kept}
