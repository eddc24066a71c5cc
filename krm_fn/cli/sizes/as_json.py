"""The answer of the library, with all details, and the groups where some are wanted."""

from __future__ import annotations

from fractions import Fraction

from krm_fn.base.objects import Object
from krm_fn.base.paths import as_map, get
from krm_fn.base.redaction import redact
from krm_fn.cli.output_files import json_text
from krm_fn.cli.sizes import SizesReport, cells
from krm_fn.kubevirt.pods.amounts import written
from krm_fn.sizing.prices import exact, unpriced
from krm_fn.sizing.rows import Row


def write(report: SizesReport) -> str:
    """A JSON document of the form that `kubevirt-render schema capacity` describes."""
    groups = {} if report.by == "vm" else {"groups": [_group(row, report) for row in report.rows]}
    placed = {"nodes": cells.as_data(report.placement, report.shapes)} if report.placement else {}
    answer = _priced(report)
    return json_text({**answer, "vms": list(map(_shown, answer["vms"])), **groups, **placed})


def _shown(record: Object) -> Object:
    """The record without labels of nodes that may be secret."""
    labels = as_map(get(record, ("pod", "nodeSelector")))
    safe = redact(labels)
    return record if safe == labels else {**record, "pod": {**record["pod"], "nodeSelector": safe}}


def _priced(report: SizesReport) -> Object:
    """The answer with the cost of each record, and of all."""
    if report.prices is None:
        return report.answer
    pairs = zip(report.answer["vms"], report.sized, strict=True)
    records = [{**record, "cost": exact(Fraction(each.cost))} for record, each in pairs]
    cost = {"currency": report.prices.currency, "total": exact(Fraction(report.total.cost))}
    return {**report.answer, "vms": records, "cost": {**cost, "unpriced": unpriced(report.sized, report.prices)}}


def _group(row: Row, report: SizesReport) -> Object:
    heads = report.heads
    return {
        "name": row.labels[0] if len(heads) == 1 else "/".join(row.labels),
        "vms": row.machines,
        "withoutPod": row.without_pod,
        "migratable": row.migratable,
        "notMigratable": row.not_migratable,
        "vcpus": row.vcpus,
        "memory": str(row.guest),
        "requests": written({"cpu": row.cpu, "memory": row.memory}),
        "memoryOverhead": str(row.overhead),
        "storage": str(row.storage),
        "devices": written(row.devices),
        **({} if report.prices is None else {"cost": exact(Fraction(row.cost))}),
    }
