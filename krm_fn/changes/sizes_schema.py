"""The part of the published JSON Schema of `diff` that describes pods and quotas."""

from __future__ import annotations

from krm_fn.base.objects import Object
from krm_fn.sizing.schema import AMOUNTS, QUANTITY, TEXT, TEXTS, closed


def sizes() -> Object:
    """The definitions."""
    return {"pods": _pods(), "pod": _pod(), "quota": _quota()}


def _pods() -> Object:
    sides = {side: {"$ref": "#/$defs/pod"} for side in ("before", "after")}
    about = "the virt-launcher pod, where it changes; a side on which no pod starts is absent"
    return {**closed(sides), "minProperties": 1, "description": about}


def _pod() -> Object:
    return closed(
        {
            "requests": {**AMOUNTS, "description": "the sums, as the scheduler and quotas count them"},
            "limits": AMOUNTS,
            "qosClass": {"enum": ["Guaranteed", "Burstable", "BestEffort"]},
            "memoryOverhead": QUANTITY,
            "error": {**TEXT, "description": "why KubeVirt renders no pod; the other keys are absent then"},
        }
    )


def _quota() -> Object:
    row = closed(
        {
            "name": TEXT,
            "before": {**QUANTITY, "description": "the use before the change, when all machines run"},
            "after": {**QUANTITY, "description": "the use after the change, when all machines were started anew"},
            "hard": {**QUANTITY, "description": "the bound after the change"},
            "hardBefore": {**QUANTITY, "description": "the bound before the change, where that differs"},
            "exceeded": {**QUANTITY, "description": "by how much the use is above the bound after the change"},
        },
        required=("name", "before", "after", "hard"),
    )
    rows = {"type": "array", "items": row, "description": "the resources whose use or bound changes"}
    place = dict.fromkeys(("target", "kind", "namespace", "name"), TEXT)
    return closed({**place, "namespaces": TEXTS, "resources": rows}, required=("kind", "name", "resources"))
