"""The parts of the published JSON Schema of `diff` about renames, pods, quotas, and the steps of an upgrade."""

from __future__ import annotations

from krm_fn.base.objects import Object
from krm_fn.changes.owners import KINDS
from krm_fn.changes.renames import SIGNS
from krm_fn.sizing.schema import AMOUNTS, QUANTITY, TEXT, TEXTS, closed


def names() -> Object:
    """The definitions about renames."""
    place = dict.fromkeys(("namespace", "name"), TEXT)
    machine = closed({"kind": {"enum": list(KINDS)}, **place}, required=("kind", "namespace", "name"))
    rename = {
        "target": TEXT,
        "kind": TEXT,
        **place,
        "from": {"$ref": "#/$defs/name"},
        "shownBy": {"enum": list(SIGNS), "description": "what shows that it is a rename"},
        "users": {"type": "array", "items": machine, "description": "what refers to it by the new name"},
        "left": {"type": "array", "items": machine, "description": "what still refers to it by the old name"},
    }
    about = "the namespace and the name before the change"
    return {
        "name": {**closed(place, required=("name",)), "description": about},
        "rename": closed(rename, required=("kind", "name", "from", "shownBy", "users")),
    }


def sizes() -> Object:
    """The definitions about pods and quotas."""
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


def steps(summary: Object) -> Object:
    """The steps of an upgrade; `summary` is the schema of the figures."""
    vms = {"type": "array", "items": {"$ref": "#/$defs/vm"}}
    severity = {"enum": ["error", "warning", "info"]}
    finding = closed({"target": TEXT, "line": TEXT, "rule": TEXT, "severity": severity}, required=("line", "rule", "severity"))
    step = _complete(
        {
            "from": {**TEXT, "description": "the release before the step"},
            "to": {**TEXT, "description": "the release after the step"},
            "vms": {**vms, "description": "what the step does to the VMs that exist"},
            "newVms": {**vms, "description": "what new VMs start as before and after the step"},
            "summary": summary,
            "findings": _complete({key: {"type": "array", "items": finding} for key in ("new", "gone")}),
            "catalogue": _complete(dict.fromkeys(("gone", "added", "changed"), TEXTS)),
        }
    )
    about = "the steps of an upgrade; only with --to-kubevirt-version and without a second side"
    return {"type": "array", "items": step, "description": about}


def _complete(properties: Object) -> Object:
    """An object with all of these keys and no others."""
    return closed(properties, required=tuple(properties))
