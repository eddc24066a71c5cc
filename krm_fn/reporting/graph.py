"""The references of all units as one graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.reporting.names import fragment
from krm_fn.reporting.references import BUNDLE, CATALOGUE, ELSEWHERE, IMAGE, MADE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krm_fn.base.objects import Object
    from krm_fn.reporting.describing import Machine
    from krm_fn.reporting.input import Report, Unit
    from krm_fn.reporting.references import Key, Use

    Node = tuple[str, Key]  # scope and key

# Of two things that are said of an object, the first one holds.
STATES = (BUNDLE, CATALOGUE, MADE, ELSEWHERE)


def graph_of(report: Report, machines: Mapping[tuple[int, int], int]) -> Object:
    """`nodes` (kind, namespace, name, state, file, scope, number of the machine or -1, address) and `edges` (from, to, role).

    `machines` has the number of each machine, by the number of its unit and its number there.
    """
    nodes: dict[Node, list[object]] = {}
    edges: dict[tuple[int, int, str], None] = {}
    numbers: dict[Node, int] = {}

    def number(node: Node, state: str, file: str, machine: int = -1) -> int:
        scope, (kind, namespace, name) = node
        if node not in numbers:
            numbers[node] = len(numbers)
            nodes[node] = [kind, namespace, name, state, file, scope, machine, fragment(scope, kind, namespace, name)]
        known = nodes[node]
        if STATES.index(state) < STATES.index(str(known[3])):
            known[3], known[4] = state, file
        return numbers[node]

    for place, unit in enumerate(report.units):
        for at, machine in enumerate(unit.part.machines):
            number((_scope(unit, report), _key(machine)), BUNDLE, machine.file, machines[place, at])
        for use in unit.part.uses:
            user = number((_scope(unit, report), use.user), BUNDLE, "")
            used = number((_scope_of_used(unit, use, report), use.used), use.state, use.file)
            edges[user, used, use.role] = None
    return {"nodes": list(nodes.values()), "edges": [list(edge) for edge in edges]}


def _key(machine: Machine) -> Key:
    return machine.kind, machine.namespace, machine.name


def _scope(unit: Unit, report: Report) -> str:
    """Where the names of a unit are unique: its cluster, or the unit itself where the config names no cluster."""
    return unit.cluster or (unit.target if len(report.units) > 1 else "")


def _scope_of_used(unit: Unit, use: Use, report: Report) -> str:
    return "" if use.state == CATALOGUE or use.used[0] == IMAGE else _scope(unit, report)
