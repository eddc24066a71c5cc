"""The figures of the first part of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from krm_fn.base.objects import Object
from krm_fn.findings.finding import SEVERITIES
from krm_fn.findings.results import count
from krm_fn.kubevirt.quantity import parse
from krm_fn.reporting.data import VM
from krm_fn.sizing.rows import Row, amount, in_bytes, in_cpus, together

if TYPE_CHECKING:
    from krm_fn.reporting.input import Report


MOST_RULES = 10
WIDTH = 100  # of a whole bar


def overview_of(report: Report) -> Object:
    """What the template of the page shows of all units together."""
    spaces = _namespaces(report)
    total = Row(labels=())
    for row in spaces:
        total = together(total, row)
    machines = [machine for unit in report.units for machine in unit.part.machines]
    kinds = Counter(machine.kind for machine in machines if not machine.template)
    return {
        "vms": kinds.pop(VM, 0),
        "others": sorted(kinds.items()),
        "in_templates": sum(bool(machine.template) for machine in machines),
        "targets": len(report.targets),
        "severities": count(report.findings),
        "rules": list(_rules(report)),
        "total": _figures(total),
        "machines": total.machines,
        "namespaces": list(_bars(spaces)),
        "quotas": list(_quotas(report)),
        "levels": sorted(Counter(each.effect for each in report.changes).items()),
        "unsized": sorted({unit.part.unsized for unit in report.units if unit.part.unsized}),
        "unrendered": sum(bool(machine.error) for machine in machines),
    }


def _rules(report: Report) -> Iterator[Object]:
    """The rules with the most findings, the most severe first."""
    counts = Counter((SEVERITIES.index(each.severity), each.rule) for each in report.findings)
    ranked = sorted(counts.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))
    for (severity, rule), number in ranked[:MOST_RULES]:
        yield {"rule": rule, "severity": SEVERITIES[severity], "count": number}


def _namespaces(report: Report) -> list[Row]:
    """The sums of each namespace of each cluster."""
    found: dict[tuple[str, ...], Row] = {}
    for unit in report.units:
        for row in unit.part.namespaces:
            labels = (unit.cluster, *row.labels)
            found[labels] = together(found.get(labels, Row(labels=labels)), row)
    return sorted(found.values(), key=lambda row: (-row.weight[1], row.labels))


def _bars(spaces: list[Row]) -> Iterator[Object]:
    """A row with bars for each namespace; the longest bar of a column is that of its largest figure."""
    most = {name: max((getattr(row, name).nanos for row in spaces), default=0) for name in ("cpu", "memory", "storage")}
    for row in spaces:
        bars = {name: _share(getattr(row, name).nanos, most[name]) for name in most}
        yield {"cluster": row.labels[0], "namespace": row.labels[1], **_figures(row), "bars": bars}


def _figures(row: Row) -> Object:
    return {
        "machines": row.machines,
        "vcpus": row.vcpus,
        "guest": in_bytes(row.guest),
        "cpu": in_cpus(row.cpu),
        "memory": in_bytes(row.memory),
        "storage": in_bytes(row.storage),
        "without_pod": row.without_pod,
    }


def _share(part: int, whole: int) -> float:
    return round(float(Fraction(part * WIDTH, whole)), 1) if whole else 0


def _quotas(report: Report) -> Iterator[Object]:
    for unit in report.units:
        for quota in unit.part.quotas:
            where = quota.get("namespace") or ", ".join(quota.get("namespaces", ()))
            about = {
                "kind": quota["kind"],
                "where": where,
                "name": quota["name"],
                "target": unit.target,
                "cluster": unit.cluster,
            }
            for resource, used in quota["used"].items():
                yield {**about, **_use(resource, used, quota)}
            for each in quota["stops"]:
                yield {**about, "note": f"{each['namespace']}/{each['name']} never starts: {'; '.join(each['why'])}"}


def _use(resource: str, used: str, quota: Object) -> Object:
    """The use of a resource: the filled part of its bar, and by how much it is exceeded."""
    hard, over = quota["hard"][resource], quota["exceeded"].get(resource)
    parts = [found.nanos if (found := parse(text)) else 0 for text in (used, hard)]
    return {
        "resource": resource,
        "used": amount(resource, used),
        "hard": amount(resource, hard),
        "over": amount(resource, over) if over else "",
        "bar": min(_share(*parts), WIDTH) if parts[1] else (WIDTH if parts[0] else 0),
    }
