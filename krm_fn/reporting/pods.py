"""The pod of a machine, and its claims, as rows for people."""

from __future__ import annotations

from collections.abc import Iterator

from krm_fn.base.objects import Object
from krm_fn.base.paths import as_list, as_map
from krm_fn.base.redaction import redact
from krm_fn.sizing.rows import amount, node_needs, reasons

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
