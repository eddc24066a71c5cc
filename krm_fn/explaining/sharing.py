"""Sources that VMs have in common: those of a VM that only differs in names and texts from an earlier one are not found again.

Finding the sources of a VM takes a rendering for each field of its instancetype and preference. Rendering reads none of the
texts of `pipeline.own_texts`, so VMs that differ only in these have the same sources.
"""

from __future__ import annotations

from krm_fn.base.paths import get, leaves
from krm_fn.explaining.attribution import DEFAULT, VM, Leaf, Source, attributed, same
from krm_fn.pipeline.equivalents import dumped, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from krm_fn.base.paths import Path
    from krm_fn.explaining.machines import Leaves, Machine

    Key = tuple[Any, ...]

# Rendering compares these with those of the instancetype, so they are no mere text.
ANNOTATIONS = ("spec", "template", "metadata", "annotations")
REMEMBERED = 5_000


class Sharing:
    """The sources of the VMs of one bundle. VMs of which rendering reads the same share them."""

    def __init__(self) -> None:
        self._known: dict[Key, tuple[Machine, dict[Path, Leaf]]] = {}

    def leaves(self, machine: Machine, rendered: Leaves) -> Sequence[Leaf]:
        """The leaves of a rendered VM with their sources."""
        key = _key(machine)
        _, first = self._known.get(key, (None, None)) if key else (None, None)
        repeated = list(_repeated(first, machine, rendered)) if first else []
        if len(repeated) == len(rendered):
            return repeated
        found = list(attributed(machine, rendered))
        if key and len(self._known) < REMEMBERED:
            self._known[key] = machine, {leaf.path: leaf for leaf in found}  # a machine that is kept keeps its ids
        return found


def _key(machine: Machine) -> Key | None:
    """What rendering reads of a VM; None if it can't be told: presets read labels, and inference reads names."""
    resolution = machine.resolution
    if machine.analysis.presets or resolution.errors or resolution.vm is not machine.vm:
        return None
    data = dumped([read(machine.vm, {}), get(machine.vm, ANNOTATIONS)])
    found = resolution.instancetype, resolution.preference
    return (data, *(each and (id(each.spec), each.table) for each in found)) if data else None


def _repeated(first: dict[Path, Leaf], machine: Machine, rendered: Leaves) -> Iterator[Leaf]:
    """The leaves with the sources of an earlier VM; it stops at one that does not fit."""
    written = dict(leaves(machine.vm))
    for path, value in rendered.items():
        own = path in written and same(written[path], value)
        as_written = Source(kind=VM, field=path, value=value)
        leaf = first.get(path) or Leaf(path=path, value=value, source=as_written)  # no other VM need have the label
        if own != (leaf.source.kind == VM):
            return
        if own:
            yield leaf.but(value=value, source=as_written)
            continue
        source = leaf.source.but(value=value) if leaf.source.kind == DEFAULT else leaf.source
        lost = ((Source(kind=VM, field=path, value=written[path]), written[path]),) if path in written else ()
        yield leaf.but(value=value, source=source, lost=lost)
