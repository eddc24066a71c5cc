"""An estimate of the nodes that machines need: first fit, and those first that fit on the fewest shapes, then the largest.

Equal nodes and equal machines are counted, not listed, so a pool of a million machines takes no longer than one of ten.
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterable, Sequence
from krm_fn.base.quantity import NANO, Quantity
from krm_fn.base.value import Value
from krm_fn.sizing.demands import identity
from krm_fn.sizing.fitting import Fits, Needs, needs_of, numbers
from krm_fn.sizing.nodes import NodeShape
from krm_fn.sizing.rows import GIB_PER_CPU, Sized


class Misfit(Value):
    """A demand that fits on no node. `why` has each obstacle with the number of shapes that have it, most frequent first."""

    sized: Sized
    needs: Needs
    why: tuple[tuple[tuple[str, str], int], ...]


class NodeUse(Value):
    """The nodes of one name: how many there are (None: as many as needed), are needed, and what is left on the latter."""

    name: str
    nodes: int | None
    needed: int = 0
    machines: int = 0
    free: dict[str, int] = {}  # noqa: RUF012  nobody writes into a Value


class Placement(Value):
    """Where the machines run: nodes by name, demands that fit on no node, and how many machines find no room.

    `lost` are the machines that find no room on the others once the worst of the nodes is gone, which `worst` names.
    """

    uses: tuple[NodeUse, ...]
    misfits: tuple[Misfit, ...]
    without_room: tuple[tuple[Sized, int], ...]
    worst: str = ""
    lost: tuple[tuple[Sized, int], ...] = ()


class NodeRun:
    """Some equal nodes in a row, with what is free on each and how many machines of which groups each has."""

    def __init__(
        self, shape: NodeShape, count: int | None, free: dict[str, int], held: tuple[tuple[str, int], ...] = ()
    ) -> None:
        self.shape, self.count, self.free, self.held = shape, count, free, held
        self.machines = sum(number for _, number in held)

    def holds(self, amounts: dict[str, int]) -> int:
        """How many more machines of these needs one node can take."""
        most = 0
        for name, need in amounts.items():
            if self.shape.counts(name):
                room = self.free.get(name, 0) // need
                if not room:
                    return 0
                most = min(most, room) if most else room
        return most

    def filled(self, needs: Needs, number: int, nodes: int) -> NodeRun:
        """So many of the nodes with so many more machines on each."""
        free = {name: left - needs.amounts.get(name, 0) * number for name, left in self.free.items()}
        return NodeRun(self.shape, nodes, free, (*self.held, (needs.key, number)))

    def fewer(self) -> NodeRun:
        """One node less."""
        return NodeRun(self.shape, None if self.count is None else self.count - 1, self.free, self.held)


class MachineGroup(Value):
    """Machines that the scheduler does not distinguish, and the set of shapes on which one fits."""

    needs: Needs
    members: tuple[Sized, ...]
    shapes: int

    @property
    def order(self) -> tuple[int, int, str]:
        amounts = self.needs.amounts
        weight = amounts.get("cpu", 0) + amounts.get("memory", 0) // (GIB_PER_CPU << 30)
        return self.shapes.bit_count(), -weight, self.needs.key


def placed(sized: Iterable[Sized], shapes: Sequence[NodeShape]) -> Placement:
    """The placement of all machines that have a pod."""
    misfits: list[Misfit] = []
    groups: list[MachineGroup] = []
    fits = Fits(shapes)
    for needs, members in _alike(sized):
        fitting = fits.on(needs)
        if fitting:
            groups.append(MachineGroup(needs=needs, members=tuple(members), shapes=fitting))
        else:
            why = _frequent(fits.obstacles(needs))
            misfits += [Misfit(sized=each, needs=needs, why=why) for each in members]
    nodes = Nodes(shapes)
    lacking: list[tuple[Sized, int]] = []
    groups.sort(key=lambda group: group.order)
    for group in groups:
        lacking += _without_room(group, nodes.place(group, sum(each.demand.copies for each in group.members)))
    worst, lost = _loss(nodes, groups)
    in_order = sorted(misfits, key=lambda each: _key(each.sized))
    return Placement(
        uses=tuple(_uses(nodes.runs)),
        misfits=tuple(in_order),
        without_room=tuple(sorted(lacking, key=lambda each: _key(each[0]))),
        worst=worst,
        lost=tuple(sorted(lost, key=lambda each: _key(each[0]))),
    )


def _loss(nodes: Nodes, groups: Sequence[MachineGroup]) -> tuple[str, list[tuple[Sized, int]]]:
    """The node whose machines find the least room on the others, by the name of its shape, and how many of which find none."""
    most, worst, lost = 0, "", list[tuple[MachineGroup, int]]()
    order = {group.needs.key: (number, group) for number, group in enumerate(groups)}
    for place, number, run in nodes.used():
        if run.machines > most:
            others, own = nodes.without(place, number), dict(run.held)
            placed = sorted((*order[key], copies) for key, copies in own.items())
            left = [(group, others.place(group, copies)) for _, group, copies in placed]
            if (count := sum(each for _, each in left)) > most:
                most, worst, lost = count, run.shape.node or run.shape.name, left
    return worst, [each for group, count in lost for each in _without_room(group, count)]


def _key(sized: Sized) -> tuple[str, ...]:
    return sized.target, *identity(sized.demand)


def _alike(sized: Iterable[Sized]) -> list[tuple[Needs, list[Sized]]]:
    found: dict[str, tuple[Needs, list[Sized]]] = {}
    for each in sorted(sized, key=_key):
        if each.demand.pods and each.demand.copies:
            needs = needs_of(each.demand)
            found.setdefault(needs.key, (needs, []))[1].append(each)
    return list(found.values())


def _frequent(found: Iterable[tuple[tuple[str, str], int]]) -> tuple[tuple[tuple[str, str], int], ...]:
    counts = [(obstacle, shapes.bit_count()) for obstacle, shapes in found]
    return tuple(sorted(counts, key=lambda each: (-each[1], each[0])))


class Nodes:
    """The nodes of all shapes, with the machines that were placed on them."""

    def __init__(self, shapes: Sequence[NodeShape]) -> None:
        self.runs = [[NodeRun(shape, shape.count, shape.allocatable)] for shape in shapes]
        self._used = 0  # the shapes of which a node has machines
        self._fresh = (1 << len(shapes)) - 1  # those of which a node has none

    def used(self) -> list[tuple[int, int, NodeRun]]:
        """The nodes with machines, those with the most first, by the places of their shape and of their run."""
        found = [
            (place, number, run) for place, runs in enumerate(self.runs) for number, run in enumerate(runs) if run.machines
        ]
        return sorted(found, key=lambda each: -each[2].machines)

    def without(self, place: int, number: int) -> Nodes:
        """The same without one node of a run."""
        found = Nodes(())
        found.runs, found._used, found._fresh = [*self.runs], self._used, self._fresh
        runs = self.runs[place]
        found.runs[place] = [*runs[:number], runs[number].fewer(), *runs[number + 1 :]]
        return found

    def place(self, group: MachineGroup, left: int) -> int:
        """Place as many of some machines as there is room for, on nodes in use first. Returns how many are left."""
        for fresh in (False, True):
            for place in numbers(group.shapes & (self._fresh if fresh else self._used)):
                if not left:
                    return 0
                left = self._place(place, group.needs, left, fresh=fresh)
        return left

    def _place(self, place: int, needs: Needs, left: int, *, fresh: bool) -> int:
        after: list[NodeRun] = []
        for run in self.runs[place]:
            made, left = _fill(run, needs, left) if (run.machines == 0) == fresh else ([run], left)
            after += made
        self.runs[place] = after
        if fresh:
            bit = 1 << place
            self._used |= bit if any(run.machines for run in after) else 0
            self._fresh &= ~0 if any(not run.machines for run in after) else ~bit
        return left


def _fill(run: NodeRun, needs: Needs, left: int) -> tuple[list[NodeRun], int]:
    """The nodes of a run with machines on them as far as they go: full ones, one with the rest, and those not touched."""
    each = run.holds(needs.amounts)
    if not left or not each or run.count == 0:
        return [run], left
    full = left // each if run.count is None else min(left // each, run.count)
    made = [run.filled(needs, each, full)] if full else []
    left -= full * each
    spare = None if run.count is None else run.count - full
    if left and spare != 0:
        made.append(run.filled(needs, left, 1))
        left, spare = 0, None if spare is None else spare - 1
    if spare != 0:
        made.append(NodeRun(run.shape, spare, run.free, run.held))
    return made, left


def _without_room(group: MachineGroup, left: int) -> list[tuple[Sized, int]]:
    """The demands whose machines find no room, the last ones of the group."""
    found = []
    for each in reversed(group.members):
        number = min(left, each.demand.copies)
        if number:
            found.append((each, number))
        left -= number
    return found


def _uses(runs: Iterable[list[NodeRun]]) -> list[NodeUse]:
    """The nodes by their names, in the order of the shapes."""
    found: dict[str, NodeUse] = {}
    unlimited: set[str] = set()
    for run in (run for of_shape in runs for run in of_shape):
        name = run.shape.name
        found[name] = _with_run(found.get(name, NodeUse(name=name, nodes=0)), run)
        if run.shape.count is None:
            unlimited.add(name)
    return [use.but(nodes=None) if use.name in unlimited else use for use in found.values()]


def _with_run(use: NodeUse, run: NodeRun) -> NodeUse:
    count = run.count or 0
    if not run.machines:
        return use.but(nodes=(use.nodes or 0) + count)
    free = dict(use.free)
    for name, left in run.free.items():
        free[name] = free.get(name, 0) + left * count
    return use.but(
        nodes=(use.nodes or 0) + count,
        needed=use.needed + count,
        machines=use.machines + run.machines * count,
        free=free,
    )


def amount_of(name: str, nanos: int) -> Quantity:
    """An amount in the format in which people write the resource."""
    in_bytes = name in ("memory", "ephemeral-storage") or name.startswith("hugepages-")
    return Quantity(nanos=nanos, format="BinarySI" if in_bytes and nanos % NANO == 0 else "DecimalSI")
