"""Which values a user asks for: by a path, its last part, or a pattern."""

from __future__ import annotations

from fnmatch import fnmatchcase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.base.objects import Object

GLOB = frozenset("*?")


def is_pattern(field: str) -> bool:
    return not GLOB.isdisjoint(field)


def names(field: str, path: str) -> bool:
    """True if a field names a path, something around it, or what it ends with."""
    if is_pattern(field):
        return fnmatchcase(path, field.replace("[", "[[]")) or fnmatchcase(path, f"*.{field.replace('[', '[[]')}")
    return (
        path == field or path.endswith(f".{field}") or f".{path}.".find(f".{field}.") >= 0 or f".{path}".find(f".{field}[") >= 0
    )


def selected(record: Object, field: str) -> Object:
    """The record with the fields that are asked for alone."""
    if "fields" not in record:
        return record
    return {**record, "fields": [each for each in record["fields"] if names(field, each["path"])]}
