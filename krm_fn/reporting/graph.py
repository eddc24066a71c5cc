"""The references of all units as one graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.base.objects import Object
from krm_fn.reporting.references import BUNDLE, CATALOGUE, ELSEWHERE, IMAGE, MADE, Key, ShownReference

if TYPE_CHECKING:
    from krm_fn.reporting.input import DescribedUnit, Report
    from krm_fn.reporting.tables import ValueTable
Node = tuple[str, Key]  # scope and key


# Of two things that are said of an object, the first one holds.
STATES = (BUNDLE, CATALOGUE, MADE, ELSEWHERE)


class ObjectGraph:
    """Objects by their numbers. The first ones are the machines, which the page has anyway."""

    def __init__(self, words: ValueTable[str], machines: int) -> None:
        self._words, self._machines = words, machines
        self._numbers: dict[Node, int] = {}
        self._others: list[tuple[Node, str, str]] = []
        self._edges: dict[tuple[int, int, int], None] = {}

    def add_machine(self, node: Node, number: int) -> None:
        """Of two machines of one name, the first one is meant."""
        self._numbers.setdefault(node, number)

    def add(self, user: Node, used: Node, use: ShownReference) -> None:
        """A reference from one object to another."""
        edge = self._number(user, BUNDLE, ""), self._number(used, use.state, use.file), self._words.number(use.role)
        self._edges[edge] = None

    def _number(self, node: Node, state: str, file: str) -> int:
        number = self._numbers.setdefault(node, self._machines + len(self._others))
        at = number - self._machines
        if at == len(self._others):
            self._others.append((node, state, file))
        elif at >= 0 and STATES.index(state) < STATES.index(self._others[at][1]):
            self._others[at] = node, state, file
        return number

    def shown(self) -> Object:
        """`nodes` behind the machines: kind, namespace, name, state, file and scope; `edges`: from, to and role."""
        word = self._words.number
        return {
            "nodes": [
                [word(kind), word(namespace), name, word(state), word(file), word(scope)]
                for (scope, (kind, namespace, name)), state, file in self._others
            ],
            "edges": [list(edge) for edge in self._edges],
        }


def graph_of(report: Report, words: ValueTable[str]) -> Object:
    """The graph of all units. `words` are those of the page: kinds, roles and so on are numbers of them."""
    machines = [(unit, each) for unit in report.units for each in unit.part.machines]
    graph = ObjectGraph(words, len(machines))
    for number, (unit, each) in enumerate(machines):
        if not each.template:
            graph.add_machine((_scope(unit, report), (each.kind, each.namespace, each.name)), number)
    for unit in report.units:
        scope = _scope(unit, report)
        for use in unit.part.uses:
            graph.add((scope, use.user), ("" if _is_everywhere(use) else scope, use.used), use)
    return graph.shown()


def _scope(unit: DescribedUnit, report: Report) -> str:
    """Where the names of a unit are unique: its cluster, or the unit itself where the config names no cluster."""
    return unit.cluster or (unit.target if len(report.units) > 1 else "")


def _is_everywhere(use: ShownReference) -> bool:
    return use.state == CATALOGUE or use.used[0] == IMAGE
