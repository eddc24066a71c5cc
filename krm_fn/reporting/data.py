"""What scripts of the page show, as plain data. What machines have in common, such as lines of YAML, is there once.

The references of all units as one graph.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from krm_fn.base.objects import Object
from krm_fn.base.paths import as_list, as_map, dotted
from krm_fn.base.quantity import NANO, Quantity, parse
from krm_fn.base.redaction import redact
from krm_fn.findings.finding import Finding
from krm_fn.findings.fingerprints import key
from krm_fn.reporting.references import BUNDLE, CATALOGUE, ELSEWHERE, IMAGE, MADE, Key, ShownReference, Tables
from krm_fn.sizing.rows import amount, in_bytes, in_cpus, live_migration, node_needs, reasons

if TYPE_CHECKING:
    from krm_fn.reporting.describing import DescribedUnit, LineOrigin, Report, ShownMachine
    from krm_fn.reporting.references import Tables, ValueTable


NONE = "none"


def pod_of(record: Object) -> Object:
    """What the page says of a pod: `rows` with a head and a text, `containers`, and `why` there is none."""
    pod = redact(as_map(record.get("pod")))  # a label of a node selector may be a secret
    found = {
        "rows": [list(row) for row in _rows(pod)] if pod else [],
        "containers": [list(row) for row in _containers(pod)],
        "why": [str(each) for each in reasons(record)] if record else [],
    }
    return {key: value for key, value in found.items() if value}


def claims_of(record: Object) -> Iterator[list[str]]:
    """Name, kind, size and storage class of each claim of a machine."""
    for claim in as_list(record.get("storage")):
        yield [claim.get("name", ""), claim["kind"], amount("storage", claim.get("size", "")), claim.get("storageClass", "")]


def _rows(pod: Object) -> Iterator[tuple[str, str]]:
    yield "Requests", amounts(pod.get("requests"))
    yield "Limits", amounts(pod.get("limits"))
    yield "Memory overhead", amount("memory", str(pod.get("memoryOverhead", "")))
    yield "QoS class", str(pod.get("qosClass", ""))
    yield "Node needs", node_needs(pod)


def _containers(pod: Object) -> Iterator[tuple[str, str, str, str]]:
    """Name, sort, requests and limits of each container."""
    for group, sort in (("initContainers", "init"), ("containers", "main")):
        for each in as_list(pod.get(group)):
            runs = "sidecar" if each.get("restartPolicy") == "Always" else sort
            yield each["name"], runs, amounts(each.get("requests")), amounts(each.get("limits"))


def amounts(of: object) -> str:
    """Amounts of resources in words: `cpu 0.405, memory 7.1Gi`."""
    return ", ".join(f"{name} {amount(name, str(value))}" for name, value in as_map(of).items()) or NONE


NOTHING = -1  # in place of the number of an origin, for a line without a value
WORDS = ("kind", "namespace", "file", "release", "error", "instancetype", "preference", "template")


class MachineWriter:
    """Writes machines one after the other. Of lines that an earlier machine has at the same place, only that one has them."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._earlier: dict[int, tuple[int, list[int]]] = {}

    def shown(self, machine: ShownMachine, unit: DescribedUnit, number: int) -> Object:
        """The data of a machine, which is the machine of that number in the page. What is empty is left out."""
        word = self._tables.words.number
        about = {key: word(getattr(machine, key)) for key in WORDS}
        about |= {"target": word(unit.target), "cluster": word(unit.cluster)}
        status, why = live_migration(machine.record)
        about |= {"migration": word(status), "obstacle": word(why)}
        found: Object = {
            **about,
            "copies": machine.record.get("replicas", 0),
            "pod": self._tables.pods.number(json.dumps(pod_of(machine.record))),
            "claims": list(claims_of(machine.record)),
            **self._figures(machine),
            **self._origins(machine.origins),
        }
        found = {key: value for key, value in found.items() if value or key in ("vcpus", "memory", "cpu", "request", "storage")}
        return {"name": machine.name, **found, **self._lines(machine, number)}

    def _lines(self, machine: ShownMachine, number: int) -> Object:
        """`lines`, or `like` and `other`: the number of an earlier machine, and place and line where they differ."""
        tables = self._tables
        lines = [tables.lines.number((line.text, tables.paths.number(dotted(line.path)))) for line in machine.lines]
        like, known = self._earlier.setdefault(len(lines), (number, lines))
        other = [part for at, (old, new) in enumerate(zip(known, lines, strict=True)) if old != new for part in (at, new)]
        if like == number or 2 * len(other) > len(lines):
            return {"lines": lines}
        return {"like": like, "other": other}

    def _origins(self, origins: Sequence[LineOrigin | None]) -> Object:
        """`origins` and `at`: numbers of tables, and the first line of the file from which `at` counts."""
        pattern = tuple(self._origin(each) if each else NOTHING for each in origins)
        lines = [each.line if each else 0 for each in origins]
        first = min(filter(None, lines), default=0)
        steps = tuple(_without_end([line - first + 1 if line else 0 for line in lines]))
        return {"origins": self._tables.patterns.number(pattern), "at": self._tables.steps.number(steps), "first": first}

    def _origin(self, origin: LineOrigin) -> int:
        word = self._tables.words.number(origin.kind)
        return self._tables.origins.number((word, origin.name, origin.text, origin.notes))

    def _figures(self, machine: ShownMachine) -> Object:
        return {key: self._tables.figures.number(figure) for key, figure in _figures_of(machine)}


