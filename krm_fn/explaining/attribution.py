"""Which field gives each value of a rendered VM, and which fields had no say."""

from __future__ import annotations

from krm_fn.base.paths import get
from krm_fn.base.value import Value
from krm_fn.explaining.inputs import INSTANCETYPE, MATCHERS, PRESET
from krm_fn.explaining.machines import ABSENT, differences, flat
from krm_fn.kubevirt.holders import DOMAIN, INSTANCE_SPEC, TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.explaining.inputs import Input
    from krm_fn.explaining.machines import Leaves, Machine, Removal

OWN, DEFAULT = -1, -2  # in place of the number of an input: the object itself, and KubeVirt's defaults
# Values of one VM that are left out to see who else wanted to give them.
MOST_VALUES = 300
SOFT = (*MATCHERS, PRESET)  # the inputs whose fields a VM's own value replaces
SAME_BY_DEFAULT, SAME_BY_ANOTHER, SAME_BY_LAYOUT = "default", "another", "layout"
CPU = (*DOMAIN, "cpu")
TOPOLOGY = ("sockets", "cores", "threads")


class Source(Value):
    """What gives a value: the number of an input, OWN or DEFAULT, and the path of a field there.

    `same` says what gives the same value without this field: "another" source, KubeVirt's "default", or the "layout" of any
    number of vCPUs; "" if nothing does.
    """

    number: int
    path: Path = ()
    same: str = ""


class Given(Value):
    """Who gives a value, who else decides it, and who had no say, each of these with the value that it wanted."""

    source: Source
    beside: tuple[Source, ...] = ()
    lost: tuple[tuple[Source, Any], ...] = ()


class Effect(Value):
    """What leaving out one field changes: the values of leaves without it, ABSENT for those that are gone."""

    removal: Removal
    changes: Leaves


def attributed(machine: Machine, rendered: Object) -> dict[Path, Given]:
    """For each leaf of a rendered object who gives it."""
    return _Attribution(machine, rendered).found()


