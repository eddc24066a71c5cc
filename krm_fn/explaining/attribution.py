"""Which field gives each value of a rendered VM, and which fields had no say."""

from __future__ import annotations

from krm_fn.base.paths import get, leaves
from krm_fn.base.value import Value
from krm_fn.explaining.machines import Machine, fields
from krm_fn.kubevirt.holders import TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from krm_fn.base.paths import Path
    from krm_fn.explaining.machines import Leaves

VM, INSTANCETYPE, PREFERENCE, PRESET = "vm", "instancetype", "preference", "preset"
CONFIGURATION, DEFAULT = "configuration", "default"
MATCHERS = (INSTANCETYPE, PREFERENCE)
# Fields of one source that are tried. Each needs one rendering; those that KubeVirt deploys have some fifty.
MOST_FIELDS = 300
# Values of one VM that are left out to see who else wanted to give them.
MOST_VALUES = 300
ABSENT: Any = object()


class Source(Value):
    """What gives a value: its kind, one of the words above, and the field there with its value. Defaults have no field."""

    kind: str
    field: Path = ()
    value: Any = None


class Leaf(Value):
    """A value of the rendered VM by its path from the VM's root: who gives it, who else decides it, and who had no say."""

    path: Path
    value: Any
    source: Source
    beside: tuple[Source, ...] = ()
    lost: tuple[tuple[Source, Any], ...] = ()


class Effect(Value):
    """What leaving out one field changes: the values of leaves without it, ABSENT for those that are gone."""

    source: Source
    changes: Leaves


def attributed(machine: Machine, rendered: Leaves) -> Iterator[Leaf]:
    """Each leaf of a rendered VM with its source."""
    written = dict(leaves(machine.vm))
    effects = list(_effects(machine, rendered))
    tried = 0
    for path, value in rendered.items():
        if path in written and same(written[path], value):
            lost: tuple[tuple[Source, Any], ...] = ()
            others = [effect.source for effect in effects if effect.source.kind in MATCHERS and path not in effect.changes]
            if others and tried < MOST_VALUES and path[:2] == TEMPLATE:
                tried += 1
                lost = tuple(_lost(machine, path, others))
            yield Leaf(path=path, value=value, source=Source(kind=VM, field=path, value=value), lost=lost)
            continue
        giving = [effect for effect in effects if path in effect.changes]
        own = [(Source(kind=VM, field=path, value=written[path]), written[path])] if path in written else []
        source, *beside = _ranked(giving, path) or [Source(kind=DEFAULT, value=value)]
        yield Leaf(path=path, value=value, source=source, beside=tuple(beside), lost=tuple(own))


def _ranked(giving: list[Effect], path: Path) -> list[Source]:
    """The sources of a leaf: first those without which there would be none, then those without which it would be another."""
    gone = [effect.source for effect in giving if effect.changes[path] is ABSENT]
    return gone + [effect.source for effect in giving if effect.changes[path] is not ABSENT]


def _effects(machine: Machine, rendered: Leaves) -> Iterator[Effect]:
    for kind in MATCHERS:
        found = getattr(machine.resolution, kind)
        for field in fields(found.spec)[:MOST_FIELDS] if found else ():
            source = Source(kind=kind, field=field, value=get(found.spec, field))
            yield Effect(source=source, changes=_changes(machine.without_field(kind, field), rendered))
    if machine.analysis.presets:
        yield Effect(source=Source(kind=PRESET), changes=_changes(machine.without_presets(), rendered))
    configuration = machine.analysis.cluster.configuration
    for field in fields(configuration)[:MOST_FIELDS] if configuration else ():
        source = Source(kind=CONFIGURATION, field=field, value=get(configuration, field))
        yield Effect(source=source, changes=_changes(machine.without_setting(field), rendered))


def _changes(other: Machine, rendered: Leaves) -> Leaves:
    """The leaves that differ in another rendering, with their values there; none where that is not possible."""
    found = other.leaves()
    if found is None:
        return {}
    return {path: found.get(path, ABSENT) for path, value in rendered.items() if not same(found.get(path, ABSENT), value)}


def _lost(machine: Machine, path: Path, others: list[Source]) -> Iterator[tuple[Source, Any]]:
    """The fields of `others` that would give a value where the VM has its own, each with that value."""
    if not isinstance(path[-1], str):
        return
    freed = machine.without_value(path)
    found = freed.leaves()
    given = found.get(path, ABSENT) if found else ABSENT
    if found is None or given is ABSENT or same(given, get(machine.vm, path)):
        return
    for source in others:
        changed = freed.without_field(source.kind, source.field).leaves()
        if changed is not None and not same(changed.get(path, ABSENT), given):
            yield source, given


def same(one: Any, other: Any) -> bool:
    """True for equal values of one type: 1 is not true."""
    return type(one) is type(other) and one == other
