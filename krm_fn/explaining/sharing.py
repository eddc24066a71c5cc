"""VMs that differ only in texts of their own, such as names and addresses: who gives their values is found once."""

from __future__ import annotations

from krm_fn.explaining.attribution import OWN, Given, Source, attributed, same
from krm_fn.explaining.machines import flat
from krm_fn.pipeline.equivalents import dumped, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.explaining.machines import Leaves, Machine

    Attribution = dict[Path, Given]
REMEMBERED = 5_000


class Attributions:
    """Who gives the values of the VMs of one bundle."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Attribution] = {}
        self._kept: list[Any] = []  # a kept tree keeps its id

    def of(self, machine: Machine, rendered: Object) -> tuple[Leaves, Attribution]:
        """The leaves of a rendered object, and for each of them who gives it."""
        found, key = flat(rendered), self._key(machine)
        if key is None:
            return found, attributed(machine, rendered)
        repeated = _repeated(self._known[key], found, machine) if key in self._known else None
        if repeated is not None:
            return found, repeated
        if len(self._known) >= REMEMBERED:
            self._known.clear()
            self._kept.clear()
        self._known[key] = attributed(machine, rendered)
        self._kept += [each.tree for each in machine.inputs]
        return found, self._known[key]

    def _key(self, machine: Machine) -> tuple[Any, ...] | None:
        """All that decides who gives a value; None if that may be more than is compared here.

        Presets and patches are for objects with certain labels and names.
        """
        analysis, resolution = machine.analysis, machine.resolution
        if resolution is None or machine.prefix or analysis.presets or analysis.settings.patches:
            return None
        vm = dumped(read(resolution.vm, {}))
        return None if vm is None else (vm, *((each.kind, id(each.tree)) for each in machine.inputs))


def _repeated(known: Attribution, found: Leaves, machine: Machine) -> Attribution | None:
    """The attribution of a VM that repeats another one; None if it has a value that is not its own and that the other lacks."""
    written, attribution = flat(machine.entry.obj), {}
    for path, value in found.items():
        given = known.get(path)
        own = path in written and same(written[path], value)
        if given is None or own is not (given.source.number == OWN):
            if not own:
                return None
            given = Given(source=Source(number=OWN, path=path))
        attribution[path] = given
    return attribution
