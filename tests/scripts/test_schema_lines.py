"""The words of a field in the table of types."""

from __future__ import annotations

from typing import Any

import pytest
from schema_lines import lines

from krm_fn.kubevirt.schema.scalars import QUANTITY_FORM

QUANTITY, TIME = "k8s.io.apimachinery.pkg.api.resource.Quantity", "k8s.io.apimachinery.pkg.apis.meta.v1.Time"


QUANTITY_SAID = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": f"^{QUANTITY_FORM}$",
    "x-kubernetes-int-or-string": True,
}
STRING = {"type": "string"}


def field(given: Any, *, required: bool = False, go: str = "", crd: Any = None, **openapi: Any) -> dict[str, Any]:
    found = {"type": given, "required": required, "openapi": openapi} | ({"go": go} if go else {})
    return found | ({"crd": crd} if crd else {})


def types(**fields: dict[str, Any]) -> dict[str, Any]:
    """A VM with these fields, and the types that they may lead to."""
    return {
        "v1.VirtualMachine": {"fields": fields, "openapi": {"type": "object"}, "crd": {"required": ["wanted"]}},
        "v1.Empty": {"fields": {}, "openapi": {"type": "object"}},
        "v1.Seen": {"fields": {"x": field("string", crd=STRING)}, "openapi": {"type": "object"}},
        "v1.Unseen": {"fields": {"x": field("string")}, "openapi": {"type": "object"}},
        QUANTITY: {"fields": {}, "openapi": {"type": "string"}},
        TIME: {"fields": {}, "openapi": {"type": "string", "format": "date-time"}},
        "k8s.io.api.core.v1.Toleration": {
            "fields": {"seconds": field("integer", format="int64")},
            "openapi": {"type": "object"},
        },
    }


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (field("string"), "string"),
        (field("integer", go="uint32", format="int64"), "uint32"),
        (field("integer", go="int", format="int32"), "int"),
        (field(["integer"], go="[]int"), "[int]"),
        (field({"*": "integer"}, go="map[string]uint"), "{uint}"),
        (field(["string", "number"]), "int-or-string"),
        (field(["string", "null"]), "time?"),
        (field(QUANTITY), "quantity"),
        (field({"*": QUANTITY}), "{quantity}"),
        (field(TIME), "time"),
        (field("object"), "{any}"),
        (field("v1.Empty"), "v1.Empty"),
        (field(["k8s.io.api.core.v1.Toleration"]), "[core.Toleration]"),
    ],
)
def test_a_field_has_its_type(given: dict[str, Any], words: str) -> None:
    assert lines(types(a=given))["v1.VirtualMachine"] == {"a": words}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (field("string", enum=["b", "a"]), "string webhooks:enum=a|b"),
        (field(["string"], items={"enum": ["a", "b"]}), "[string] webhooks:enum=a|b"),
    ],
)
def test_webhooks_require_what_kubevirts_own_schema_requires(given: dict[str, Any], words: str) -> None:
    assert lines(types(a=given))["v1.VirtualMachine"] == {"a": words}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        # What follows from the type is not said again.
        (field("string", crd=STRING), "string"),
        (field("integer", go="uint32", crd={"type": "integer", "format": "int32"}), "uint32"),
        (field("integer", go="uint", crd={"type": "integer"}), "uint"),
        (field(QUANTITY, crd=QUANTITY_SAID), "quantity"),
        (field(TIME, crd={"type": "string", "format": "date-time"}), "time"),
        (field(["string"], crd={"type": "array", "items": STRING, "x-kubernetes-list-type": "atomic"}), "[string]"),
        (field({"*": "string"}, crd={"type": "object", "additionalProperties": STRING}), "{string}"),
        (field("v1.Empty", crd={"type": "object", "x-kubernetes-map-type": "atomic"}), "v1.Empty"),
        (field("string", crd={"type": "string", "default": "a"}), "string"),
        # What does not is.
        (field("string", crd={"type": "string", "enum": ["b", "a"]}), "string enum=b|a"),
        (field("string", crd={"type": "string", "pattern": "^[ab]$"}), "string pattern=^[ab]$"),
        (field("string", crd={"type": "string", "minLength": 1, "maxLength": 9}), "string maxLength=9 minLength=1"),
        (
            field("integer", go="uint32", crd={"type": "integer", "format": "int64", "minimum": 0, "maximum": 9}),
            "uint32 format=int64 minimum=0 maximum=9",
        ),
        (field("integer", go="int64", crd={"type": "integer"}), "int64 format="),
        (
            field(["string"], crd={"type": "array", "items": STRING, "maxItems": 9, "minItems": 1}),
            "[string] maxItems=9 minItems=1",
        ),
        (field(["string"], crd={"type": "array", "items": STRING, "x-kubernetes-list-type": "set"}), "[string] set"),
        (
            field(
                ["v1.Seen"],
                crd={
                    "type": "array",
                    "items": {"type": "object"},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["a", "b"],
                },
            ),
            "[v1.Seen] keys=a,b",
        ),
        (field(["string"], crd={"type": "array", "items": {"type": "string", "enum": ["a"]}}), "[string] enum=a"),
        (
            field("boolean", crd={"type": "boolean", "x-kubernetes-validations": [{"rule": "self == true", "message": "no"}]}),
            "boolean rule=self==true",
        ),
        (field("v1.Seen", crd={"type": "object", "x-kubernetes-preserve-unknown-fields": True}), "v1.Seen open"),
        (field("v1.Unseen", crd={"type": "object", "x-kubernetes-preserve-unknown-fields": True}), "v1.Unseen free"),
        (field("string", crd={"type": "string", "nullable": True}), "string? webhooks:nonnull"),
        (
            field(["v1.Seen"], crd={"type": "array", "items": {"type": "object", "nullable": True}}),
            "[v1.Seen?] webhooks:nonnull",
        ),
    ],
)
def test_a_field_has_the_other_constraints_of_its_definition(given: dict[str, Any], words: str) -> None:
    assert lines(types(a=given))["v1.VirtualMachine"] == {"a": words}


