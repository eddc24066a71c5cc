"""What an editor shows about the word under the cursor, as Markdown; and the names, fields and values that fit there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krm_fn.base.errors import RenderError
from krm_fn.base.markdown import code, prose
from krm_fn.base.objects import Object
from krm_fn.base.paths import as_map
from krm_fn.kubevirt import catalogue
from krm_fn.kubevirt.catalogue import view
from krm_fn.kubevirt.holders import HOLDERS, INSTANCE_SPEC
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.resolve.matcher import MATCHERS
from krm_fn.kubevirt.schema.kinds import KINDS
from krm_fn.lsp import givers, sizes
from krm_fn.lsp.answers import Completion, Hover, Span
from krm_fn.lsp.api import METADATA, ApiField, field_at, fields_at
from krm_fn.lsp.givers import ExplainedMachine
from krm_fn.lsp.index import INNER, REVISION, Name, NameIndex, Occurrence, inner_names, namespace_of
from krm_fn.lsp.sizes import Key
from krm_fn.rules.shared.object_references import OWNERS
from krm_fn.sizing.rows import live_migration

if TYPE_CHECKING:
    from krm_fn.lsp.outline import Here, Outline, OutlineEntry


FILE = Path(__file__).with_name("field_texts.txt")
VM, INSTANCE = "VirtualMachine", "VirtualMachineInstance"
SPEC = ("spec",)
EACH = "[]"


@cache
def table() -> Mapping[tuple[str, str], str]:
    """The texts by kind and path."""
    return dict(_rows())


def _rows() -> Iterator[tuple[tuple[str, str], str]]:
    kind = ""
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            kind = line.strip("[]")
        elif line and not line.startswith("#"):
            path, text = line.split("  ", 1)
            yield (kind, path), text


def text_of(group: str, kind: str, path: Sequence[Any]) -> str:
    """What the field at a path of an object means; "" where there is no text."""
    for described, below in _described(group, kind, tuple(path)):
        if found := table().get((described, written(below))):
            return found
    return ""


def written(path: Sequence[Any]) -> str:
    """A path as the table has it: `spec.volumes[].name`."""
    return ".".join(step if isinstance(step, str) else EACH for step in path).replace(f".{EACH}", EACH)


def _described(group: str, kind: str, path: tuple[Any, ...]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The kinds that describe a place, with the path from their roots."""
    holder = HOLDERS.get((group, kind))
    if holder is None:
        yield kind.replace("Cluster", ""), path
        return
    if holder.vm is not None and path[: len(holder.vm)] == holder.vm:
        yield VM, path[len(holder.vm) :]
    if path[: len(holder.instance)] == holder.instance:
        yield INSTANCE, (*SPEC, *path[len(holder.instance) :])


class HoverFacts:
    """What hovers are made of: the release, the names of the workspace, its objects, and the sizes of machines.

    The others are called when they are needed. `record_of` returns what `capacity` says of a machine; `spec_of` the spec of a
    named object, None if there is none; `change_of` says in words how a machine differs from the last commit; `explained` has
    what `explain` says of the values of a machine; `given_of` the size that the instancetype of a machine's record gives.
    """

    def __init__(
        self,
        release: Release,
        index: NameIndex,
        *,
        record_of: Callable[[Key], Object | None],
        spec_of: Callable[[Name], Object | None],
        change_of: Callable[[Key], str],
        explained: Callable[[Key], ExplainedMachine],
        given_of: Callable[[Object], str],
    ) -> None:
        self.release, self.index = release, index
        self.record_of, self.spec_of, self.change_of = record_of, spec_of, change_of
        self.explained, self.given_of = explained, given_of


def hover(outline: Outline, here: Here, occurrence: Occurrence | None, known: HoverFacts, line: int) -> Hover | None:
    """About a name, else about the field; None if there is nothing to say."""
    span = Span(line=line, start=here.start, end=here.end)
    lines: list[str] = []
    if occurrence and here.part == "value":
        lines = list(_of_name(occurrence, known))
    if not lines and here.part in ("key", "value"):
        lines = list(_of_field(outline, here, known))
    return Hover(text="\n\n".join(lines), span=span) if lines else None


