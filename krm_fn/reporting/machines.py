"""Machines as plain data, without what they have in common.

The pod of a machine, and its claims, as rows for people.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from krm_fn.base.objects import Object
from krm_fn.base.paths import as_list, as_map, dotted
from krm_fn.base.quantity import NANO, Quantity, parse
from krm_fn.base.redaction import redact
from krm_fn.sizing.rows import amount, in_bytes, in_cpus, live_migration, node_needs, reasons

if TYPE_CHECKING:
    from krm_fn.reporting.describing import LineOrigin, ShownMachine
    from krm_fn.reporting.input import DescribedUnit
    from krm_fn.reporting.tables import Tables

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
    for key, sort in (("initContainers", "init"), ("containers", "main")):
        for each in as_list(pod.get(key)):
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
