"""One preset's domain and another domain: where they clash, and what the second becomes.

upstream: pkg/virt-api/webhooks/mutating-webhook/mutators/preset.go:checkMergeConflicts, mergeDomainSpec
"""

from __future__ import annotations

from krm_fn.fields.preset import sections
from krm_fn.fields.verbs import as_written
from krm_fn.findings import UNSET
from krm_fn.paths import as_map, drop, get, is_nonzero, is_set, put
from krm_fn.presets.amounts import alike, same_amount
from krm_fn.presets.facts import Clash
from krm_fn.quantity import canonical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from krm_fn.fields.preset import Section
    from krm_fn.paths import Path
    from krm_fn.presets.era import Era
    from krm_fn.releases import Release
    from krm_fn.resource import Object

DOMAIN: Path = ("spec", "domain")


def domain_of(obj: Object) -> Object:
    """The domain of a preset or an instance, empty where there is none."""
    return as_map(get(obj, DOMAIN))


def clashes(preset: Object, domain: Object, release: Release) -> Iterator[Clash]:
    """Where a preset's domain and another one set the same part differently, in KubeVirt's order."""
    for section in sections(release):
        value = offered(preset, section)
        if value is UNSET or not _taken(domain, section):
            continue
        current = get(domain, section.path)
        if section.amounts:
            yield from _amount_clashes(section, value, as_map(current))
        elif not _equal(section, value, current := _narrowed(section, current)):
            yield Clash(path=(*DOMAIN, *section.path), upstream=section.upstream, value=value, current=current)


def merge(preset: Object, domain: Object, release: Release, era: Era) -> bool:
    """Copy what the domain lacks from a preset's domain; True where the preset counts as applied.

    Changes `domain` in place: the caller owns it. A section the domain has, be it empty, is left alone.
    """
    credited = False
    for section in sections(release):
        value = offered(preset, section)
        if value is UNSET:
            continue
        copies = _fillable(domain, section)
        if copies:
            put(domain, section.path, _written(section, value))
        credited |= copies if era.credits_copies else _held(section, preset, domain, by_value=era.amounts_by_value)
    return credited


def fills_differently(presets: list[Object], domain: Object, section: Section) -> bool:
    """True where the domain lacks a section for which the presets' domains have different values: the first one fills it."""
    values = [value for value in (offered(preset, section) for preset in presets) if value is not UNSET]
    return len(values) > 1 and _fillable(domain, section) and not all(_equal(section, values[0], value) for value in values[1:])


def offers(preset: Object, section: Section) -> bool:
    """True where a preset's domain has something to give for a section."""
    return offered(preset, section) is not UNSET


def offered(preset: Object, section: Section) -> Any:
    """What a preset's domain has to give for a section, UNSET for nothing."""
    value = get(preset, section.path)
    if section.scalar:
        return value if isinstance(value, str) else UNSET
    if not isinstance(value, dict) or (section.amounts and not value):
        return UNSET
    return _narrowed(section, value)


def _taken(domain: Object, section: Section) -> bool:
    """True where the domain has the section; an empty one counts, as in Go, where it is no nil pointer."""
    return get(domain, section.path) is not None


def _fillable(domain: Object, section: Section) -> bool:
    """True where the domain lacks the section and has room for it: what stands around it is a map or nothing."""
    around = (get(domain, section.path[:n]) for n in range(1, len(section.path)))
    return not _taken(domain, section) and all(one is None or isinstance(one, dict) for one in around)


def _narrowed(section: Section, value: Any) -> Any:
    return {key: value[key] for key in section.only if key in value} if section.only and isinstance(value, dict) else value


def _written(section: Section, value: Any) -> Any:
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


def _amount_clashes(section: Section, value: Object, current: Object) -> Iterator[Clash]:
    for key in sorted(value.keys() & current.keys(), key=str):
        if not alike(value[key], current[key]):
            yield Clash(
                path=(*DOMAIN, *section.path, key),
                upstream=f"{section.upstream}[{key}]",
                value=value[key],
                current=current[key],
                same_amount=same_amount(value[key], current[key]),
            )


def _held(section: Section, preset: Object, domain: Object, *, by_value: bool) -> bool:
    """True where the domain holds the whole of the preset's section: all of the clock for its offset."""
    value, current = get(preset, section.path), get(domain, section.path)
    return _equal(section, value, current, amounts=same_amount if by_value else alike)


def _equal(section: Section, one: Any, other: Any, *, amounts: Callable[[object, object], bool] = same_amount) -> bool:
    """True where Go reads the same from both."""
    if section.amounts and isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(amounts(one[key], other[key]) for key in one)
    return bool(_meaning(section, one) == _meaning(section, other))


def _meaning(section: Section, value: Any, path: Path = ()) -> Any:
    """The value without what means nothing in Go: unset keys, and zeros of plain scalars."""
    if isinstance(value, list):
        return [_meaning(section, item, path) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _meaning(section, item, (*path, key)) for key, item in value.items() if is_set(item)}
    for plain in section.zero:
        if plain[:-1] == path and plain[-1] in kept and not is_nonzero(kept[plain[-1]]):
            del kept[plain[-1]]
    return kept if path else {**{key: {} for key in section.always}, **kept}
