"""The objects in templates, judged: each template as a bundle of its own, since nobody applies two of them together.

The objects get the names and namespaces of whoever uses the template. So an object that is not in the template is no mistake,
unless its kind has no namespace. VMs inside objects of other kinds, such as ConfigMaps, are counted, and not judged.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from krm_fn.base import bundle
from krm_fn.base.bundle import Entry, is_cluster_kind
from krm_fn.base.console import file_name
from krm_fn.base.expressions import expression
from krm_fn.base.external import External, Externals
from krm_fn.base.objects import Object, group_of, kind_of, name_of, text
from krm_fn.base.paths import Path, canonical, get, leaves
from krm_fn.base.value import Value
from krm_fn.config.repository import KINDS as REFERRED
from krm_fn.findings.finding import UNSET, Finding, Related, Suppressed
from krm_fn.kubevirt.holders import RENDERED, holder_of
from krm_fn.kubevirt.settings import Config
from krm_fn.kubevirt.templates import MARK, Template, is_template, template_of
from krm_fn.pipeline import stages
from krm_fn.pipeline.stages import Judging, Outcome
from krm_fn.repositories import names
from krm_fn.repositories.sharing import UNUSED
from krm_fn.rules.facts.bundles import Surroundings
from krm_fn.sources.places import MATCHERS

if TYPE_CHECKING:
    from krm_fn.sources.source import Sources


KINDS = {row.kind: row.group for row in RENDERED}
# The kind of an object in a text, as YAML and JSON write it.
KIND = expression(rf"""^[\s{{,-]*["']?kind["']?\s*:\s*["']?({"|".join(KINDS)})\b""", re.MULTILINE)
IN_JSON = expression(rf'''[{{,]\s*"kind"\s*:\s*"({"|".join(KINDS)})"''')


def notes(found: Sources) -> Iterator[str]:
    """How many VMs stand inside objects of each other kind."""
    if not any(kind.encode() in source.data for source in found.sources for kind in KINDS):
        return
    counts: Counter[tuple[str, str]] = Counter()
    for entry in bundle.entries(found.items):
        if not (holder_of(entry.obj) or is_template(entry.obj)):
            outer = kind_of(entry.obj)
            counts.update((outer, kind) for kind in _inside(entry.obj))
    for (outer, kind), number in sorted(counts.items()):
        several = number > 1
        yield f"{number} {kind}{'s' * several} inside {outer} objects {'are' if several else 'is'} not judged"


def _inside(value: Any) -> Iterator[str]:
    """The kinds of the VMs inside a value."""
    if isinstance(value, dict):
        if isinstance(value.get("spec"), dict) and KINDS.get(kind_of(value)) == group_of(value):
            yield kind_of(value)
            return
        for below in value.values():
            yield from _inside(below)
    elif isinstance(value, list):
        for below in value:
            yield from _inside(below)
    elif isinstance(value, str) and "kubevirt.io/" in value:
        yield from _in_text(value)


def _in_text(text: str) -> Iterator[str]:
    pattern = IN_JSON if text.lstrip().startswith(("{", "[")) else KIND
    return (found[1] for found in pattern.finditer(text))


# What stays open in a template is counted, and is no mistake.
PLACEHOLDER = "unfilled-placeholder"
# The rule about what is not known of the cluster, which is the same for all templates.
OF_CLUSTER = "unknown-configuration"
# Objects of these kinds say how all others are judged.
DECIDING = ("KubeVirt", "HyperConverged")
ABSENT = tuple(External(kind=kind) for kind in REFERRED if not is_cluster_kind(kind))


class Templated(Value):
    """The objects in templates, as entries of the items that hold them, and what there is to say of them."""

    entries: tuple[Entry, ...] = ()
    findings: tuple[Finding, ...] = ()
    ignored: tuple[Suppressed, ...] = ()
    off: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    def added_to(self, outcome: Outcome) -> Outcome:
        """The outcome of the items around them, with these findings; what only a template uses is not unused."""
        if not self.entries:
            return outcome
        used = {text(get(entry.obj, (*matcher, "name"))) for entry in self.entries for matcher in MATCHERS}
        kept = (each for each in outcome.findings if not (each.rule in UNUSED and each.ref and each.ref.name in used))
        return outcome.but(
            findings=(*kept, *self.findings),
            ignored=(*outcome.ignored, *self.ignored),
            off=(*outcome.off, *self.off),
        )


def templated(
    found: Sources, config: Config, surroundings: Surroundings, judging: Judging, schemas: Sequence[Object] = ()
) -> Templated:
    """What there is to say of the objects in the templates among what was read."""
    entries = list(bundle.entries(found.items))
    templates = [template_of(entry) for entry in entries if is_template(entry.obj)]
    if not templates:
        return Templated()
    places = found.places
    beside = Beside(entries, places, surroundings)
    result = Templated(notes=tuple(_notes(templates, places)))

    known: dict[str, Outcome] = {}  # of templates that nothing stands beside: many are in several files

    def judged(each: Template) -> Templated:
        items = [obj for _, obj in each.objects]
        alone = judging.but(units=(), surroundings=beside.of(items))
        place = places[each.entry.item]
        key = "" if alone.surroundings.context else canonical(items)
        outcome = known.get(key) if key else None
        if outcome is None:
            outcome = stages.render(items, config, places=[place] * len(items), schemas=schemas, judging=alone)
        if key:
            known[key] = outcome
        return _of(each, place, outcome)

    parts = [judged(each) for each in templates if each.objects]
    for field in ("entries", "findings", "ignored", "off"):
        result = result.but(**{field: tuple(one for part in parts for one in getattr(part, field))})
    return result.but(findings=tuple(_once(result.findings)))


def _once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, of those about the cluster each once: the first template stands for all."""
    seen: set[str] = set()
    for each in findings:
        if each.rule != OF_CLUSTER or each.message not in seen:
            yield each
        if each.rule == OF_CLUSTER:
            seen.add(each.message)


def _of(template: Template, place: tuple[str, int], outcome: Outcome) -> Templated:
    """What came of the objects of one template, or of one with the same objects; `place` is file and index of this one."""
    items = [obj for _, obj in template.objects]
    home = _Home(template, place)
    return Templated(
        entries=tuple(
            bundle.Entry(each.obj, template.entry.item, (*template.objects[each.item][0], *each.path))
            for each in bundle.entries(items)
        ),
        findings=home.all(outcome.findings),
        ignored=tuple(each.but(finding=home.of(each.finding)) for each in outcome.ignored),
        off=home.all(outcome.off),
    )


class _Home:
    """Where what was found in the objects of a template stands."""

    def __init__(self, template: Template, place: tuple[str, int]) -> None:
        self._entry = template.entry
        self._file, self._index = place
        self._paths = [path for path, _ in template.objects]

    def all(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """The findings that count in a template, in the item that holds it."""
        return tuple(self.of(each) for each in findings if each.rule != PLACEHOLDER)

    def of(self, finding: Finding) -> Finding:
        """The finding at its place. A value is not proposed where a parameter is written: that would replace the parameter."""
        if finding.proposed is not UNSET and self._is_open(finding):
            finding = finding.but(proposed=UNSET)
        return finding.but(**self._place(finding), related=tuple(each.but(**self._place(each)) for each in finding.related))

    def _is_open(self, finding: Finding) -> bool:
        inside = self._paths[finding.item][len(self._entry.path) :]
        written = get(self._entry.obj, (*inside, *finding.inside, *finding.path))
        return isinstance(written, str) and MARK in written

    def _place(self, of: Finding | Related) -> dict[str, Any]:
        if of.item < 0:
            return {}
        inside: Path = (*self._paths[of.item], *of.inside)
        return {"item": self._entry.item, "inside": inside, "file": self._file, "index": self._index}


class Beside:
    """What stands beside templates: objects that they may name, and those that decide how all are judged."""

    def __init__(self, entries: Iterable[Entry], places: Sequence[tuple[str, int]], surroundings: Surroundings) -> None:
        self._given = surroundings.but(external=(*surroundings.external, Externals(ABSENT)))
        self._always: list[tuple[Object, tuple[str, int]]] = []
        self._named: dict[str, list[tuple[Object, tuple[str, int]]]] = {}
        for entry in entries:
            if kind_of(entry.obj) in DECIDING:
                self._always.append((entry.obj, places[entry.item]))
            elif kind_of(entry.obj) in names.KINDS:
                self._named.setdefault(name_of(entry.obj), []).append((entry.obj, places[entry.item]))

    def of(self, items: Sequence[Object]) -> Surroundings:
        """What counts for the objects of one template."""
        names = dict.fromkeys(_names(items)) if self._named else ()
        found = [*self._always, *(each for name in names for each in self._named.get(name, ()))]
        if not found:
            return self._given
        given = self._given
        places = (*given.places, *[("", 0)] * len(given.context))[: len(given.context)]
        return given.but(context=(*given.context, *(obj for obj, _ in found)), places=(*places, *(place for _, place in found)))


def _names(items: Sequence[Object]) -> Iterator[str]:
    """The texts in objects that may be names; that of a network may have its namespace before it."""
    for item in items:
        for _, value in leaves(item):
            if isinstance(value, str):
                yield value.rpartition("/")[2]


def _notes(templates: Iterable[Template], places: Sequence[tuple[str, int]]) -> Iterator[str]:
    """How much in the templates of each file is not judged."""
    counts: dict[str, list[int]] = {}
    for each in templates:
        if each.open:
            counts.setdefault(places[each.entry.item][0], []).append(each.open)
    for file, found in counts.items():
        values, number = sum(found), len(found)
        where = f"{number} template{'s' * (number > 1)}" + (f" of {file_name(file)}" if file else "")
        have = "values depend" if values > 1 else "value depends"
        yield f"{values} {have} on parameters without a default in {where}, and {'are' if values > 1 else 'is'} not judged"
