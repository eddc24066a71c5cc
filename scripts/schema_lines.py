"""The fields of one release's API in the words of `krm_fn/kubevirt/schema/api.txt`.

`krm_fn/kubevirt/schema/table.py` says what the words mean.

`lines(types)` takes what `kubevirt_api.read` gives, and returns {type: {field: words}}: the types that the kinds of
`krm_fn/kubevirt/schema/kinds.py` lead to, by their short names. A required field has a `!` behind its name.
"""

from __future__ import annotations

import re
from typing import Any

from kubevirt_api import Schema, Types

from krm_fn.kubevirt.schema.kinds import KINDS
from krm_fn.kubevirt.schema.scalars import FORMATS, INTEGERS, QUANTITY_FORM

Field = dict[str, Any]

SHORTER = {
    "k8s.io.api.core.v1.": "core.",
    "k8s.io.apimachinery.pkg.apis.meta.v1.": "meta.",
    "k8s.io.apimachinery.pkg.": "machinery.",
}
NOT_KUBEVIRTS = tuple(SHORTER.values())
# Types that Go's decoder reads from something else than the structure that they are.
PLAIN = {
    "machinery.api.resource.Quantity": "quantity",
    "machinery.util.intstr.IntOrString": "int-or-string",
    "meta.Duration": "duration",
    "meta.Time": "time",
    "meta.FieldsV1": "any",
}
UNIONS = {("string", "number"): "int-or-string", ("string", "null"): "time"}
# What Go reads where KubeVirt's own schema takes anything.
READ: dict[tuple[str, str], Any] = {
    ("v1.ResourceRequirements", field): {"*": "bare-quantity"} for field in ("limits", "requests")
}
EITHER = [{"type": "integer"}, {"type": "string"}]
# What a CRD says of a place of each word without saying more than the word.
SAID: dict[str, Schema] = {
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "number": {"type": "number"},
    "duration": {"type": "string"},
    "time": {"type": "string", "format": "date-time"},
    "int-or-string": {"anyOf": EITHER, "x-kubernetes-int-or-string": True},
    "quantity": {"anyOf": EITHER, "x-kubernetes-int-or-string": True, "pattern": f"^{QUANTITY_FORM}$"},
}
# What refuses no object: who owns which part of it, and what is filled in.
SILENT = frozenset(("default", "x-kubernetes-map-type", "nullable"))
# What is written as it is called, and whether it is about a list or about what stands in one.
OF_LIST = ("maxItems", "minItems")
OF_VALUE = ("minimum", "maximum", "pattern", "maxLength", "minLength")


def lines(types: Types) -> dict[str, dict[str, str]]:
    """The words of every field of every type, both by name.

    Raises: ValueError where a CRD says something that the words can't.
    """
    return _Release(types).lines()


def shorter(name: str) -> str:
    """A type's name as the table has it."""
    for long, short in SHORTER.items():
        if name.startswith(long):
            return short + name.removeprefix(long)
    return name


