"""The JSON Schema of what `explain` answers."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.base.objects import Object

ID = "https://kubevirt-render.dev/schema/v1alpha1/explain.json"
TEXT: Object = {"type": "string"}
NUMBER: Object = {"type": "integer", "minimum": 0}
PLACE: Object = {"item": NUMBER, "file": TEXT, "index": NUMBER, "line": NUMBER, "column": NUMBER}
NAMED: Object = {"kind": TEXT, "namespace": TEXT, "name": TEXT}
FOUND: Object = {**NAMED, **PLACE, "revision": TEXT, "catalogue": TEXT}
KINDS = ("vm", "instancetype", "preference", "preset", "configuration", "default")


def _map(properties: Object, *required: str) -> Object:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def schema() -> Object:
    """The schema."""
    source: Object = {**FOUND, "from": {"enum": list(KINDS)}, "field": TEXT, "value": {}, "release": TEXT}
    field = {
        "path": {**TEXT, "description": "The path of a leaf from the root of the object."},
        "value": {"description": "The value in the rendered VM. Secrets are hidden."},
        "source": {**_map(source, "from"), "description": "What gives the value."},
        "beside": {"type": "array", "items": _map(source, "from"), "description": "What decides it, too."},
        "lost": {
            "type": "array",
            "items": _map({**source, "wanted": {}}, "from", "wanted"),
            "description": "What would give another value, which the VM's own value replaces.",
        },
        "how": {**TEXT, "description": "How a number was worked out."},
    }
    record = {
        **NAMED,
        **PLACE,
        "release": TEXT,
        "target": TEXT,
        "instancetype": _map(FOUND, "kind", "name"),
        "preference": _map(FOUND, "kind", "name"),
        "error": TEXT,
        "fields": {"type": "array", "items": _map(field, "path", "value", "source")},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "Where each value of each rendered VM comes from",
        **_map({"vms": {"type": "array", "items": _map(record, "kind", "namespace", "name", "item", "release")}}, "vms"),
    }
