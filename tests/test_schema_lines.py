"""The words of a field in the table of types."""

from __future__ import annotations

from typing import Any

import pytest
from schema_lines import lines

QUANTITY, TIME = "k8s.io.apimachinery.pkg.api.resource.Quantity", "k8s.io.apimachinery.pkg.apis.meta.v1.Time"


def field(given: Any, *, required: bool = False, go: str = "", **openapi: Any) -> dict[str, Any]:
    return {"type": given, "required": required, "openapi": openapi} | ({"go": go} if go else {})


def types(**fields: dict[str, Any]) -> dict[str, Any]:
    """A VM with these fields, and the types that they may lead to."""
    return {
        "v1.VirtualMachine": {"fields": fields, "openapi": {"type": "object"}},
        "v1.Empty": {"fields": {}, "openapi": {"type": "object"}},
        "v1.Unused": {"fields": {"x": field("string")}, "openapi": {"type": "object"}},
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
        (field("string", enum=["a", "b"], pattern="^[ab]$"), "string enum=a|b pattern=^[ab]$"),
        (field("integer", go="uint32", format="int64", minimum=1, maximum=9), "uint32 minimum=1 maximum=9"),
        (field("integer", go="int", format="int32"), "int64"),
        (field("integer", go="uint", format="int32"), "uint64"),
        (field(["integer"], go="[]int"), "[int64]"),
        (field({"*": "integer"}, go="map[string]uint"), "{uint64}"),
        (field(["string"], items={"enum": ["a", "b"]}), "[string] enum=a|b"),
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
def test_a_field_has_its_type_and_its_constraints(given: dict[str, Any], words: str) -> None:
    assert lines(types(a=given))["v1.VirtualMachine"] == {"a": words}


def test_a_required_field_is_marked() -> None:
    assert lines(types(a=field("string", required=True)))["v1.VirtualMachine"] == {"a!": "string"}


def test_a_status_may_be_null() -> None:
    assert lines(types(status=field("v1.Empty")))["v1.VirtualMachine"] == {"status": "v1.Empty?"}


def test_types_are_those_that_the_kinds_lead_to() -> None:
    found = lines(types(a=field("v1.Empty"), b=field({"*": ["k8s.io.api.core.v1.Toleration"]}), c=field(TIME)))
    assert sorted(found) == ["core.Toleration", "v1.Empty", "v1.KubeVirt", "v1.KubeVirtSpec", "v1.VirtualMachine"]
    assert (found["v1.Empty"], found["core.Toleration"]) == ({}, {"seconds": "int64"})


def test_words_with_blanks_are_refused() -> None:
    with pytest.raises(ValueError, match=r"can't hold 'enum=two words' of v1\.VirtualMachine\.a"):
        lines(types(a=field("string", enum=["two words"])))


def test_an_integer_of_kubevirt_has_a_go_type() -> None:
    with pytest.raises(
        ValueError, match=r"^the Go type of v1\.VirtualMachine\.a is not found; expected one of int, uint, uint32"
    ):
        lines(types(a=field("integer", format="int64")))
