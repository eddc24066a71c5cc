"""The API of a release as one JSON Schema, for editors that complete and check YAML by schemas.

An editor checks partial objects, too, such as patches, so nothing is required. What JSON Schema can't say, such as rules over
several fields, is left out: `check` reports it.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable, Sequence
from krm_fn.base.objects import Object
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.schema import table
from krm_fn.kubevirt.schema.kinds import KINDS, Kind
from krm_fn.kubevirt.schema.scalars import DURATION_FORM, INTEGERS, QUANTITY_FORM
from krm_fn.kubevirt.schema.table import WEBHOOKS

DRAFT = "http://json-schema.org/draft-07/schema#"  # the one that editors know best
QUANTITY: Object = {"type": ["string", "number"], "pattern": f"^{QUANTITY_FORM}$"}
SCALARS: dict[str, Object] = {
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "number": {"type": "number"},
    "any": {},
    "time": {"type": "string", "format": "date-time"},
    "duration": {"type": "string", "pattern": f"^{DURATION_FORM}$"},
    "int-or-string": {"type": ["integer", "string"]},
    **dict.fromkeys(("quantity", "bare-quantity", "quoted-quantity"), QUANTITY),
    **{word: {"type": "integer", "minimum": low, "maximum": high} for word, (low, high) in INTEGERS.items()},
}
# The keywords of the table that JSON Schema has under the same name, with numbers as values.
COUNTS = ("minimum", "maximum", "minLength", "maxLength")
OF_LISTS = ("minItems", "maxItems")


def schema(release: Release) -> Object:
    """The JSON Schema of all kinds that a release serves. An object of another kind is valid."""
    served = [row for row in KINDS if release.within(since=row.since, until=row.until)]
    made = _Definitions(release)
    rules = [_rule(row, made) for row in served]
    return {
        "$schema": DRAFT,
        "title": f"The kinds of KubeVirt {release}",
        "type": "object",
        "allOf": rules,
        "definitions": made.complete(),
    }


def _rule(row: Kind, made: _Definitions) -> Object:
    versions = [f"{row.group}/{version}" for version in row.versions]
    known = {"apiVersion": {"enum": versions}, "kind": {"const": row.kind}}
    return {"if": {"properties": known, "required": ["apiVersion", "kind"]}, "then": made.reference(row.type)}


class _Definitions:
    """The types that are referred to, each once."""

    def __init__(self, release: Release) -> None:
        self._version = release.version
        self._wanted: list[str] = []
        self._seen: set[str] = set()

    def reference(self, name: str) -> Object:
        """A reference to a type."""
        if name not in self._seen:
            self._seen.add(name)
            self._wanted.append(name)
        return {"$ref": f"#/definitions/{name}"}

    def complete(self) -> Object:
        """All types that are referred to, from others, too."""
        found: Object = {}
        while self._wanted:
            name = self._wanted.pop()
            found[name] = self._type(name)
        return dict(sorted(found.items()))

    def _type(self, name: str) -> Object:
        properties: Object = {}
        for marked, forms in table.forms(name).items():
            for first, last, word, constraints in forms:
                if table.knows(self._version, first, last):
                    properties[marked.removesuffix("!")] = self._value(word, constraints)
        others = properties.pop("*", None)
        return {"type": "object", "properties": properties, "additionalProperties": others if others is not None else False}

    def _value(self, word: str, constraints: Sequence[str]) -> Object:
        name = word.removesuffix("?")
        if name[0] == "[":
            return {"type": "array", "items": self._value(name[1:-1], constraints), **_of_list(constraints)}
        if name[0] == "{":
            return {"type": "object", "additionalProperties": self._value(name[1:-1], constraints)}
        if "." in name:
            return {} if set(constraints) & {"free", "open"} else self.reference(name)
        return {**SCALARS[name], **_of_scalar(constraints)}


def _of_list(constraints: Iterable[str]) -> Object:
    found: Object = {"uniqueItems": True} if "set" in constraints else {}
    return found | {key: int(value) for key, value in _pairs(constraints) if key in OF_LISTS}


def _of_scalar(constraints: Iterable[str]) -> Object:
    found: dict[str, Any] = {}
    for key, value in _pairs(constraints):
        if key in COUNTS:
            found[key] = int(value)
        elif key == "enum":
            found[key] = [each for each in value.split("|") if each]
        elif key == "pattern":
            found[key] = value
    return found


def _pairs(constraints: Iterable[str]) -> Iterable[tuple[str, str]]:
    for constraint in constraints:
        key, _, value = constraint.removeprefix(WEBHOOKS).partition("=")
        yield key, value
