"""What an editor shows about the word under the cursor, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krm_fn.base.errors import RenderError
from krm_fn.base.markdown import code, prose
from krm_fn.base.objects import Object
from krm_fn.base.paths import as_map
from krm_fn.kubevirt import catalogue
from krm_fn.kubevirt.catalogue import KINDS, view
from krm_fn.kubevirt.holders import HOLDERS
from krm_fn.kubevirt.releases import Release
from krm_fn.lsp import givers, sizes
from krm_fn.lsp.answers import Hover, Span
from krm_fn.lsp.api import ApiField, field_at
from krm_fn.lsp.givers import ExplainedMachine
from krm_fn.lsp.index import Name, NameIndex, Occurrence, namespace_of
from krm_fn.lsp.sizes import Key
from krm_fn.sizing.rows import live_migration

if TYPE_CHECKING:
    from krm_fn.lsp.outline import Here, Outline


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
    elif name.kind in KINDS:
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
