"""What the page needs of one unit of a run: its machines with their rendered YAML, pods and references, and its quotas.

It is made where the unit is judged, in any process, and it can be pickled.

An object as lines of YAML, each with the path of the value that it shows.

A report is made of the described units, the findings of all, and what a change does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import tee
from typing import TYPE_CHECKING, Any, NamedTuple

from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.errors import ConfigError, InputError
from krm_fn.base.objects import Object, group_of, kind_of, name_of, namespace_of, text
from krm_fn.base.paths import Path, as_map, dotted, get
from krm_fn.base.redaction import HIDDEN, redact
from krm_fn.base.value import Value
from krm_fn.explaining.inputs import MATCHERS
from krm_fn.explaining.wording import named, notes_of, source_text
from krm_fn.findings.finding import Finding
from krm_fn.kubevirt.holders import SERVED, vm_path
from krm_fn.pipeline.capacity import demands_of, facts_of, known_facts
from krm_fn.pipeline.surroundings import bundle_of
from krm_fn.reporting.references import BUNDLE, ELSEWHERE, ShownReference, uses_of
from krm_fn.repositories.deliveries import row_of
from krm_fn.repositories.explained import ExplainedObject, explained, with_places
from krm_fn.sizing import quotas
from krm_fn.sizing.demands import Demand
from krm_fn.sizing.rows import Row, Sized, added, rows
from krm_fn.yamlio.emit import is_literal, scalar_text

if TYPE_CHECKING:
    from krm_fn.repositories.homes import Material


STEP = 2  # columns per level
LONGEST = 2_000  # characters of a line


class ShownLine(NamedTuple):
    """A line: its text, the path of the value at it, and whether it has that value or only begins a map or list."""

    text: str
    path: Path
    has_value: bool


def lines_of(obj: Object) -> Iterator[ShownLine]:
    """The lines of an object, as `yamlio.dump` writes it. Long lines are cut, and what is hidden has no quotes."""
    for key, value in obj.items():
        yield from _entry(f"{_scalar(key)}:", value, (key,), 0)


def _entry(head: str, value: Any, path: Path, column: int) -> Iterator[ShownLine]:
    if isinstance(value, str) and is_literal(value):
        yield ShownLine(f"{head} |" if value[-1] == "\n" else f"{head} |-", path, has_value=True)
        for line in value.removesuffix("\n").split("\n"):
            yield ShownLine(_cut(" " * (column + STEP) + line if line else ""), path, has_value=False)
    elif isinstance(value, dict | list) and value:
        yield from _below(head, value, path, column)
    else:
        yield ShownLine(_cut(f"{head} {_scalar(value)}"), path, has_value=True)


def _below(head: str, value: Any, path: Path, column: int) -> Iterator[ShownLine]:
    """The lines of a map or list behind its key or dash; its first entry follows a dash on the same line."""
    if head.endswith("-"):
        below, lead = column + STEP, head + " "
    else:
        yield ShownLine(_cut(head), path, has_value=False)
        below = column + (STEP if isinstance(value, dict) else 0)
        lead = " " * below
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in entries:
        name = f"{_scalar(key)}:" if isinstance(value, dict) else "-"
        yield from _entry(lead + name, item, (*path, key), below)
        lead = " " * below


def _scalar(value: Any) -> str:
    if value == HIDDEN:
        return HIDDEN
    try:
        return scalar_text(value)
    except (TypeError, ValueError):  # what no cluster takes, such as NaN
        return str(value)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text):,} characters)"


Place = tuple[int, Path]
CLUSTER = "Cluster"  # the kind of the box of a cluster


VM = "vm"  # the word for a value of the object itself


class LineOrigin(NamedTuple):
    """Who gives the value of a line: what sort of source, and the name of the object.

    `text` is "" where that is the machine's own manifest, at `line` of its file.
    """

    kind: str
    name: str = ""
    text: str = ""
    line: int = 0
    notes: tuple[str, ...] = ()


class ShownMachine(Value):
    """A VM, or what starts instances in another way. `template` is the name of the template that has it, "" for none.

    `lines` are those of the rendered VM, or of the object as it is written where that is not rendered; each has its origin
    where it has a value. `record` is that of `capacity`, and `row` has its figures; both are empty where they are not known.
    """

    kind: str
    namespace: str
    name: str
    file: str = ""
    index: int = 0
    item: int = -1
    inside: Path = ()
    release: str = ""
    error: str = ""
    instancetype: str = ""
    preference: str = ""
    lines: tuple[ShownLine, ...] = ()
    origins: tuple[LineOrigin | None, ...] = ()
    record: Object = {}  # noqa: RUF012  nobody writes into a Value
    row: Row = Row(labels=())
    template: str = ""


class PagePart(Value):
    """One unit of the page. `namespaces` are the sums of its machines; `unsized` says why there are none.

    Machines in templates come last. They are in no sum and refer to nothing: a template itself creates nothing.
    """

    machines: tuple[ShownMachine, ...] = ()
    uses: tuple[ShownReference, ...] = ()
    namespaces: tuple[Row, ...] = ()
    quotas: tuple[Object, ...] = ()
    unsized: str = ""


def describe(material: Material) -> PagePart:
    """The part of the page about a unit."""
    found = material.found
    bundle = bundle_of(found.items, found.places, found.units, material.surroundings)
    demands, unsized = _demands(_applied(bundle, material), material)
    making = _Machines(bundle, {_place(each.entry): each for each in demands})
    made, heads, in_templates = making.explained(material)
    entries = [entry for entry in bundle.entries if _is_shown(entry, bundle, material)]
    machines = [made.get(_place(entry)) or making.machine(entry, None) for entry in entries]
    return PagePart(
        machines=(*machines, *in_templates),
        uses=(*uses_of(bundle, [(entry, heads.get(_place(entry), {})) for entry in entries]), *_delivered(machines, material)),
        namespaces=tuple(rows([Sized(demand=each) for each in demands], "namespace")),
        quotas=tuple(quotas.shown(each) for each in quotas.of_bundle(bundle, demands)),
        unsized=unsized,
    )


def _delivered(machines: Sequence[ShownMachine], material: Material) -> Iterator[ShownReference]:
    """What delivers the machines, and to which cluster: as `kubevirt-render deliveries` has it."""
    target = material.target
    row = row_of(target, material.settings.cluster, material.hosts) if target else {}
    if not (machines and target and target.delivery and row):
        return
    own = row["by"], namespace_of(target.delivery.obj), name_of(target.delivery.obj)
    role = f"{'suspended:' if row['suspended'] else 'delivered by'} {', '.join(row['steps'])}"
    for each in machines:
        yield ShownReference(user=(each.kind, each.namespace, each.name), used=own, role=role, state=BUNDLE, file=row["file"])
    if row["cluster"]:
        yield ShownReference(user=own, used=(CLUSTER, "", row["cluster"]), role="applies to", state=ELSEWHERE)


def _applied(bundle: Bundle, material: Material) -> Bundle:
    """The bundle as it is applied, with the same numbers; as it is written where no step changes it, or one fails."""
    found, left = material.found, material.left
    if left is None or left.fails:
        return bundle
    items = left.by_number(len(found.items))
    more = len(items) - len(found.items)
    places, units = [*found.places, *[("", 0)] * more], [*found.units, *[frozenset[str]()] * more]
    return bundle_of(items, places, units, material.surroundings)


def _place(entry: Entry) -> Place:
    return entry.item, entry.path


def _is_shown(entry: Entry, bundle: Bundle, material: Material) -> bool:
    is_applied = not bundle.is_context(entry.item) and bundle.place(entry.item)[0] not in material.unlisted
    return is_applied and (group_of(entry.obj), kind_of(entry.obj)) in SERVED


def _demands(bundle: Bundle, material: Material) -> tuple[list[Demand], str]:
    """What the machines need, and why that is not known."""
    config, instances = material.settings.config, None if material.left else material.instances
    try:
        known = known_facts(instances, config) if instances else None
        facts = known or facts_of(bundle, config, surroundings=material.surroundings)
        found = list(demands_of(facts, instances=instances if known else None, migrations=True))
    except (ConfigError, InputError) as error:  # pods of old releases were not measured
        return [], str(error)
    return [each for each in found if _is_shown(each.entry, bundle, material)], ""


class _Machines:
    """Makes the machines of a bundle one after the other. Equal lines, of which most machines have many, are kept once."""

    def __init__(self, bundle: Bundle, sized: Mapping[Place, Demand]) -> None:
        self._bundle, self._sized = bundle, sized
        self._lines: dict[ShownLine, ShownLine] = {}
        self._origins: dict[LineOrigin, LineOrigin] = {}

    def explained(self, material: Material) -> tuple[dict[Place, ShownMachine], dict[Place, Object], list[ShownMachine]]:
        """The machines that can be explained, what each refers to, and the machines in templates."""
        made: dict[Place, ShownMachine] = {}
        heads: dict[Place, Object] = {}
        in_templates = []
        place = self._bundle.place
        shown = (each for each in explained(material) if each.template or place(each.entry.item)[0] not in material.unlisted)
        ahead, here = tee(shown)
        for record, each in zip(with_places(ahead, [material]), here, strict=True):
            machine = self.machine(each.entry, each.but(record=record))
            if each.template:
                in_templates.append(machine)
            else:
                made[_place(each.entry)] = machine
                heads[_place(each.entry)] = {kind: record[kind] for kind in MATCHERS if kind in record}
        return made, heads, in_templates

    def machine(self, entry: Entry, of: ExplainedObject | None) -> ShownMachine:
        """A machine, with what is explained of it."""
        obj, (item, inside) = entry.obj, of.home(*_place(entry)) if of else _place(entry)
        file, index = self._bundle.place(item)
        record, rendered = (of.record, of.rendered) if of else ({}, None)
        template = of.template.entry.obj if of and of.template else {}
        demand = None if template else self._sized.get(_place(entry))
        lines = tuple(self._lines.setdefault(each, each) for each in lines_of(redact(obj if rendered is None else rendered)))
        origins = _origins(lines, record) if rendered is not None else ()
        return ShownMachine(
            kind=kind_of(obj),
            namespace=text(as_map(obj.get("metadata")).get("namespace")) if template else effective_namespace(obj),
            name=name_of(obj),
            file=file,
            index=index,
            item=item,
            inside=inside,
            release=record.get("release", ""),
            error=record.get("error", ""),
            instancetype=_referred("instancetype", obj, record),
            preference=_referred("preference", obj, record),
            lines=lines,
            origins=tuple(each and self._origins.setdefault(each, each) for each in origins),
            record=demand.record if demand else {},
            row=added(Row(labels=()), demand) if demand else Row(labels=()),
            template=name_of(template),
        )


def _referred(matcher: str, obj: Object, record: Object) -> str:
    """The name of the instancetype or preference: of what was found, else as it is written."""
    found = record.get(matcher) or as_map(get(obj, (*(vm_path(obj) or ()), "spec", matcher)))
    return text(found.get("name"))


def _origins(lines: Sequence[ShownLine], record: Object) -> Iterator[LineOrigin | None]:
    """The origin of the value at each line."""
    fields = {field["path"]: field for field in record.get("fields", ())}
    for line in lines:
        field = fields.get(dotted(line.path)) if line.has_value else None
        yield _origin(field, record) if field else None


def _origin(field: Object, record: Object) -> LineOrigin:
    source, notes = field["source"], tuple(notes_of(field))
    if source["from"] == VM and source.get("file") == record.get("file") and source["field"] == field["path"]:
        return LineOrigin(VM, line=source.get("line", 0), notes=notes)
    return LineOrigin(source["from"], named(source), " ".join(source_text(source).split()), notes=notes)


class DescribedUnit(Value):
    """A described unit: its target and cluster, "" for none, and its own findings."""

    part: PagePart
    target: str = ""
    cluster: str = ""
    findings: tuple[Finding, ...] = ()


class Change(Value):
    """What a change does to a VM or a pool: a word for it, and sentences. The first one is the headline; those that explain the
    one before them are indented."""

    kind: str
    namespace: str
    name: str
    effect: str
    sentences: tuple[str, ...]
    target: str = ""


class Report(Value):
    """All that the page shows.

    `findings` are those that count, `known` others that the commit `since` has, too, and `gone` those that only it has.
    `paths` are the user's, as they stand in the title. `figures` and `change_figures` are one line each, `quota_changes` lines
    about quotas and names. `releases` are those that the findings are for.
    """

    paths: tuple[str, ...]
    units: tuple[DescribedUnit, ...]
    findings: tuple[Finding, ...] = ()
    known: tuple[Finding, ...] = ()
    gone: tuple[Finding, ...] = ()
    since: str = ""
    changes: tuple[Change, ...] = ()
    figures: str = ""
    change_figures: str = ""
    quota_changes: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()

    @property
    def targets(self) -> list[str]:
        """The names of the targets."""
        return [unit.target for unit in self.units if unit.target]