class _Attribution:
    def __init__(self, machine: Machine, rendered: Object) -> None:
        self._machine, self._rendered = machine, rendered
        self._leaves, self._written = flat(rendered), flat(machine.entry.obj)
        self._removals = [(number, path) for number, each in enumerate(machine.inputs) for path in self._paths(number, each)]
        self._steps: dict[tuple[int, bool], Object | None] = {}

    def _paths(self, number: int, given: Input) -> Sequence[Path]:
        """The fields of an input. Of a cluster's settings most have no effect: those below a key are left out together."""
        if given.kind in SOFT:
            return given.paths
        keys = dict.fromkeys(path[0] for path in given.paths)
        mattering = {key for key in keys if self._changes([(number, (key,))])}
        return [path for path in given.paths if path[0] in mattering]

    def found(self) -> dict[Path, Given]:
        effects = list(self._effects())
        own = [path for path, value in self._leaves.items() if path in self._written and same(self._written[path], value)]
        lost = self._lost([path for path in own if self._may_lose(path)], effects)
        given = {path: Given(source=Source(number=OWN, path=path), lost=lost.get(path, ())) for path in own}
        return {path: given.get(path) or self._given(path, effects) for path in self._leaves}

    def _effects(self) -> Iterator[Effect]:
        """What each field changes. Fields without which the object can't be rendered come last in what is left out together."""
        needed = []
        for removal in self._removals:
            other = self._machine.without([removal])
            changes = differences(self._rendered, other) if other is not None else {}
            if other is None:
                needed.append(removal)
            elif changes:
                yield Effect(removal=removal, changes=changes)
        self._removals = [each for each in self._removals if each not in needed] + needed

    def _given(self, path: Path, effects: Sequence[Effect]) -> Given:
        """Who gives a value that is not the object's own, or no longer as it was written."""
        giving = [effect for effect in effects if path in effect.changes]
        source, *beside = self._ranked(giving, path) or [self._hidden(path)]
        lost: tuple[tuple[Source, Any], ...] = ()
        if path in self._written and source.number != OWN:
            lost = ((Source(number=OWN, path=path), self._written[path]),)
        return Given(source=source, beside=tuple(beside), lost=lost)

    def _ranked(self, giving: Sequence[Effect], path: Path) -> list[Source]:
        """The sources of a leaf: first those with its value, then those without which there would be none."""
        value = self._leaves[path]

        def rank(effect: Effect) -> int:
            number, at = effect.removal
            return 0 if same(get(self._machine.inputs[number].tree, at), value) else 1 if effect.changes[path] is ABSENT else 2

        return [Source(number=each.removal[0], path=each.removal[1]) for each in sorted(giving, key=rank)]

    def _hidden(self, path: Path) -> Source:
        """The source of a value that stays without any single field: another one, or a default, gives the same."""
        laid_out = self._layout(path)
        if laid_out:
            return laid_out
        for defaults, why in ((True, SAME_BY_ANOTHER), (False, SAME_BY_DEFAULT)):
            number = self._first_step(path, defaults=defaults)
            if number:
                removal = self._removals[number - 1]
                return Source(number=removal[0], path=removal[1], same=why)
        freed = self._machine.without(own=[path]) if path in self._written and isinstance(path[-1], str) else None
        is_own = freed is not None and path in differences(self._rendered, freed)
        return Source(number=OWN, path=path) if is_own else Source(number=DEFAULT)

    def _layout(self, path: Path) -> Source | None:
        """For sockets, cores and threads, the number of vCPUs: the three are written together."""
        if path[len(self._machine.prefix) : -1] != CPU or path[-1] not in TOPOLOGY or not self._machine.resolution:
            return None
        sized = (each for each in self._removals if self._machine.inputs[each[0]].kind == INSTANCETYPE)
        removal = next((each for each in sized if each[1][-2:] == ("cpu", "guest")), None)
        if removal is None:
            return None
        bare, without = (self._machine.without(each, defaults=False) for each in ([], [removal]))
        differs = bare is not None and without is not None and path in differences(bare, without)
        return Source(number=removal[0], path=removal[1], same=SAME_BY_DEFAULT if differs else SAME_BY_LAYOUT)

    def _first_step(self, path: Path, *, defaults: bool) -> int:
        """How many fields in order must be left out together until a leaf is another one; 0 if that never happens."""
        low, high = 0, len(self._removals)
        if not high or not self._holds(0, path, defaults=defaults) or self._holds(high, path, defaults=defaults):
            return 0
        while high - low > 1:
            middle = (low + high) // 2
            if self._holds(middle, path, defaults=defaults):
                low = middle
            else:
                high = middle
        return high

    def _holds(self, number: int, path: Path, *, defaults: bool) -> bool:
        """True if a leaf has its value without the first fields. What can't be rendered tells nothing."""
        key = number, defaults
        if key not in self._steps:
            self._steps[key] = self._machine.without(self._removals[:number], defaults=defaults)
        other = self._steps[key]
        return other is None or same(get(other, path, ABSENT), self._leaves[path])

    def _changes(self, removed: Sequence[Removal]) -> Leaves:
        """The leaves that differ without some fields; none where that can't be rendered."""
        other = self._machine.without(removed)
        return {} if other is None else differences(self._rendered, other)

    def _may_lose(self, path: Path) -> bool:
        """True for a value that a preference may want to give, if the object does not have it."""
        inner = path[len(self._machine.prefix) :]
        where = inner if self._machine.resolution else (*TEMPLATE, *inner)
        if not isinstance(path[-1], str) or path[-1] == "name" or isinstance(self._leaves[path], dict | list):
            return False
        in_spec = where[:3] == INSTANCE_SPEC and (len(where) == len(INSTANCE_SPEC) + 1 or where[3] == "domain")
        return in_spec or where[:4] == (*TEMPLATE, "metadata", "annotations")

    def _lost(self, paths: Sequence[Path], effects: Sequence[Effect]) -> dict[Path, tuple[tuple[Source, Any], ...]]:
        """The fields that would give a value where the object has its own, each with that value."""
        removals = [each for each in self._removals if self._machine.inputs[each[0]].kind in SOFT]
        if not removals or not paths:
            return {}
        found: dict[Path, list[tuple[Source, Any]]] = {}
        for group in self._groups(paths[:MOST_VALUES]):
            for path, source, value in self._wanting(group, removals, effects):
                found.setdefault(path, []).append((source, value))
        return {path: tuple(wanted) for path, wanted in found.items()}

    def _groups(self, paths: Sequence[Path]) -> Sequence[Sequence[Path]]:
        """All paths together if the object can be rendered without their values, else one by one."""
        return [paths] if self._machine.without(own=paths) is not None else [[path] for path in paths]

    def _wanting(
        self, group: Sequence[Path], removals: Sequence[Removal], effects: Sequence[Effect]
    ) -> Iterator[tuple[Path, Source, Any]]:
        freed = self._machine.without(own=group)
        given = {path: get(freed, path, ABSENT) for path in group} if freed is not None else {}
        again = {path: value for path, value in given.items() if value is not ABSENT and not same(value, self._leaves[path])}
        deciding = {(effect.removal, path) for effect in effects for path in effect.changes if path in again}
        for removal in removals if again else ():
            other = self._machine.without([removal], own=group)
            for path, value in again.items() if other is not None else ():
                if not same(get(other, path, ABSENT), value) and (removal, path) not in deciding:
                    yield path, Source(number=removal[0], path=removal[1]), value


def same(one: Any, other: Any) -> bool:
    """True for equal values of one type: 1 is not true."""
    return type(one) is type(other) and one == other
