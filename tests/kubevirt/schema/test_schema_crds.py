"""CustomResourceDefinitions of the bundle tell what their kinds hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from krm_fn.base.bundle import Bundle
from krm_fn.base.errors import InputError
from krm_fn.base.paths import dotted
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt import releases
from krm_fn.kubevirt.schema import examine
from krm_fn.kubevirt.schema.checking import check
from krm_fn.kubevirt.schema.crds import Crds
from krm_fn.kubevirt.schema.flaws import MISSING, RANGE, TYPE, UNKNOWN, VALUE, Flaw

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 9},
                "ratio": {"type": "number"},
                "on": {"type": "boolean", "nullable": True},
                "mode": {"type": "string", "enum": ["Fast", "Slow"]},
                "name": {"type": "string", "pattern": "^[a-z]+$"},
                "amount": {
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                    "pattern": "^[0-9]+(Mi|Gi)?$",
                    "x-kubernetes-int-or-string": True,
                },
                "list": {"type": "array", "items": {"type": "string"}},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "open": {"type": "object", "additionalProperties": True, "properties": {"known": {"type": "string"}}},
                "raw": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "closed": {"type": "object"},
                "template": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "properties": {"spec": {"type": "object"}},
                },
                "anything": {"x-kubernetes-preserve-unknown-fields": True},
            },
        },
    },
}


def definition(schema: Any, *, group: str = "example.com", kind: str = "Thing", **spec: Any) -> dict[str, Any]:
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.lower()}s.{group}"},
        "spec": {"group": group, "names": {"kind": kind}, "versions": versions, **spec},
    }


def thing(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"size": 1, **spec}}


def told(obj: dict[str, Any], *crds: dict[str, Any]) -> list[tuple[str, str]]:
    found = check(obj, releases.NEWEST, Crds(crds or (definition(SCHEMA),)))
    return [(flaw.kind, dotted(flaw.path)) for flaw in found]


GOOD: list[dict[str, Any]] = [
    {"size": 9, "ratio": 0.5, "mode": "Fast", "name": "abc"},
    {"ratio": 1, "on": None},
    {"mode": None, "list": None, "labels": {"x": None}},
    {"amount": 4},
    {"amount": "4Gi"},
    {"list": ["a"], "labels": {"x": "y"}},
    {"open": {"known": "a", "other": 1}},
    {"raw": {"a": [1]}, "closed": {}},
    {"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}}, "spec": {}}},
    {"anything": [1, {"a": None}]},
]


@pytest.mark.parametrize("spec", GOOD)
def test_what_a_definition_allows_is_no_flaw(spec: dict[str, Any]) -> None:
    assert told(thing(**spec)) == []


BAD: list[tuple[dict[str, Any], tuple[str, str]]] = [
    ({"sise": 1}, (UNKNOWN, "spec.sise")),
    ({"size": 0}, (RANGE, "spec.size")),
    ({"size": 10}, (RANGE, "spec.size")),
    ({"size": "1"}, (TYPE, "spec.size")),
    ({"ratio": "1"}, (TYPE, "spec.ratio")),
    ({"mode": "fast"}, (VALUE, "spec.mode")),
    ({"name": "a1"}, (VALUE, "spec.name")),
    ({"name": "abc\n"}, (VALUE, "spec.name")),
    ({"amount": "4Ki"}, (VALUE, "spec.amount")),
    ({"amount": 0.5}, (TYPE, "spec.amount")),
    ({"list": ["a", 1]}, (TYPE, "spec.list[1]")),
    ({"list": {}}, (TYPE, "spec.list")),
    ({"labels": {"x": 1}}, (TYPE, "spec.labels.x")),
    ({"open": {"known": 1}}, (TYPE, "spec.open.known")),
    ({"closed": {"a": 1}}, (UNKNOWN, "spec.closed.a")),
    ({"template": {"metadata": {"label": {}}}}, (UNKNOWN, "spec.template.metadata.label")),
]


@pytest.mark.parametrize(("spec", "flaw"), BAD)
def test_what_a_definition_forbids_is_a_flaw(spec: dict[str, Any], flaw: tuple[str, str]) -> None:
    assert told(thing(**spec)) == [flaw]


def test_required_fields_are_those_of_the_definition() -> None:
    assert told({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {}}) == [(MISSING, "spec")]
    assert told({"apiVersion": "example.com/v1", "kind": "Thing", "spec": {}}) == [(MISSING, "spec.size")]


def test_a_flaw_names_its_definition_and_no_webhook() -> None:
    (flaw,) = check(thing(sise=1), releases.NEWEST, Crds((definition(SCHEMA),)))
    assert (flaw.schema, flaw.upstream, flaw.current) == ("things.example.com", "", UNSET)
    assert "size" in flaw.known


def test_only_the_version_of_the_object_counts() -> None:
    assert told({**thing(sise=1), "apiVersion": "example.com/v2"}) == []


def test_a_version_that_is_not_served_has_no_schema() -> None:
    crd = definition(SCHEMA)
    crd["spec"]["versions"][0]["served"] = False
    assert told(thing(sise=1), crd) == []


def test_a_definition_that_keeps_unknown_fields_allows_them_at_the_top() -> None:
    assert told({**thing(), "data": 1}) == [(UNKNOWN, "data")]
    assert told({**thing(), "data": 1}, definition(SCHEMA, preserveUnknownFields=True)) == []


VM: dict[str, Any] = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "a"},
    "spec": {"template": {"spec": {"domain": {"devices": {}, "brandNew": 1, "mispelt": 1}}}},
}


def test_a_definition_goes_before_the_releases_own_api() -> None:
    domain = {"type": "object", "properties": {"devices": {"type": "object"}, "brandNew": {"type": "integer"}}}
    schema: dict[str, Any] = domain
    for key in ("domain", "spec", "template", "spec"):
        schema = {"type": "object", "properties": {key: schema}}
    crd = definition(schema, group="kubevirt.io", kind="VirtualMachine")
    (flaw,) = check(VM, releases.NEWEST, Crds((crd,)))
    # The release's webhooks know neither field.
    assert (flaw.kind, flaw.path[-1], flaw.upstream) == (UNKNOWN, "mispelt", "admission")


@pytest.mark.parametrize("junk", [None, 1, "a", [], {}, True, [1], {"type": 1}, {"properties": 1}, {"pattern": "("}])
def test_no_shape_of_a_definition_breaks_the_check(junk: Any) -> None:
    told(thing(name="a"), definition(junk))
    told(thing(name="a"), definition({"type": "object", "properties": {"spec": junk}}))
    inner = {"type": "object", "properties": {"name": junk}, "required": junk, "additionalProperties": junk}
    told(thing(name="a", other=1), definition({"type": "object", "properties": {"spec": inner}}))
    crd = definition(SCHEMA)
    for key in ("group", "names", "versions"):
        told(thing(), {**crd, "spec": {**crd["spec"], key: junk}})
    told(thing(), {**crd, "spec": junk})


def test_a_pattern_that_python_cannot_read_is_not_checked() -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {}, "name": {}}}}}
    schema["properties"]["spec"]["properties"]["name"] = {"type": "string", "pattern": r"\p{Greek}"}
    assert told(thing(name="a"), definition(schema)) == []


def test_definitions_of_the_bundle_and_beside_it_are_read() -> None:
    crd = definition(SCHEMA)
    inside = list(examine(Bundle([thing(sise=1), crd]), releases.NEWEST, complete=True))
    beside = list(examine(Bundle([thing(sise=1)]), releases.NEWEST, complete=True, schemas=[crd]))
    assert [len(found.flaws) for found in inside] == [len(found.flaws) for found in beside] == [1]
    assert list(examine(Bundle([thing(sise=1)]), releases.NEWEST, complete=True)) == []


def test_definitions_beside_the_bundle_go_before_its_own() -> None:
    lax = definition({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    assert list(examine(Bundle([thing(sise=1), definition(SCHEMA)]), releases.NEWEST, complete=True, schemas=[lax])) == []


def test_the_flag_reads_the_definitions_of_a_folder(tmp_path: Path) -> None:
    from krm_fn.cli.build_flags import read_schemas

    (tmp_path / "crd.yaml").write_text(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"
    )
    assert [crd["metadata"]["name"] for crd in read_schemas((str(tmp_path),))] == ["a"]


def test_a_folder_without_definitions_is_an_error(tmp_path: Path) -> None:
    from krm_fn.cli.build_flags import read_schemas

    (tmp_path / "map.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n")
    with pytest.raises(InputError, match="no CustomResourceDefinition found in"):
        read_schemas((str(tmp_path),))


def flaws_of(schema: dict[str, Any], **spec: Any) -> list[Flaw]:
    whole = {"type": "object", "properties": {"spec": {"type": "object", **schema}}}
    return list(check(thing(**spec), releases.NEWEST, Crds([definition(whole)])))


def test_of_very_many_values_and_names_none_is_proposed() -> None:
    values = flaws_of({"properties": {"size": {"type": "string", "enum": [f"v{n}" for n in range(1000)]}}}, size="v")
    assert [(flaw.known, flaw.expected) for flaw in values] == [((), "one of the 1,000 values that the schema lists")]
    assert flaws_of({"properties": {"size": {"type": "string", "enum": [f"v{n}" for n in range(1000)]}}}, size="v999") == []
    assert [flaw.known for flaw in flaws_of({"properties": {f"f{n}": {"type": "string"} for n in range(1000)}}, size=1)] == [()]


def test_of_very_many_missing_names_the_first_are_reported_and_how_many_more() -> None:
    names = [f"f{n}" for n in range(50)]
    lax = {"x-kubernetes-preserve-unknown-fields": True}
    found = flaws_of({"required": names, **lax}, f0=1, f30=1)
    assert [flaw.path[-1] for flaw in found] == names[1:11]
    assert [flaw.more for flaw in found] == [*[0] * 9, 38]
    assert [flaw.more for flaw in flaws_of({"required": names[:11], **lax}, f0=1)] == [0] * 10


def test_a_map_that_would_have_to_hold_much_is_not_proposed() -> None:
    def holding(count: int) -> dict[str, Any]:
        return {
            "type": "object",
            "required": [f"f{n}" for n in range(count)],
            "properties": {f"f{n}": {"type": "object"} for n in range(count)},
        }

    found = [flaws_of({"required": ["a"], "properties": {"size": {}, "a": holding(count)}})[0].proposed for count in (2, 101)]
    assert found == [{"f0": {}, "f1": {}}, UNSET]


def test_a_pattern_with_very_many_ways_through_a_text_is_matched() -> None:
    kinds = {"size": {}, "slow": {"type": "string", "pattern": "^(a|a)+$"}}
    crds = Crds([definition({"type": "object", "properties": {"spec": {"type": "object", "properties": kinds}}})])
    assert [flaw.path[-1] for flaw in check(thing(slow="a" * 99 + "!"), releases.NEWEST, crds)] == ["slow"]


def test_no_pattern_is_matched_after_one_that_takes_all_the_work() -> None:
    kinds = {
        "size": {},
        "slow": {"type": "string", "pattern": "(a*)*" * 100 + "b"},
        "name": {"type": "string", "pattern": "^[a-z]+$"},
        "free": {"type": "string", "pattern": "[a-z]+"},
    }
    crds = Crds([definition({"type": "object", "properties": {"spec": {"type": "object", "properties": kinds}}})])
    names = [
        [flaw.path[-1] for flaw in check(thing(**spec), releases.NEWEST, crds)]
        for spec in ({"name": "9", "free": "9"}, {"slow": "a" * 2_000 + "!"}, {"name": "9", "free": "9"})
    ]
    assert names == [["name", "free"], [], ["name", "free"]]  # what is known of equal texts needs no work


@pytest.mark.parametrize("about", [{}, {"subresources": {"status": {}}}])
@pytest.mark.parametrize(("group", "kind"), [("kubevirt.io", "VirtualMachine"), ("example.com", "Thing")])
def test_a_definition_may_refuse_the_object_itself(group: str, kind: str, about: dict[str, Any]) -> None:
    crd = definition({"not": {}}, group=group, kind=kind)
    crd["spec"]["versions"][0].update(about)
    obj = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "a"}, "spec": {"running": True, "template": {}}}
    assert (VALUE, "") in told(obj, crd)
