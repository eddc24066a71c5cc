"""The objects of a file and their named parts, for an editor's outline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from krm_fn.kubevirt.holders import DATA_VOLUMES, DOMAIN, HOLDERS, INSTANCE_SPEC
from krm_fn.lsp.answers import Span, Symbol

if TYPE_CHECKING:
    from krm_fn.lsp.outline import Outline, OutlineEntry


# Lists of named parts in a VM.
PARTS = (
    ("disk", (*DOMAIN, "devices", "disks")),
    ("interface", (*DOMAIN, "devices", "interfaces")),
    ("volume", (*INSTANCE_SPEC, "volumes")),
    ("network", (*INSTANCE_SPEC, "networks")),
)


def symbols(outline: Outline) -> Iterator[Symbol]:
    """The objects of a file, in order."""
    for root in outline.objects:
        kind = root.text("kind")
        if kind:
            name = root.at(("metadata", "name"))
            at = name if name and name.value else root.child("kind")
            yield _symbol(root, name.value if name and name.value else kind, kind, at or root, tuple(_parts(root)))


def _parts(root: OutlineEntry) -> Iterator[Symbol]:
    holder = HOLDERS.get((root.text("apiVersion").rpartition("/")[0], root.text("kind")))
    if holder is None or holder.vm is None:
        return
    for word, place in PARTS:
        found = root.at(holder.in_vm(place))
        for each in found.children if found else ():
            if each.text("name"):
                yield _symbol(each, each.text("name"), word, each.child("name") or each)
    templates = root.at(holder.in_vm(DATA_VOLUMES))
    for each in templates.children if templates else ():
        name = each.at(("metadata", "name"))
        if name and name.value:
            yield _symbol(each, name.value, "dataVolumeTemplate", name)


def _symbol(entry: OutlineEntry, name: str, detail: str, at: OutlineEntry, children: tuple[Symbol, ...] = ()) -> Symbol:
    span = Span(line=at.line, start=at.start, end=max(at.end, at.start))
    return Symbol(name=name, detail=detail, first=entry.line, last=entry.last, span=span, children=children)
