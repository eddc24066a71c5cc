"""What scripts of the page show, as plain data. What machines have in common, such as lines of YAML, is there once."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from krm_fn.base.paths import dotted
from krm_fn.kubevirt.quantity import NANO, parse
from krm_fn.reporting.graph import graph_of
from krm_fn.reporting.names import VM, of_machine, unique
from krm_fn.reporting.pods import pod_of
from krm_fn.reporting.tables import Table
from krm_fn.repositories.merging import key
from krm_fn.sizing.rows import in_bytes, in_cpus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.findings.finding import Finding
    from krm_fn.kubevirt.quantity import Quantity
    from krm_fn.reporting.describing import Machine, Origin
    from krm_fn.reporting.input import Report, Unit
    from krm_fn.sizing.rows import Row

OWN, NOTHING = 0, -1  # in place of the number of an origin: the machine's own manifest, and a line without a value


class Tables:
    """What machines have in common: lines with the text of their paths, origins, and pods as JSON."""

    def __init__(self) -> None:
        self.lines: Table[tuple[str, int]] = Table()
        self.paths: Table[str] = Table()
        self.origins: Table[tuple[str, str, tuple[str, ...]]] = Table()
        self.pods: Table[str] = Table()
        self.origins.number(("vm", "", ()))  # OWN

    def shown(self) -> Object:
        return {
            "lines": [list(line) for line in self.lines.values],
            "paths": self.paths.values,
            "origins": [list(origin) for origin in self.origins.values],
            "pods": [json.loads(pod) for pod in self.pods.values],
        }


def data_of(report: Report) -> Object:
    """The data of a report."""
    findings = (*report.findings, *report.known)
    numbers = {key(finding): number for number, finding in enumerate(findings)}
    tables, taken = Tables(), set[str]()
    machines: list[Object] = []
    concerned: dict[int, list[int]] = {}
    at: dict[tuple[int, int], int] = {}
    for place, unit in enumerate(report.units):
        by_place = _by_place(unit.findings)
        for index, machine in enumerate(unit.part.machines):
            found = map(key, by_place.get((machine.item, machine.inside), ()))
            own = [numbers[same] for same in found if same in numbers]
            for number in own:
                concerned.setdefault(number, []).append(len(machines))
            at[place, index] = len(machines)
            placed = _lines_of_findings(machine, own, findings)
            machines.append({**_machine(machine, unit, tables, taken), "findings": placed})
    return {
        **tables.shown(),
        "changes": list(_changes(report, machines)),
        "vms": machines,
        "findings": [_finding(each, concerned.get(number, ())) for number, each in enumerate(findings)],
        "counting": len(report.findings),
        "since": report.since,
        **graph_of(report, at),
    }


def _by_place(findings: Iterable[Finding]) -> dict[tuple[int, Any], list[Finding]]:
    found: dict[tuple[int, Any], list[Finding]] = {}
    for finding in findings:
        found.setdefault((finding.item, finding.inside), []).append(finding)
    return found


def _machine(machine: Machine, unit: Unit, tables: Tables, taken: set[str]) -> Object:
    record, row = machine.record, machine.row
    lines = [tables.lines.number((line.text, tables.paths.number(dotted(line.path)))) for line in machine.lines]
    pod = pod_of(record)
    found: Object = {
        "id": unique(of_machine(machine.kind, unit.target, machine.namespace, machine.name), taken),
        "kind": machine.kind,
        "namespace": machine.namespace,
        "name": machine.name,
        "target": unit.target,
        "cluster": unit.cluster,
        "file": machine.file,
        "release": machine.release,
        "error": machine.error,
        "instancetype": record.get("instancetype", ""),
        "preference": record.get("preference", ""),
        "copies": record.get("replicas", 0),
        "lines": lines,
        "origins": [_origin(each, tables) for each in machine.origins],
        "at": _without_end([each.line if each else 0 for each in machine.origins]),
        "pod": tables.pods.number(json.dumps(pod)) if pod else -1,
        **_sizes(record, row),
    }
    return {key: value for key, value in found.items() if value != ""}


def _sizes(record: Object, row: Row) -> Object:
    """Figures with the text that people read, where they are known."""
    memory = parse(record.get("memory"))
    found: Object = {"vcpus": [record["vcpus"], str(record["vcpus"])]} if record.get("vcpus") else {}
    if memory:
        found["memory"] = _figure(memory, in_bytes(memory))
    if row.machines and not row.without_pod:
        found |= {"cpu": _figure(row.cpu, in_cpus(row.cpu)), "request": _figure(row.memory, in_bytes(row.memory))}
    return {**found, "storage": _figure(row.storage, in_bytes(row.storage))} if row.storage.nanos else found


def _figure(amount: Quantity, text: str) -> list[float | str]:
    number = amount.nanos / NANO
    return [int(number) if number.is_integer() else number, text]


def _origin(origin: Origin | None, tables: Tables) -> int:
    if origin is None:
        return NOTHING
    return tables.origins.number((origin.kind, origin.text, origin.notes))


def _without_end(numbers: list[int]) -> list[int]:
    """The numbers without the zeros at their end."""
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers


def _lines_of_findings(machine: Machine, own: Sequence[int], findings: Sequence[Finding]) -> list[list[int]]:
    """The number of the line of each finding, -1 for the whole machine, and the number of the finding."""
    lines: dict[Any, int] = {}
    for number, line in enumerate(machine.lines):
        lines.setdefault(line.path, number)
    return sorted([_line_of(findings[each], lines), each] for each in own)


def _line_of(finding: Finding, lines: Mapping[Any, int]) -> int:
    """The line of the value that a finding is about, or of the nearest one around it."""
    path = finding.path
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, -1) if path else -1


def _finding(finding: Finding, machines: Sequence[int]) -> Object:
    found = {
        "severity": finding.severity,
        "rule": finding.rule,
        "object": str(finding.ref or ""),
        "path": dotted(finding.path),
        "message": finding.message,
        "file": finding.file,
        "line": finding.line,
        "targets": list(finding.targets),
        "vms": list(machines),
    }
    return {key: value for key, value in found.items() if value}


def _changes(report: Report, machines: Sequence[Object]) -> Iterator[Object]:
    """What a change does to each VM, with the number of the VM after it, -1 for one that is gone. The VM gets its number, too.

    A change of files that no kustomization uses names their folder as its target.
    """
    places: dict[tuple[str, ...], int] = {}
    for number, vm in enumerate(machines):
        if vm["kind"] == VM:
            where = vm.get("target") or os.path.dirname(vm.get("file", "")) or os.curdir  # noqa: PTH120
            places.setdefault((where, vm["namespace"], vm["name"]), number)
    for number, change in enumerate(report.changes):
        at = places.get((change.target or os.curdir, change.namespace, change.name), -1)
        if at >= 0:
            machines[at]["change"] = number
        name = "/".join(filter(None, (change.target, change.namespace, change.name)))
        yield {"vm": at, "name": name, "effect": change.effect, "sentences": list(change.sentences)}
