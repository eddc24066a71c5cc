"""The table of types: what its generator writes, and that every field of it is found again."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from krm_fn import releases
from krm_fn.bundle import Bundle
from krm_fn.schema import FILE, examine, has_strange_key, table

ROOT = Path(__file__).resolve().parents[1]
FIELDS = ROOT.parent / "shared" / "api" / "fields.json"
MAKE = runpy.run_path(str(ROOT / "scripts" / "make_schema.py"))["make"]
needs_fields = pytest.mark.skipif(not FIELDS.exists(), reason="the facts about the API's fields are not beside this checkout")

ALL = [releases.parse(f"1.{minor}") for minor in range(4, 10)]

FACTS: dict[str, Any] = {
    "order": ["v1.4.1", "v1.5.3", "v1.6.6"],
    "types": {
        "v1.Thing": {
            "releases": ["v1.4.1", "v1.6.6"],
            "fields": {
                "amount": {"type": "k8s.io.apimachinery.pkg.api.resource.Quantity", "required": True},
                "amounts": {"type": {"*": "k8s.io.apimachinery.pkg.api.resource.Quantity"}},
                "count": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 9},
                "empty": {"type": "v1.Empty"},
                "gone": {"type": "string", "releases": ["v1.4.1", "v1.5.3"]},
                "parts": [
                    {"type": ["v1.Old"], "releases": ["v1.4.1", "v1.4.1"]},
                    {"type": ["v1.New"], "releases": ["v1.5.3", "v1.6.6"]},
                ],
                "port": {"type": ["string", "number"]},
                "status": {"type": "v1.Empty"},
                "time": {"type": ["string", "null"]},
                "word": {"type": "string", "enum": ["a", "b"], "pattern": "^[ab]$"},
            },
        },
        "v1.Old": {"releases": ["v1.4.1", "v1.4.1"], "fields": {"x": {"type": "string"}, "y": {"type": "boolean"}}},
        "v1.New": {"releases": ["v1.5.3", "v1.6.6"], "fields": {"x": {"type": "string"}}},
        "v1.Empty": {"releases": ["v1.4.1", "v1.6.6"], "type": "object"},
        "k8s.io.apimachinery.pkg.api.resource.Quantity": {"releases": ["v1.4.1", "v1.6.6"], "type": ["string", "integer"]},
    },
}

WRITTEN = """\
[strange]
1.4
1.5 y
1.6 gone y

[v1.Empty]

[v1.New]
x string

[v1.Old]
x string
y boolean

[v1.Thing]
amount! quantity
amounts {quantity}
count int32 minimum=1 maximum=9
empty v1.Empty
gone 1.4-1.5 string
parts 1.4-1.4 [v1.Old]
parts 1.5- [v1.New]
port int-or-string
status v1.Empty?
time time?
word string enum=a|b pattern=^[ab]$
"""


def test_the_generator_writes_a_line_for_each_form_of_a_field() -> None:
    head, _, rest = MAKE(FACTS).partition("\n\n")
    assert head.startswith("# ")
    assert rest.partition("\n[v1.KubeVirt]")[0] == WRITTEN


def test_the_generator_refuses_what_its_form_cannot_hold() -> None:
    field = {"type": "string", "enum": ["two words"]}
    facts = {"order": ["v1.4.1"], "types": {"v1.A": {"releases": ["v1.4.1", "v1.4.1"], "fields": {"a": field}}}}
    with pytest.raises(ValueError, match="two words"):
        MAKE(facts)


@needs_fields
def test_the_table_is_what_the_generator_makes_of_the_facts() -> None:
    assert Path(FILE).read_text() == MAKE(json.loads(FIELDS.read_text()))


def names() -> list[str]:
    """All types of the table."""
    lines = Path(FILE).read_text().splitlines()
    return [line[1:-1] for line in lines if line.startswith("[") and line != "[strange]"]


@pytest.mark.parametrize("release", ALL, ids=str)
def test_every_type_of_the_table_can_be_decoded_in_every_release(release: releases.Release) -> None:
    found = table.of(release)
    for name in names():
        node = found.node(name)
        for below in node.fields.values():
            assert below.fields is not None


@needs_fields
@pytest.mark.parametrize("release", ALL, ids=str)
def test_a_type_has_the_fields_that_the_facts_give_it(release: releases.Release) -> None:
    facts = json.loads(FIELDS.read_text())
    order = [release.removeprefix("v").rpartition(".")[0] for release in facts["order"]]
    minor = ".".join(map(str, release.version[:2]))

    def lives(row: dict[str, Any], owner: dict[str, Any]) -> bool:
        first, last = (order.index(end[1:].rpartition(".")[0]) for end in row.get("releases", owner["releases"]))
        return first <= order.index(minor) <= last or owner["releases"] == row.get("releases", owner["releases"])

    for name, owner in facts["types"].items():
        if name.startswith("v1") and "fields" in owner:
            forms = {field: form if isinstance(form, list) else [form] for field, form in owner["fields"].items()}
            wanted = {field for field, rows in forms.items() if any(lives(row, owner) for row in rows)}
            required = {f for f, rows in forms.items() if any(lives(row, owner) and row.get("required") for row in rows)}
            node = table.of(release).node(name)
            assert (set(node.fields), set(node.required)) == (wanted, required)


@pytest.mark.parametrize("release", [*ALL, *map(releases.parse, ("1.4.0", "1.5.0", "1.6.3"))], ids=str)
def test_every_field_that_a_release_lacks_is_strange_to_it(release: releases.Release) -> None:
    lacked = set()
    for name in names():
        fields = table.forms(name)
        here = {
            f.removesuffix("!") for f, forms in fields.items() if any(table.knows(release.version, *form[:2]) for form in forms)
        }
        lacked |= {field.removesuffix("!") for field in fields} - here
    assert [field for field in sorted(lacked) if not has_strange_key({"a": [{"b": {field: 1}}]}, release)] == []


def test_an_object_without_strange_keys_has_none() -> None:
    assert not has_strange_key({"spec": {"domain": {"devices": {"disks": [{"name": "a"}]}}}}, releases.NEWEST)


def preference(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePreference",
        "metadata": {"name": "a"},
        "spec": spec,
    }


def test_rendering_asks_for_fields_of_other_releases_only() -> None:
    bundle = Bundle([preference(preferredLaunchSecurity={}, cpus=1), preference(cpus=1)])
    (found,) = examine(bundle, releases.parse("1.8"), whole=False)
    assert [flaw.path for flaw in found.flaws] == [("spec", "preferredLaunchSecurity")]
    assert (found.entry.item, found.troubled) == (0, True)


def test_rendering_passes_over_kinds_that_it_does_not_read() -> None:
    preset = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstancePreset", "metadata": {"name": "a"}}
    spec = {"selector": {}, "domain": {"devices": {}, "rebootPolicy": "a"}}
    bundle = Bundle([{**preset, "spec": spec}])
    assert list(examine(bundle, releases.parse("1.7"), whole=False)) == []
    assert len(list(examine(bundle, releases.parse("1.7"), whole=True))) == 1


def test_places_of_which_something_was_said_already_can_be_left_out() -> None:
    (found,) = examine(Bundle([preference(cpus=1, cpux=1)]), releases.NEWEST, whole=True)
    assert [flaw.path for flaw in found.without({("spec", "cpus")}).flaws] == [("spec", "cpux")]
