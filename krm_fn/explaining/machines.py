"""One VM, pool, replica set or instance, rendered again and again with parts left out."""

from __future__ import annotations

from functools import partial

from krm_fn.base.errors import InputError
from krm_fn.base.paths import SCALARS, get, put_in
from krm_fn.explaining.inputs import PRESET, changed, without, world_of
from krm_fn.findings.limits import Budget
from krm_fn.pipeline import instances

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.explaining.inputs import Inputs, World
    from krm_fn.kubevirt.facts import Resolution
    from krm_fn.pipeline.analysis import Analysis

    Leaves = dict[Path, Any]
    Removal = tuple[int, Path]  # the number of an input, and the path of a field in it
ABSENT: Any = object()
# The first rendering of each VM is counted; those without a field are as many as it has fields.
ENDLESS = Budget(1 << 62, "")


class Machine:
    """An object and what it is rendered with. `prefix` is the path of the VM in it; there is no `resolution` without a VM."""

    def __init__(self, entry: Entry, prefix: Path, resolution: Resolution | None, inputs: Inputs) -> None:
        self.analysis, self.entry, self.prefix, self.resolution = inputs.narrowed(entry), entry, prefix, resolution
        self.inputs = inputs.of(entry, resolution)
        self._count = partial(inputs.count, sum(each.kind == PRESET for each in self.inputs))
        self._world = world_of(self.analysis.but(given=ENDLESS), resolution)

    def rendered(self) -> Object | None:
        """The rendered object; None if it can't be rendered."""
        return _rendered(self._world.but(analysis=self.analysis), self.entry, self.prefix)

    def without(self, removed: Iterable[Removal] = (), own: Iterable[Path] = (), *, defaults: bool = True) -> Object | None:
        """The object rendered without fields of inputs, and without values of its own; None if that can't be done.

        `defaults`: KubeVirt's defaults are written, too, if the config asks for them. Raises: InputError.
        """
        self._count()
        trees: dict[int, Any] = {}
        for number, path in removed:
            trees[number] = without(trees.get(number, self.inputs[number].tree), path)
        world = changed(self._world, [(self.inputs[number], tree) for number, tree in trees.items()])
        if world is None:
            return None
        if not defaults:
            analysis = world.analysis
            world = world.but(analysis=analysis.but(settings=analysis.settings.but(defaults="none")))
        entry, world = self._freed(world, own)
        return _rendered(world, entry, self.prefix)

    def _freed(self, world: World, own: Iterable[Path]) -> tuple[Entry, World]:
        """The object and the world without values of the object's own."""
        obj, resolution, start = self.entry.obj, world.resolution, len(self.prefix)
        vm = resolution.vm if resolution else None
        for path in own:
            obj, vm = _without_own(obj, path), _without_own(vm, path[start:])
        if obj is self.entry.obj:
            return self.entry, world
        return self.entry.but(obj=obj), world.but(resolution=resolution.but(vm=vm) if resolution else None)


def _without_own(value: Any, path: Path) -> Any:
    """A value without the one at a path of maps and lists, whose last step is a key."""
    holder = get(value, path[:-1])
    if not isinstance(holder, dict) or path[-1] not in holder:
        return value
    return put_in(value, path[:-1], {key: below for key, below in holder.items() if key != path[-1]})


def _rendered(world: World, entry: Entry, prefix: Path) -> Object | None:
    analysis, resolution = world.analysis, world.resolution
    try:
        if resolution is None:
            found = instances.of_entry(analysis, entry) if analysis.presets else None
            return found.rendered if found else entry.obj
        vm = get(entry.obj, prefix)
        facts = analysis.of_vm(entry, prefix, vm, resolution)
        if facts.rendered is None:
            return None
        if analysis.starts_instances:
            facts = instances.with_start(analysis, facts)
        if analysis.settings.patches:
            return _patched(analysis, entry, facts)
    except InputError:  # a budget is spent
        return None
    whole: Object = put_in(entry.obj, prefix, facts.rendered)
    return whole


def _patched(analysis: Analysis, entry: Entry, facts: Any) -> Object | None:
    """The object after the patches of the config; None if one of them can't be applied."""
    from krm_fn.pipeline.patching import with_patches  # few configs have some

    of_one = analysis.facts(vms=(facts,))
    found = with_patches(of_one, of_one, again=False)
    if found.unpatched:
        return None
    whole: Object = found.patched[0].obj if found.patched else put_in(entry.obj, facts.prefix, facts.rendered)
    return whole


def flat(value: Any) -> Leaves:
    """The leaves of a value by their paths, in order: values that are no map and no list, and empty maps and lists."""
    found: Leaves = {}
    _flatten(value, (), found)
    return found


def _flatten(value: Any, path: Path, found: Leaves) -> None:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not below or not value:
        found[path] = value
        return
    for key, each in below:
        if each.__class__ in SCALARS:
            found[(*path, key)] = each
        else:
            _flatten(each, (*path, key), found)


def differences(value: Any, other: Any) -> Leaves:
    """The leaves of a value that another value does not have, each with the other's value there, or ABSENT."""
    found: Leaves = {}
    _compare(value, other, (), found)
    return found


def _compare(value: Any, other: Any, path: Path, found: Leaves) -> None:
    if type(value) is type(other) and value == other:  # a comparison in C; most parts are equal
        return
    if isinstance(value, dict) and value:
        inside = other if isinstance(other, dict) else {}
        for key, each in value.items():
            _compare(each, inside.get(key, ABSENT), (*path, key), found)
    elif isinstance(value, list) and value:
        entries = other if isinstance(other, list) else []
        for index, each in enumerate(value):
            _compare(each, entries[index] if index < len(entries) else ABSENT, (*path, index), found)
    else:
        found[path] = other
