"""Findings about files of folders that may not be mistakes: a file may be a patch, or only a part of what is applied."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from krm_fn.base.bundle import entries
from krm_fn.base.objects import kind_of, ref_of
from krm_fn.base.paths import as_map, get
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.holders import holder_of
from krm_fn.rules import registry
from krm_fn.rules.facts.inputs import InputFacts
from krm_fn.sources.fragments import OF_VALUES, Fragments, fragments, unfinished
from krm_fn.sources.salvage import UNCERTAIN
from krm_fn.sources.source import ANY

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from krm_fn.base.bundle import Entry
    from krm_fn.base.paths import Path
    from krm_fn.findings.finding import Finding
    from krm_fn.kubevirt.releases import Release
    from krm_fn.sources.source import Source, Sources


def certain(findings: Iterable[Finding], found: Sources) -> tuple[list[Finding], Fragments]:
    """The findings without those that may disappear when the files of the folders are applied, and the parts of objects.

    They say of a part of an object, such as a patch, what it lacks. Or they are about what is not there in files of which only
    a part is known, or hang on several values of an object of which a patch may change some.
    """
    if found.in_part:
        findings = [each for each in findings if not (_is_of_absence(each, found) or _is_of_patched(each, found))]
    else:
        findings = list(findings)
    if not found.separate:
        return findings, Fragments()
    parts = fragments(findings, found)
    kept = (each for each in findings if each.item < 0 or not parts.silence(each))
    return list(kept), parts


def deployed(found: Sources, files: Container[str]) -> Sources:
    """What was read without the machines in these files, which nothing applies, and without parts of machines."""
    if found.separate and (parts := unfinished(found).lacks):
        found = _without(found, {item for item, _ in parts})
    kept = [
        source.but(objects=tuple(_without_machines(source))) if source.file in files else source for source in found.sources
    ]
    return found.but(sources=tuple(kept)) if files else found


def only_parts(found: Sources) -> frozenset[str]:
    """The files of folders whose machines are only parts of machines."""
    lacks = unfinished(found).lacks if found.separate else {}
    places = found.places if lacks else []
    whole = (entry.item for entry in entries(found.items) if holder_of(entry.obj) and (entry.item, entry.path) not in lacks)
    return frozenset(places[item][0] for item, _ in lacks) - {places[item][0] for item in whole} if lacks else frozenset()


def _without(found: Sources, items: Container[int]) -> Sources:
    """What was read without some of the items."""
    numbers = count()
    kept = (
        source.but(objects=tuple(each for each in source.objects if next(numbers) not in items)) for source in found.sources
    )
    return found.but(sources=tuple(kept))


def undeployed(
    found: Sources,
    files: Container[str],
    severity: Mapping[str, str],
    release: Release,
    parts: Container[tuple[int, Path]] = (),
) -> Iterator[Finding]:
    """One finding for each of these files that has machines; `parts` of objects are none."""
    by_file: dict[str, list[Entry]] = {}
    places = found.places if files else []
    for entry in entries(found.items) if files else ():
        file = places[entry.item][0]
        if file in files and holder_of(entry.obj) and (entry.item, entry.path) not in parts:
            by_file.setdefault(file, []).append(entry)
    for file, (first, *others) in by_file.items():
        for finding in registry.judge_bundle(InputFacts(unlisted=(len(others),), release=release), severity, "input"):
            index = places[first.item][1]
            yield finding.but(ref=ref_of(first.obj), item=first.item, inside=first.path, file=file, index=index)


def _without_machines(source: Source) -> Iterator[int]:
    items = source.text.items
    return (number for number in source.objects if not any(holder_of(entry.obj) for entry in entries([items[number]])))


def _is_of_patched(finding: Finding, found: Sources) -> bool:
    """True for a finding that another value of its object may take away, where a patch may give one."""
    if not found.patched or finding.item < 0 or finding.rule in OF_VALUES:
        return False
    return not found.patched.isdisjoint((ANY, kind_of(as_map(get(found.items[finding.item], finding.inside)))))


def _is_of_absence(finding: Finding, found: Sources) -> bool:
    """True for a finding that an object or a value would take away which is not there."""
    if finding.rule in UNCERTAIN:
        return True
    path = (*finding.inside, *finding.path)
    return finding.item >= 0 and bool(finding.path) and get(found.items[finding.item], path, UNSET) is UNSET