@pytest.mark.parametrize(
    ("given", "crd"),
    [
        ("string", {"type": "string", "format": "uuid", "oneOf": []}),
        ("string", {"type": "integer"}),
        ("integer", {"type": "integer", "multipleOf": 2}),
        (["string"], {"type": "array", "items": STRING, "uniqueItems": True}),
        (["string"], {"type": "object", "items": STRING}),
        (QUANTITY, {"type": "string"}),
    ],
)
def test_what_a_definition_says_and_the_words_cannot_is_an_error(given: Any, crd: Any) -> None:
    with pytest.raises(ValueError, match=r"^v1\.VirtualMachine\.a: .* in the CRD$"):
        lines(types(a=field(given, go="int", crd=crd)))


def test_a_required_field_is_marked() -> None:
    assert lines(types(a=field("string", required=True)))["v1.VirtualMachine"] == {"a!": "string"}


def test_a_field_that_only_the_definition_requires_is_marked() -> None:
    assert lines(types(wanted=field("string")))["v1.VirtualMachine"] == {"wanted!": "string"}


def test_a_status_may_be_null() -> None:
    assert lines(types(status=field("v1.Empty")))["v1.VirtualMachine"] == {"status": "v1.Empty?"}


def test_types_are_those_that_the_kinds_lead_to() -> None:
    found = lines(types(a=field("v1.Empty"), b=field({"*": ["k8s.io.api.core.v1.Toleration"]}), c=field(TIME)))
    assert sorted(found) == ["core.Toleration", "v1.Empty", "v1.VirtualMachine"]
    assert (found["v1.Empty"], found["core.Toleration"]) == ({}, {"seconds": "int64"})


@pytest.mark.parametrize("crd", [{"type": "string", "enum": ["two words"]}, {"type": "string", "pattern": "a b"}])
def test_words_with_blanks_are_refused(crd: Any) -> None:
    with pytest.raises(ValueError, match=r"the form can't hold '\w+=\w+ \w+' of v1\.VirtualMachine\.a"):
        lines(types(a=field("string", crd=crd)))


def test_a_rule_with_a_blank_in_a_text_is_refused() -> None:
    rule = {"rule": "self != 'a b'", "message": "no"}
    with pytest.raises(ValueError, match="has a blank"):
        lines(types(a=field("string", crd={"type": "string", "x-kubernetes-validations": [rule]})))


def test_an_integer_of_kubevirt_has_a_go_type() -> None:
    with pytest.raises(
        ValueError, match=r"^the Go type of v1\.VirtualMachine\.a is not found; expected one of int, int32, int64, uint"
    ):
        lines(types(a=field("integer", format="int64")))
