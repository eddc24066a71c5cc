"""Findings about files of folders that may not be mistakes: a file may be a patch, or only a part of what is applied.

A part of an object is, for example, a patch that no kustomization uses.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from krm_fn.base import bundle
from krm_fn.base.bundle import Entry, entries
from krm_fn.base.expressions import expression
from krm_fn.base.objects import Object, group_of, kind_of, name_of, namespace_of, ref_of, text
from krm_fn.base.paths import Path, as_map, get
from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET, Finding
from krm_fn.findings.finding import UNSET as MISSING
from krm_fn.kubevirt.holders import holder_of
from krm_fn.kubevirt.releases import Release
from krm_fn.rules import registry
from krm_fn.rules.facts.inputs import InputFacts, PartialObject
from krm_fn.sources.files import in_repository
from krm_fn.sources.salvage import UNCERTAIN
from krm_fn.sources.source import ANY, Source, Sources

Key = tuple[int, Path]


# A word in the path of a file whose objects are meant for others.
PATH_OF_PARTS = expression(r"(?:^|[^a-z])(?:patch(?:es)?|overlays?|partials?|fragments?)(?![a-z])", re.IGNORECASE)
# Rules about a value that is there. What they find is wrong in a part of an object, too.
OF_VALUES = frozenset(
    (
        "deprecated-field",
        "field-of-another-release",
        "removed-field",
        "unfilled-placeholder",
        "unknown-field",
        "unknown-kind",
        "unserved-api-version",
        "value-not-allowed",
        "value-out-of-range",
        "wrong-type",
    )
)
DUPLICATE = "duplicate-object"
# The directives of strategic merge patches. Those that end in a slash have the name of a field behind it.
DIRECTIVES = ("$patch", "$retainKeys", "$setElementOrder/", "$deleteFromPrimitiveList/")
DIRECTIVE = "$"  # instead of a rule, where a path leads to a directive
# Rules about what every object of a kind has, such as memory. A run strategy is forgotten more often than left to another file.
STOPPED = "never-starts"
TEMPLATE = "missing-template"
OF_STRUCTURE = frozenset(("invalid-name", "missing-field", TEMPLATE, STOPPED, DIRECTIVE))
NAME = ("metadata", "name")
ANYWHERE = "*"  # namespace
OF_OBJECT = 2  # the length of the paths of what makes an object what it is: its name, `spec.template`


class Fragments(Value):
    """The objects that are only a part of an object: by item and place in it, the paths of what each of them lacks,
    and of its directives.
    """

    items: Sequence[Any] = ()
    lacks: Mapping[Key, tuple[Path, ...]] = {}

    def silence(self, finding: Finding) -> bool:
        """True for a finding that only says that a part is no whole object, or that another object has its name."""
        if finding.rule == DUPLICATE and any((each.item, each.inside) in self.lacks for each in finding.related):
            return True
        lacks = self.lacks.get((finding.item, finding.inside))
        if lacks is None:
            return False
        obj = get(self.items[finding.item], finding.inside)
        if all(map(is_directive, lacks)) and _has_domain(obj):  # the API server may drop the directive of a whole object
            return is_directive(finding.path)
        if _is_of_entry(obj, finding):
            return False
        return finding.rule not in OF_VALUES or get(obj, finding.path) is None or is_directive(finding.path)

    def findings(self, found: Sources, severity: Mapping[str, str], release: Release) -> Iterator[Finding]:
        """One finding for each file that has parts."""
        files: dict[str, list[Key]] = {}
        places = found.places
        for key in self.lacks:
            files.setdefault(places[key[0]][0], []).append(key)
        for (item, inside), *others in files.values():
            ref = ref_of(get(self.items[item], inside))
            paths = self.lacks[item, inside]
            directive = next((str(path[-1]) for path in paths if is_directive(path)), "")
            part = PartialObject(paths=paths, directive=directive, others=len(others))
            for finding in registry.judge_bundle(InputFacts(parts=(part,), release=release), severity, "input"):
                file, index = places[item]
                yield finding.but(ref=ref, item=item, inside=inside, file=file, index=index)


def fragments(findings: Iterable[Finding], found: Sources) -> Fragments:
    """The objects in files of folders that lack what an object of their kind has, and that something else shows to be parts.

    The kustomization of the folder does not use the file; the path of the file has a word such as `patches`; a complete object
    has the same name, and not another namespace; or it has no name either, so that nobody can create it. The last two count
    only for an object without what makes it one, such as `spec.template`. An object with a directive of patches, such as
    `$patch`, is a part in any case. What the entry of a list lacks shows nothing: a patch has entries as a whole.
    """
    items, places = found.items, found.places
    lacks: dict[Key, dict[Path, str]] = {}
    for each in findings:
        if each.item >= 0 and each.severity == "error" and each.path and found.is_found(places[each.item][0]):
            obj = get(items[each.item], each.inside)
            absent = get(obj, each.path, MISSING) is MISSING and not _is_of_entry(obj, each)
            if absent or is_directive(each.path):
                lacks.setdefault((each.item, each.inside), {})[each.path] = each.rule if absent else DIRECTIVE
    return _parts(lacks, found)


def unfinished(found: Sources) -> Fragments:
    """The machines among the parts of objects: those without what makes an object one, or with a directive right in it."""
    lacks: dict[Key, dict[Path, str]] = {}
    places = found.places
    for entry in bundle.entries(found.items):
        holder = holder_of(entry.obj)
        if holder and found.is_found(places[entry.item][0]):
            whole = (*holder.template, "spec")
            steps = (whole[: number + 1] for number in range(len(whole)))
            absent = next((path for path in steps if get(entry.obj, path, MISSING) is MISSING), None)
            faults: dict[Path, str] = {(step,): DIRECTIVE for step in entry.obj if is_directive((step,))}
            if absent:
                faults[absent] = TEMPLATE
            if faults:
                lacks[entry.item, entry.path] = faults
    return _parts(lacks, found)


def _parts(lacks: Mapping[Key, Mapping[Path, str]], found: Sources) -> Fragments:
    """The objects that lack something, or have directives, and that are parts; with the rules that say so."""
    items, places = found.items, found.places
    lacks = {key: paths for key, paths in lacks.items() if not OF_STRUCTURE.isdisjoint(paths.values())}
    if not lacks:
        return Fragments()
    parts = {key for key, paths in lacks.items() if {*paths.values()} != {STOPPED}}
    complete = [entry.obj for entry in bundle.entries(items) if (entry.item, entry.path) not in parts]
    roots: dict[str, str] = {}
    whole = {(*_identity(obj), namespace) for obj in complete for namespace in (namespace_of(obj), ANYWHERE)}

    def is_in_whole(obj: Object) -> bool:
        return any((*_identity(obj), namespace) in whole for namespace in (namespace_of(obj) or ANYWHERE, ""))

    def is_part(key: Key) -> bool:
        obj, file = get(items[key[0]], key[1]), places[key[0]][0]
        if DIRECTIVE in lacks[key].values() or found.is_left_out(file) or PATH_OF_PARTS.search(in_repository(file, roots)):
            return True
        of_object = {path for path, rule in lacks[key].items() if rule in OF_STRUCTURE and len(path) <= OF_OBJECT}
        return len(of_object) > 1 if NAME in of_object else bool(of_object) and is_in_whole(obj)

    return Fragments(items=items, lacks={key: tuple(lacks[key]) for key in sorted(lacks) if is_part(key)})


def is_directive(path: Path) -> bool:
    """True for the path of a directive. A label or an annotation may have any other key that starts with `$`, and be wrong."""
    key = text(*path[-1:])
    return any(key.startswith(each) if each.endswith("/") else key == each for each in DIRECTIVES)


def _has_domain(obj: Object) -> bool:
    """True for a VM or an instance with all that makes it one."""
    holder = holder_of(obj)
    return holder is not None and isinstance(get(obj, (*holder.instance, "domain")), dict)


def _is_of_entry(obj: Object, finding: Finding) -> bool:
    """True for what an entry of a list lacks. An entry that has a directive lacks nothing."""
    steps = [number for number, step in enumerate(finding.path) if isinstance(step, int)]
    if finding.rule != "missing-field" or not steps:
        return False
    return not any(is_directive((key,)) for key in as_map(get(obj, finding.path[: steps[-1] + 1])))


def _identity(obj: Object) -> tuple[str, ...]:
    return group_of(obj), kind_of(obj), name_of(obj)


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
