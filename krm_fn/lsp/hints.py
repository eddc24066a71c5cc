"""Sizes behind the names of machines and of their instancetypes: what is effective, where the file has a reference only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.kubevirt.holders import HOLDERS
from krm_fn.lsp import sizes
from krm_fn.lsp.answers import Hint
from krm_fn.lsp.index import namespace_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from krm_fn.base.objects import Object
    from krm_fn.lsp.outline import Entry, Outline
    from krm_fn.lsp.sizes import Key


def hints(
    outline: Outline, record_of: Callable[[Key], Object | None], first: int, last: int, given: Callable[[Object], str]
) -> Iterator[Hint]:
    """The hints between two lines, both included.

    `record_of` returns what `capacity` says of a machine, `given` the size that the instancetype of a machine's record gives:
    it is shown for a machine that is refused.
    """
    for root in outline.objects:
        if root.line > last or root.last < first:
            continue
        holder = HOLDERS.get((root.text("apiVersion").rpartition("/")[0], root.text("kind")))
        name = root.at(("metadata", "name"))
        record = record_of((root.text("kind"), namespace_of(root), name.value)) if holder and name else None
        if not holder or not record or not name:
            continue
        if words := sizes.size(record) or given(record):
            matcher = root.at((*holder.in_vm(("spec", "instancetype")), "name")) if holder.vm is not None else None
            yield from _hint(matcher or name, words, first, last)
        if topology := sizes.topology(record):
            preference = root.at((*holder.in_vm(("spec", "preference")), "name")) if holder.vm is not None else None
            yield from _hint(preference, topology, first, last)


def _hint(entry: Entry | None, text: str, first: int, last: int) -> Iterator[Hint]:
    if entry and first <= entry.line <= last:
        yield Hint(line=entry.line, character=entry.end, text=text)