class _Release:
    """One run over the types of a release."""

    def __init__(self, types: Types) -> None:
        self.types = {shorter(name): found for name, found in types.items()}

    def lines(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        todo = [row.type for row in KINDS if row.type in self.types]
        for name in todo:
            if name not in found:
                fields = self.types[name]["fields"]
                found[name] = {field + "!" * self.is_required(name, field): self.line(name, field) for field in sorted(fields)}
                todo += [word for field in fields for word in self.structures(name, field)]
        return found

    def is_required(self, owner: str, field: str) -> bool:
        """True where the CRD requires the field, too: KubeVirt's `spec` only the CRD does."""
        found = self.types[owner]
        return bool(found["fields"][field]["required"]) or field in found.get("crd", {}).get("required", ())

    def structures(self, owner: str, field: str) -> list[str]:
        """The structure that a field leads to, if it leads to one."""
        word = self.word(owner, field).strip("[]{}?")
        return [word] if "." in word else []

    def line(self, owner: str, field: str) -> str:
        """The type, and the constraints: the CRD's, and those of KubeVirt's webhooks only."""
        found = self.types[owner]["fields"][field]
        word, crd = self.word(owner, field), found.get("crd")
        words = [word]
        words += self.constraints(owner, field, word, crd) if crd is not None else ()
        enum = self.enum(found["openapi"])
        words += [f"webhooks:enum={'|'.join(enum)}"] if enum else []
        words += ["webhooks:nonnull"] if "?" in word and not self.is_nullable_to_webhooks(field, found) else []
        for each in words:
            if set(each) & set(" \t\n"):
                raise ValueError(f"the form can't hold {each!r} of {owner}.{field}")
        return " ".join(words)

    def is_nullable_to_webhooks(self, field: str, found: Field) -> bool:
        """True for every status that is a structure, and the times of conditions.

        upstream: pkg/util/openapi/openapi.go:LoadOpenAPISpec
        """
        return found["type"] == ["string", "null"] or (field == "status" and found["type"] != "string")

    def word(self, owner: str, field: str) -> str:
        """The type of a field, in the table's words.

        Raises: ValueError for an integer of KubeVirt's whose width is not known: OpenAPI doesn't say it.
        """
        found = self.types[owner]["fields"][field]
        go = found.get("go", "")
        if "integer" in str(found["type"]) and not owner.startswith(NOT_KUBEVIRTS) and go.rpartition("]")[2] not in INTEGERS:
            raise ValueError(f"the Go type of {owner}.{field} is {go or 'not found'}; expected one of {', '.join(INTEGERS)}")
        crd = found.get("crd", {})
        if self.is_nullable_to_webhooks(field, found):
            crd = {**crd, "nullable": True}
        return self.worded(READ.get((owner, field), found["type"]), go, found["openapi"], crd)

    def worded(self, given: Any, go: str, openapi: Schema, crd: Schema) -> str:
        return self.bare(given, go, openapi, crd) + "?" * bool(crd.get("nullable"))

    def bare(self, given: Any, go: str, openapi: Schema, crd: Schema) -> str:
        if isinstance(given, list) and tuple(given) in UNIONS:
            return UNIONS[tuple(given)]
        if isinstance(given, list):
            return f"[{self.worded(given[0], go.removeprefix('[]'), openapi.get('items', {}), crd.get('items', {}))}]"
        if isinstance(given, dict):
            below = openapi.get("additionalProperties", {}), crd.get("additionalProperties", {})
            return f"{{{self.worded(given['*'], go.partition(']')[2], *below)}}}"
        if given == "integer":
            return go if go in INTEGERS else str(openapi["format"])
        return self.named(shorter(given))

    def named(self, name: str) -> str:
        """The word of a type of JSON, or of one that has a name."""
        found = self.types.get(name)
        if found is None:
            return "{any}" if name == "object" else name
        is_structure = found["fields"] or found["openapi"].get("type") == "object"
        return PLAIN.get(name) or (name if is_structure else str(found["openapi"]["type"]))

    def enum(self, openapi: Schema) -> list[str]:
        for below in ("items", "additionalProperties"):
            openapi = openapi[below] if isinstance(openapi.get(below), dict) else openapi
        return sorted(openapi.get("enum", ()))

    def constraints(self, owner: str, field: str, word: str, crd: Schema) -> list[str]:
        """The constraints of the CRD, as words.

        Raises: ValueError for a constraint without a word.
        """
        word = word.removesuffix("?")
        if word[0] in "[{":
            key, kind = ("items", "array") if word[0] == "[" else ("additionalProperties", "object")
            below = crd.get(key)
            words = self.of_list(crd) if key == "items" else []
            rest = {name: value for name, value in crd.items() if name not in SILENT and name not in OF_LIST}
            rest = {name: value for name, value in rest.items() if not name.startswith("x-kubernetes-list-")}
            if rest != {"type": kind, key: below} or not isinstance(below, dict):
                raise ValueError(f"{owner}.{field}: {word} is {crd} in the CRD")
            return words + self.constraints(owner, field, word[1:-1], below)
        return self.of_value(owner, field, word, crd)

    def of_list(self, crd: Schema) -> list[str]:
        words = [f"{key}={crd[key]}" for key in OF_LIST if key in crd]
        kind = crd.get("x-kubernetes-list-type", "atomic")
        if kind != "atomic":
            words.append("set" if kind == "set" else f"keys={','.join(crd['x-kubernetes-list-map-keys'])}")
        return words

    def of_value(self, owner: str, field: str, word: str, crd: Schema) -> list[str]:
        said = dict(self.said(word))
        rest = {key: value for key, value in crd.items() if key not in SILENT and said.pop(key, None) != value}
        words = []
        if "format" in rest or "format" in said:
            words.append(f"format={rest.pop('format', '')}")
            said.pop("format", None)
        words += [f"enum={'|'.join(rest.pop('enum'))}"] if "enum" in rest else []
        words += [f"{key}={rest.pop(key)}" for key in OF_VALUE if key in rest]
        words += [self.lax(word)] if rest.pop("x-kubernetes-preserve-unknown-fields", False) else []
        words += [f"rule={spaceless(rule['rule'])}" for rule in rest.pop("x-kubernetes-validations", ())]
        rest.pop("required", None)  # the fields themselves have it
        if rest or said:
            raise ValueError(f"{owner}.{field}: {word} is {crd} in the CRD")
        return words

    def lax(self, word: str) -> str:
        """`open` where the CRD takes any key besides the fields, `free` where it knows none of the fields either."""
        fields = self.types[word]["fields"].values()
        return "open" if any("crd" in field for field in fields) else "free"

    def said(self, word: str) -> Schema:
        """What a CRD says of a place of this word, if it says nothing more."""
        if word in INTEGERS:
            return {"type": "integer", **({"format": FORMATS[word]} if word in FORMATS else {})}
        return SAID["quantity"] if word == "bare-quantity" else SAID.get(word, {"type": "object"})


def spaceless(rule: str) -> str:
    """A CEL rule without blanks, which mean nothing outside of its texts.

    Raises: ValueError where one stands in a text.
    """
    parts = re.split(r"""('[^']*'|"[^"]*")""", rule)
    if any(" " in part for part in parts[1::2]):
        raise ValueError(f"a text in {rule!r} has a blank")
    return "".join("".join(part.split()) for part in parts)
