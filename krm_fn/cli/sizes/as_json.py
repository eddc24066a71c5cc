"""The answer of the library, with all details, and the groups where some are wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.cli.json_text import json_text
from krm_fn.cli.sizes import nodes
from krm_fn.kubevirt.pods.amounts import written

if TYPE_CHECKING:
    from krm_fn.base.objects import Object
    from krm_fn.cli.sizes import Report
    from krm_fn.sizing.rows import Row


def write(report: Report) -> str:
    """A JSON document of the form that `kubevirt-render schema capacity` describes."""
    groups = {} if report.by == "vm" else {"groups": [_group(row, report.heads) for row in report.rows]}
    placed = {"nodes": nodes.as_data(report.placement, report.shapes)} if report.placement else {}
    return json_text({**report.answer, **groups, **placed})


def _group(row: Row, heads: tuple[str, ...]) -> Object:
    return {
        "name": row.labels[0] if len(heads) == 1 else "/".join(row.labels),
        "vms": row.machines,
        "withoutPod": row.without_pod,
        "vcpus": row.vcpus,
        "memory": str(row.guest),
        "requests": written({"cpu": row.cpu, "memory": row.memory}),
        "memoryOverhead": str(row.overhead),
        "storage": str(row.storage),
        "devices": written(row.devices),
    }
