"""The part of the schema of `diff` about renames."""

from __future__ import annotations

from krm_fn.base.objects import Object
from krm_fn.changes.owners import KINDS
from krm_fn.changes.renames import SIGNS
from krm_fn.sizing.schema import TEXT, closed


def names() -> Object:
    """The definitions."""
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
