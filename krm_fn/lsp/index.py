"""The named objects of a workspace and the references between them, with their places in the files.

Patches and bases count as well: the index is made from the lines of the files, not from what is built of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from krm_fn.base.bundle import CLUSTER_KINDS, DEFAULT_NAMESPACE
from krm_fn.base.paths import Path, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.holders import DATA_VOLUMES, HOLDERS, INSTANCE_SPEC, Holder
from krm_fn.kubevirt.resolve.matcher import MATCHERS
from krm_fn.rules.shared.object_references import OWNERS, places_of, tree_of, wanted

if TYPE_CHECKING:
    from krm_fn.lsp.outline import Outline, OutlineEntry


REVISION = "ControllerRevision"
# Kinds of which one stands for the other: a DataVolume makes a claim of its name.
SAME = {"DataVolume": "PersistentVolumeClaim"}
# Names inside one machine: the list that defines them, and the lists that refer to them, below the instance's spec.
INNER = (
    ("volume", ("volumes",), (("domain", "devices", "disks"), ("domain", "devices", "filesystems"))),
    ("network", ("networks",), (("domain", "devices", "interfaces"),)),
)


class Name(Value):
    """What a name stands for: a kind, a namespace ("" for cluster-wide ones), and the name itself."""

    kind: str
    namespace: str
    name: str


class NamePlace(Value):
    """A name in a file: its line, and the columns where it starts and ends."""

    file: str
    line: int
    start: int
    end: int


class Occurrence(Value):
    """A name at a place; `defines` is True where the object itself has it. `path` leads there from the object's root."""

    name: Name
    place: NamePlace
    path: Path
    defines: bool = False


def occurrences(file: str, outline: Outline) -> Iterator[Occurrence]:
    """All names in a file."""
    for root in outline.objects:
        yield from _of_object(file, root)


class NameIndex:
    """The names of all files."""

    def __init__(self, by_file: Mapping[str, Iterable[Occurrence]]) -> None:
        self._by_name: dict[Name, list[Occurrence]] = {}
        self._by_file = {file: list(found) for file, found in by_file.items()}
        for found in self._by_file.values():
            for each in found:
                self._by_name.setdefault(_canonical(each.name), []).append(each)

    def at(self, file: str, line: int, character: int) -> Occurrence | None:
        """The name at a place."""
        for each in self._by_file.get(file, ()):
            if each.place.line == line and each.place.start <= character <= each.place.end:
                return each
        return None

    def definitions(self, name: Name) -> list[Occurrence]:
        """Where a name is defined."""
        return [each for each in self._by_name.get(_canonical(name), ()) if each.defines]

    def references(self, name: Name) -> list[Occurrence]:
        """Where a name is used."""
        return [each for each in self._by_name.get(_canonical(name), ()) if not each.defines]

    def names(self, kind: str, namespace: str) -> list[str]:
        """The names of a kind that are defined in a namespace, sorted."""
        wanted_kind = SAME.get(kind, kind)
        place = "" if kind in CLUSTER_KINDS else namespace
        return sorted({name.name for name in self._defined() if (name.kind, name.namespace) == (wanted_kind, place)})

    def _defined(self) -> Iterator[Name]:
        return (name for name, found in self._by_name.items() if any(each.defines for each in found))


def _canonical(name: Name) -> Name:
    return name.but(kind=SAME[name.kind]) if name.kind in SAME else name


def namespace_of(root: OutlineEntry, kind: str = "") -> str:
    """The namespace of an object; "" if its kind is cluster-wide."""
    return "" if kind in CLUSTER_KINDS else root.text("metadata", "namespace") or DEFAULT_NAMESPACE


def _group(root: OutlineEntry) -> str:
    group, slash, _ = root.text("apiVersion").rpartition("/")
    return group if slash else ""


def _of_object(file: str, root: OutlineEntry) -> Iterator[Occurrence]:
    kind, own = root.text("kind"), root.at(("metadata", "name"))
    if own and own.value:
        yield _occurrence(file, own, Name(kind=kind, namespace=namespace_of(root, kind), name=own.value), defines=True)
    rows = OWNERS.get((_group(root), kind))
    if rows:
        obj = root.plain
        for path, row, around in places_of(obj, tree_of(rows)):
            found = wanted(row, around, path[-1], namespace_of(root))
            entry = root.at(path)
            if found and entry:
                yield _occurrence(file, entry, Name(kind=found[0], namespace=found[1], name=found[2]))
    holder = HOLDERS.get((_group(root), kind))
    if holder and holder.vm is not None:
        yield from _of_vm(file, root, holder)
    if holder:
        yield from _inner(file, root, holder)


def _of_vm(file: str, root: OutlineEntry, holder: Holder) -> Iterator[Occurrence]:
    """The matchers of a VM, and the names of its templates for DataVolumes."""
    for matcher in MATCHERS:
        at = holder.in_vm(("spec", matcher.field))
        kind = matcher.kind_named(root.text(*at, "kind"))
        for key, of in (("name", kind), ("revisionName", REVISION)):
            entry = root.at((*at, key))
            if entry and entry.value and of:
                yield _occurrence(file, entry, Name(kind=of, namespace=namespace_of(root, of), name=entry.value))
    templates = root.at(holder.in_vm(DATA_VOLUMES))
    for each in templates.children if templates else ():
        entry = each.at(("metadata", "name"))
        if entry and entry.value:
            name = Name(kind="DataVolume", namespace=namespace_of(root), name=entry.value)
            yield _occurrence(file, entry, name, defines=True)


def _inner(file: str, root: OutlineEntry, holder: Holder) -> Iterator[Occurrence]:
    """The names of volumes and networks, which are known inside one machine only."""
    spec = holder.in_vm(INSTANCE_SPEC) if holder.vm is not None else holder.instance
    machine = f"{root.text('kind')}/{namespace_of(root)}/{root.text('metadata', 'name')}@{file}:{root.line}"
    for kind, defining, referring in INNER:
        for lists, defines in (((defining,), True), (referring, False)):
            for each in lists:
                found = root.at((*spec, *each))
                for element in found.children if found else ():
                    entry = element.child("name")
                    if entry and entry.value:
                        yield _occurrence(file, entry, Name(kind=kind, namespace=machine, name=entry.value), defines=defines)


def inner_names(root: OutlineEntry, holder: Holder, kind: str, *, defined: bool) -> list[str]:
    """The names of volumes or networks in one machine: those that are defined, or those that are referred to."""
    spec = holder.in_vm(INSTANCE_SPEC) if holder.vm is not None else holder.instance
    row = next(each for each in INNER if each[0] == kind)
    found: dict[str, None] = {}
    for path in (row[1],) if defined else row[2]:
        names = get(root.plain, (*spec, *path))
        for each in names if isinstance(names, list) else ():
            name: Any = each.get("name") if isinstance(each, dict) else None
            if isinstance(name, str) and name:
                found[name] = None
    return list(found)


def _occurrence(file: str, entry: OutlineEntry, name: Name, *, defines: bool = False) -> Occurrence:
    place = NamePlace(file=file, line=entry.line, start=entry.start, end=entry.end)
    return Occurrence(name=name, place=place, path=entry.path, defines=defines)
