"""The part of the schema of `diff` about the steps of an upgrade."""

from __future__ import annotations

from krm_fn.base.annotations import Any

Schema = dict[str, Any]


TEXT: Schema = {"type": "string"}


def steps(summary: Schema) -> Schema:
    """The steps of an upgrade; `summary` is the schema of the figures."""
    vms = {"type": "array", "items": {"$ref": "#/$defs/vm"}}
    finding = _object({"target": TEXT, "line": TEXT, "rule": TEXT, "severity": {"enum": ["error", "warning", "info"]}})
    finding["required"] = ["line", "rule", "severity"]
    texts = {"type": "array", "items": TEXT}
    step = _object(
        {
            "from": {**TEXT, "description": "the release before the step"},
            "to": {**TEXT, "description": "the release after the step"},
            "vms": {**vms, "description": "what the step does to the VMs that exist"},
            "newVms": {**vms, "description": "what new VMs start as before and after the step"},
            "summary": summary,
            "findings": _object({key: {"type": "array", "items": finding} for key in ("new", "gone")}),
            "catalogue": _object(dict.fromkeys(("gone", "added", "changed"), texts)),
        }
    )
    about = "the steps of an upgrade; only with --to-kubevirt-version and without a second side"
    return {"type": "array", "items": step, "description": about}


def _object(properties: Schema) -> Schema:
    return {"type": "object", "additionalProperties": False, "properties": properties, "required": list(properties)}