def _of_field(outline: Outline, here: Here, known: HoverFacts) -> Iterator[str]:
    root, release = outline.object_of(here.entry), known.release
    path = here.entry.path[len(root.path) :]
    if not path:
        return
    field = field_at(root.text("apiVersion"), root.text("kind"), path, release)
    if field is None:
        return
    group, kind = root.text("apiVersion").rpartition("/")[0], root.text("kind")
    yield f"**{prose(field.name)}** — {_type(field)}"
    if text := text_of(group, kind, path):
        yield prose(text)
    if field.values:
        yield f"Values: {', '.join(map(code, field.values))}"
    if field.elsewhere:
        yield f"KubeVirt {release} does not know this field. It is known in {view.in_words(field.elsewhere)}."
    holder = HOLDERS.get((group, kind))
    if holder and holder.vm is not None:
        explained = known.explained((kind, namespace_of(root), root.text("metadata", "name")))
        yield from givers.about(explained, root.plain, path)


def _type(field: ApiField) -> str:
    return (field.type or "a field of another release") + (", required" if field.required else "")


def _of_name(occurrence: Occurrence, known: HoverFacts) -> Iterator[str]:
    name = occurrence.name
    if occurrence.defines and occurrence.path == ("metadata", "name"):
        yield from _of_machine(name, known)
        return
    spec = known.spec_of(name)
    places = known.index.definitions(name)
    if spec is not None and name.kind.endswith(("Instancetype", "Preference")):
        yield f"**{prose(name.name)}** — {name.kind} in {code(places[0].place.file)}" if places else f"**{prose(name.name)}**"
        yield from _of_spec(spec)
    elif places:
        at = places[0].place
        yield f"**{prose(name.name)}** — {name.kind}, defined in {code(at.file)}, line {at.line + 1}"
    elif name.kind in catalogue.KINDS:
        yield from _of_catalogue(name, known.release)


def _of_machine(name: Name, known: HoverFacts) -> Iterator[str]:
    key = name.kind, name.namespace, name.name
    record = known.record_of(key)
    if record is None:
        return
    yield f"**{prose(name.name)}** — {prose(sizes.size(record) or sizes.why_unknown(record))}"
    if given := "" if sizes.size(record) else known.given_of(record):
        yield f"The instancetype {code(record['instancetype'])} gives {prose(given)}"
    if sizes.topology(record):
        yield f"Topology: {prose(sizes.topology(record))}"
    if sizes.pod(record):
        label = "No pod" if record.get("podError") else "Pod requests"
        yield f"{label}: {prose(sizes.pod(record))}"
    status, why = live_migration(record)
    if status:
        yield f"Live migration: {status}{': ' if why else ''}{prose(why)}"
    if change := known.change_of(key):
        yield change


def _of_spec(spec: Object) -> Iterator[str]:
    """The size that an instancetype sets, or the one that a preference requires."""
    for label, part in (("", spec), ("Requires ", as_map(spec.get("requirements")))):
        if words := sizes.of_spec(part):
            yield f"{label}{prose(words)}"
    topology = as_map(spec.get("cpu")).get("preferredCPUTopology")
    if topology:
        yield f"Topology: {code(str(topology))}"


def _of_catalogue(name: Name, release: Release) -> Iterator[str]:
    found = catalogue.of(release)
    try:
        described = view.describe(name.name, release, name.kind)
    except RenderError:
        spans = catalogue.spans(name.kind, name.name)
        if spans:
            yield f"**{prose(name.name)}** is not in the catalogue of KubeVirt {release}."
            yield f"It is in the catalogues of {view.in_words(spans)}."
        return
    yield f"**{prose(name.name)}** — {name.kind} of the catalogue of KubeVirt {release}"
    yield "\n".join(f"- {prose(label)}: {prose(text)}" for label, text in described)
    if found.deprecated(name.kind, name.name):
        yield "**Deprecated** in this release."
    if removed := found.removed_in(name.kind, name.name):
        yield f"Gone since KubeVirt {'.'.join(map(str, removed))}."


MAPS = ("labels", "annotations")
SERVED = tuple(dict.fromkeys(row.kind for row in KINDS))


def completions(outline: Outline, here: Here, line: int, index: NameIndex, release: Release) -> list[Completion]:
    """The words for a place; the editor selects those that begin with what is written."""
    root = outline.object_of(here.entry)
    path = here.entry.path[len(root.path) :]
    around = here.entry
    if here.part == "key" and here.entry.parent:
        path, around = path[:-1], here.entry.parent
    place = _Place(root, path, Span(line=line, start=here.start, end=here.end), index, release)
    found = place.values() if here.part == "value" else place.keys({each.step for each in around.children})
    return list(found)