def _figures_of(machine: ShownMachine) -> Iterator[tuple[str, tuple[float, str]]]:
    """Numbers with the text that people read, as far as they are known."""
    record, row = machine.record, machine.row
    if record.get("vcpus"):
        yield "vcpus", (record["vcpus"], str(record["vcpus"]))
    if memory := parse(record.get("memory")):
        yield "memory", _figure(memory, in_bytes(memory))
    if row.machines and not row.without_pod:
        yield "cpu", _figure(row.cpu, in_cpus(row.cpu))
        yield "request", _figure(row.memory, in_bytes(row.memory))
    if row.storage.nanos:
        yield "storage", _figure(row.storage, in_bytes(row.storage))


def _figure(amount: Quantity, text: str) -> tuple[float, str]:
    number = amount.nanos / NANO
    return int(number) if number.is_integer() else number, text


def _without_end(numbers: list[int]) -> list[int]:
    """The numbers without the zeros at their end."""
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers


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


VM = "VirtualMachine"


def data_of(report: Report) -> Object:
    """The data of a report. Texts that come often are numbers of `words`; the first `counting` findings count."""
    findings = (*report.findings, *report.known)
    numbers = {key(finding): number for number, finding in enumerate(findings)}
    tables = Tables()
    machines = MachineWriter(tables)
    concerned: dict[int, list[int]] = {}
    shown: list[Object] = []
    for unit in report.units:
        by_place = _by_place(unit.findings)
        for machine in unit.part.machines:
            found = map(key, by_place.get((machine.item, machine.inside), ()))
            own = [numbers[same] for same in found if same in numbers]
            for number in own:
                concerned.setdefault(number, []).append(len(shown))
            placed = list(_placed(machine, own, findings))
            shown.append({**machines.shown(machine, unit, len(shown)), **({"findings": placed} if placed else {})})
    return {
        "vms": shown,
        "changes": list(_changes(report, shown)),
        "findings": [_finding(each, concerned.get(number, ()), tables) for number, each in enumerate(findings)],
        "counting": len(report.findings),
        "since": report.since,
        **graph_of(report, tables.words),
        **tables.shown(),
    }


def _by_place(findings: Iterable[Finding]) -> dict[tuple[int, Any], list[Finding]]:
    found: dict[tuple[int, Any], list[Finding]] = {}
    for finding in findings:
        found.setdefault((finding.item, finding.inside), []).append(finding)
    return found


def _placed(machine: ShownMachine, own: Sequence[int], findings: Sequence[Finding]) -> Iterator[list[int]]:
    """The number of the line of each finding, -1 for the whole machine, and the number of the finding."""
    lines: dict[Any, int] = {}
    if own:
        for number, line in enumerate(machine.lines):
            lines.setdefault(line.path, number)
    for each in own:
        yield [_line_of(findings[each], lines), each]


def _line_of(finding: Finding, lines: Mapping[Any, int]) -> int:
    """The line of the value that a finding is about, or of the nearest one around it."""
    path = finding.path
    while path and path not in lines:
        path = path[:-1]
    return lines[path] if path else -1


def _finding(finding: Finding, machines: Sequence[int], tables: Tables) -> Object:
    """A finding; the object is named where the page has no part about it."""
    word = tables.words.number
    found = {
        "path": dotted(finding.path),
        "object": "" if machines else str(finding.ref or ""),
        "line": finding.line,
        "vms": list(machines),
        "targets": [word(target) for target in finding.targets],
    }
    about = {"severity": word(finding.severity), "rule": word(finding.rule), "file": word(finding.file)}
    return {**about, "message": finding.message, **{key: value for key, value in found.items() if value}}


def _changes(report: Report, machines: Sequence[Object]) -> Iterator[Object]:
    """What a change does to each VM, with the number of the VM after it, -1 for one that is gone. The VM gets its number, too.

    A change of files that no kustomization uses names their folder as its target.
    """
    described = ((unit, each) for unit in report.units for each in unit.part.machines)
    places: dict[tuple[str, ...], int] = {}
    for number, (unit, vm) in enumerate(described):
        if vm.template:  # the cluster has nothing of it that could change
            continue
        where = unit.target or os.path.dirname(vm.file) or os.curdir  # noqa: PTH120
        places.setdefault((where, vm.kind, vm.namespace, vm.name), number)
    for number, change in enumerate(report.changes):
        at = places.get((change.target or os.curdir, change.kind, change.namespace, change.name), -1)
        if at >= 0:
            machines[at]["change"] = number
        name = "/".join(filter(None, (change.target, change.namespace, change.name)))
        yield {"vm": at, "name": name, "effect": change.effect, "sentences": list(change.sentences)}
