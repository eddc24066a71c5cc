"""The words that fit at the cursor: names, fields and values."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from krm_fn.kubevirt import catalogue
from krm_fn.kubevirt.catalogue import view
from krm_fn.kubevirt.holders import HOLDERS, INSTANCE_SPEC
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.resolve.matcher import MATCHERS
from krm_fn.kubevirt.schema.kinds import KINDS
from krm_fn.lsp.answers import Completion, Span
from krm_fn.lsp.api import METADATA, field_at, fields_at
from krm_fn.lsp.index import INNER, REVISION, NameIndex, inner_names, namespace_of
from krm_fn.rules.shared.object_references import OWNERS

if TYPE_CHECKING:
    from krm_fn.lsp.outline import Here, Outline, OutlineEntry


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
