"""Which values a user asks for: by a path, its last part, or a pattern."""

from __future__ import annotations

from fnmatch import fnmatchcase

from krm_fn.base.paths import dotted, get
from krm_fn.explaining.inputs import MATCHERS, PRESET
from krm_fn.kubevirt.holders import POOLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.base.objects import Object
    from krm_fn.kubevirt.releases import Release

GLOB = frozenset("*?")


def names(field: str, path: str) -> bool:
    """True if a field names a path, something around it, or what it ends with."""
    if not GLOB.isdisjoint(field):
        return fnmatchcase(path, field.replace("[", "[[]")) or fnmatchcase(path, f"*.{field.replace('[', '[[]')}")
    return (
        path == field or path.endswith(f".{field}") or f".{path}.".find(f".{field}.") >= 0 or f".{path}".find(f".{field}[") >= 0
    )


def selected(record: Object, field: str) -> Object:
    """The record with the fields that are asked for alone."""
    if "fields" not in record:
        return record
    return {**record, "fields": [each for each in record["fields"] if names(field, each["path"])]}


def unset(record: Object, obj: Object, field: str, release: Release, *, folds: bool) -> list[Object]:
    """What would set the fields of an object's API that are asked for and that its rendered form lacks.

    `folds`: presets are merged into VMs.
    """
    if not GLOB.isdisjoint(field):
        return []
    from krm_fn.explaining.unset import Schema, setters  # seldom asked

    schema, prefix = Schema(obj, release), POOLED if get(obj, POOLED) else ()
    found = []
    for path in schema.named(field):
        inner = path[len(prefix) :] if path[: len(prefix)] == prefix else ()
        setting = [each for each in setters(get(obj, prefix) or {}, inner, release) if folds or each[0] != PRESET]
        found.append(
            {"path": dotted(path).replace("[0]", "[*]"), "setBy": [_setter(record, kind, dotted(at)) for kind, at in setting]}
        )
    return found


def _setter(record: Object, kind: str, field: str) -> Object:
    named = record.get(kind, {}) if kind in MATCHERS else {}
    return {"from": kind, **{key: named[key] for key in ("kind", "namespace", "name") if key in named}, "field": field}
