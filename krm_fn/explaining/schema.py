"""The JSON Schema of what `explain` answers."""

from __future__ import annotations

from krm_fn.base.objects import Object

ID = "urn:kubevirt-render:schema:v1alpha1:explain"  # a name: nothing is fetched for it
TEXT: Object = {"type": "string"}
NUMBER: Object = {"type": "integer", "minimum": 0}
PLACE: Object = {
    "item": {**NUMBER, "description": "The number of the item, from 0."},
    "inside": {**TEXT, "description": "The path of the object in its item, if that is a List."},
    "file": TEXT,
    "index": NUMBER,
    "line": NUMBER,
    "column": NUMBER,
}
NAMED: Object = {"kind": TEXT, "namespace": TEXT, "name": TEXT}
FOUND: Object = {**NAMED, **PLACE, "revision": TEXT, "catalogue": TEXT}
KINDS = ("vm", "instancetype", "preference", "preset", "configuration", "patch", "default", "step")


def _map(properties: Object, *required: str) -> Object:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _source() -> Object:
    """The properties of what gives a value."""
    return {
        **FOUND,
        "from": {"enum": list(KINDS)},
        "field": {**TEXT, "description": "The field in its object."},
        "decoded": {
            **TEXT,
            "description": "The field in the spec that the text at `field` encodes, in an old stored revision.",
        },
        "value": {"description": "The value of the field, or an operation of a JSON patch."},
        "release": TEXT,
        "same": {
            "enum": ["default", "another", "layout"],
            "description": "What gives the same value without the field: KubeVirt's default, another source, or any number of "
            "vCPUs.",
        },
    }


def _found() -> Object:
    """An instancetype or preference."""
    through = {"type": "array", "items": _map(NAMED, "kind", "name")}
    inferred = {
        **_map({**NAMED, **PLACE, "volume": TEXT, "through": through, "field": TEXT}),
        "description": "The volume from which the name was inferred, and the label that has it.",
    }
    return _map({**FOUND, "inferred": inferred}, "kind", "name")


def _field() -> Object:
    """A value of a rendered object."""
    source = _source()
    properties = {
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
    return _map(properties, "path", "value", "source")


def _unset() -> Object:
    """A field that was asked for and that the object lacks."""
    setter = _map({**NAMED, "from": {"enum": list(KINDS)}, "field": TEXT}, "from", "field")
    return _map({"path": TEXT, "setBy": {"type": "array", "items": setter}}, "path", "setBy")


def schema() -> Object:
    """The schema."""
    record = {
        **NAMED,
        **PLACE,
        "release": TEXT,
        "target": TEXT,
        "template": TEXT,
        "instancetype": _found(),
        "preference": _found(),
        "error": TEXT,
        "steps": {
            "type": "array",
            "items": _map({**PLACE, "host": TEXT, "mode": TEXT}, "host", "mode"),
            "description": "The calls of this program that render the object before it is applied, in order.",
        },
        "fields": {"type": "array", "items": _field()},
        "unset": {
            "type": "array",
            "items": _unset(),
            "description": "The fields that were asked for and that the object lacks, with the fields that would set them.",
        },
    }
    required = ("kind", "namespace", "name", "item", "release")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "Where each value of each rendered VM comes from",
        **_map({"vms": {"type": "array", "items": _map(record, *required)}}, "vms"),
    }