class _Place:
    """A place in an object, and what is known there."""

    def __init__(self, root: OutlineEntry, path: tuple[Any, ...], span: Span, index: NameIndex, release: Release) -> None:
        self.root, self.path, self.span, self.index, self.release = root, path, span, index, release
        self.group = root.text("apiVersion").rpartition("/")[0]
        self.kind, self.namespace = root.text("kind"), namespace_of(root)
        self.holder = HOLDERS.get((self.group, self.kind))

    def keys(self, present: Collection[Any]) -> Iterator[Completion]:
        """The fields that may be added below the place."""
        if self.path == ("metadata",):
            for name in METADATA:
                if name not in present:
                    yield self._word(name, "field", insert=f"{name}:" if name in MAPS else f"{name}: ")
            return
        for field in fields_at(self.root.text("apiVersion"), self.kind, self.path, self.release):
            if field.name not in present:
                more = ":" if field.is_list or field.is_map else ": "
                detail = field.type + (", required" if field.required else "")
                yield self._word(field.name, "field", detail, insert=field.name + more)

    def values(self) -> Iterator[Completion]:
        """The names or the listed values for the place."""
        if self.path == ("kind",):
            yield from (self._word(kind, "value") for kind in SERVED)
            return
        names = [*self._of_matcher(), *self._inside(), *self._of_objects()]
        yield from names
        field = None if names else field_at(self.root.text("apiVersion"), self.kind, self.path, self.release)
        yield from (self._word(value, "value") for value in (field.values if field else ()))

    def _of_matcher(self) -> Iterator[Completion]:
        if not self.holder or self.holder.vm is None:
            return
        of = next(
            (each for each in MATCHERS if self.holder and self.path[:-1] == self.holder.in_vm(("spec", each.field))), None
        )
        if of is None:
            return
        kind = of.kind_named(self.root.text(*self.path[:-1], "kind"))
        match self.path[-1]:
            case "kind":
                yield from (self._word(each, "value") for each in of.kinds)
            case "revisionName":
                yield from self._named(REVISION)
            case "inferFromVolume":
                for name in inner_names(self.root, self.holder, "volume", defined=True):
                    yield self._word(name, "name", "volume")
            case "name" if kind:
                yield from self._named(kind)
                yield from self._of_catalogue(kind)

    def _named(self, kind: str) -> Iterator[Completion]:
        for name in self.index.names(kind, self.namespace):
            yield self._word(name, "name", kind)

    def _of_catalogue(self, kind: str) -> Iterator[Completion]:
        if kind not in catalogue.KINDS:
            return
        own, found = self.index.names(kind, ""), catalogue.of(self.release)
        for row in view.rows(self.release, kind):
            if row.name not in own:
                size = ", ".join(filter(None, (f"{row.vcpus} vCPUs" if row.vcpus else "", row.memory)))
                deprecated = found.deprecated(kind, row.name)
                yield self._word(row.name, "name", size or "catalogue", deprecated=deprecated)

    def _inside(self) -> Iterator[Completion]:
        """The names of volumes and networks of the same machine."""
        if not self.holder:
            return
        spec = self.holder.in_vm(INSTANCE_SPEC) if self.holder.vm is not None else self.holder.instance
        for kind, defining, referring in INNER:
            for each, defined in ((defining, False), *((place, True) for place in referring)):
                if self.path[:-2] == (*spec, *each) and self.path[-1] == "name":
                    for name in inner_names(self.root, self.holder, kind, defined=defined):
                        yield self._word(name, "name", kind if defined else f"{kind} of a device")

    def _of_objects(self) -> Iterator[Completion]:
        for way, rows in OWNERS.get((self.group, self.kind), ()):
            for row in rows:
                if row.kind and _matches(self.path, (*way, *row.place)):
                    yield from self._named(row.kind)

    def _word(self, label: str, kind: str, detail: str = "", *, insert: str = "", deprecated: bool = False) -> Completion:
        return Completion(label=label, kind=kind, detail=detail, insert=insert, span=self.span, deprecated=deprecated)


def _matches(path: Sequence[Any], pattern: Sequence[Any]) -> bool:
    """True if a path is at a place of a table, where any index stands for each element of a list."""
    if len(path) != len(pattern):
        return False
    return all(
        step == at or (isinstance(step, int) and not isinstance(at, str)) for step, at in zip(path, pattern, strict=True)
    )
