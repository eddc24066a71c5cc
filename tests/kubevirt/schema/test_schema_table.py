"""The table of types: what it says of each release, and that every field of it is found again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import measured
import pytest
from api_table import decode
from upstream import package_releases, version_of

from krm_fn.base.bundle import Bundle, Entry
from krm_fn.kubevirt import releases
from krm_fn.kubevirt.schema import FILE, constraints, examine, strange_names, table

ALL = [releases.parse(f"1.{minor}") for minor in range(10)]


@pytest.mark.parametrize(
    ("version", "first", "last", "known"),
    [
        ((1, 6, 3), (1, 6), (1, 6), True),
        ((1, 6, 3), (1, 6, 4), (1, 6), False),
        ((1, 6, 3), (1, 4), (1, 6, 3), True),
        ((1, 6, 4), (1, 4), (1, 6, 3), False),
        ((1, 5, 3), (1, 4, 1), (1, 4), False),
    ],
)
def test_a_span_ends_with_a_minor_release_or_with_a_patch_of_it(
    version: tuple[int, ...], first: tuple[int, ...], last: tuple[int, ...], known: bool
) -> None:
    assert table.knows(version, first, last) is known


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


NUMBERS = frozenset(("int", "int32", "int64", "uint", "uint8", "uint32", "uint64"))
PLAIN = {"Quantity": "quantity", "IntOrString": "int-or-string", "Duration": "duration", "Time": "time", "FieldsV1": "any"}


def messages(release: str, facts: dict[str, Any]) -> dict[str, dict[str, str]]:
    """What the facts say of the fields of a release: {type: {field, `!` behind it where it is required: its type}}."""
    at, order = facts["order"].index(release), facts["order"]

    def lives(row: dict[str, Any], owner: dict[str, Any]) -> bool:
        first, last = row.get("releases", owner["releases"])
        return order.index(first) <= at <= order.index(last)

    found: dict[str, dict[str, str]] = {}
    for name, owner in facts["types"].items():
        for field, forms in owner.get("fields", {}).items() if lives(owner, owner) else ():
            for form in forms if isinstance(forms, list) else [forms]:
                if lives(form, owner):
                    words = [typed(form["type"], facts), *(f"enum={'|'.join(form['enum'])}" for _ in form.get("enum", ())[:1])]
                    found.setdefault(short(name), {})[field + "!" * form.get("required", False)] = " ".join(words)
    return found


def typed(given: Any, facts: dict[str, Any]) -> str:
    """A type of the facts as the table has it, with one word for all numbers."""
    match given:
        case ["string", "number"]:
            return "int-or-string"
        case ["string", "null"]:
            return "time?"
        case [entry]:
            return f"[{typed(entry, facts)}]"
        case {"*": value}:
            return f"{{{typed(value, facts)}}}"
        case "object":
            return "{any}"
    found = facts["types"].get(given, {"type": given})
    return PLAIN.get(given.rpartition(".")[2]) or (short(given) if found.get("type", "object") == "object" else found["type"])


def short(name: str) -> str:
    return name.replace("k8s.io.api.core.v1.", "core.").replace("k8s.io.apimachinery.pkg.apis.meta.v1.", "meta.")


def loose(words: str) -> str:
    """What the table says of a field with all that the facts don't know left out."""
    word, *asked = words.replace("bare-quantity", "quantity").split(" ")
    word = word if word == "time?" and "webhooks:nonnull" not in asked else word.replace("?", "")
    bare = word.strip("[]{}")
    kept = [each.removeprefix("webhooks:") for each in asked if each.startswith("webhooks:enum=") and bare == word]
    return " ".join([word.replace(bare, "integer") if bare in NUMBERS else word, *kept])


MEASURED = ["v1.0.1", "v1.1.1", "v1.2.2", "v1.3.1", "v1.4.1", "v1.5.3", "v1.6.6", "v1.7.4", "v1.8.4", "v1.9.0"]


@pytest.mark.parametrize("release", MEASURED)
def test_the_table_says_of_a_field_what_the_facts_say(release: str) -> None:
    wanted = messages(release, measured.fields())
    table_says = decode(Path(FILE).read_text(), package_releases())[version_of(release.removeprefix("v"))]
    found = {
        name: {field: loose(words) for field, words in fields.items()} for name, fields in table_says.items() if name in wanted
    }
    for name, field in (("v1.ResourceRequirements", "limits"), ("v1.ResourceRequirements", "requests")):
        wanted[name][field] = "{quantity}"  # the API of 1.4 says nothing of them
    assert found == wanted


def test_every_rule_of_a_definition_is_evaluated() -> None:
    lines = Path(FILE).read_text().splitlines()
    rules = {word.removeprefix("rule=") for line in lines for word in line.split(" ") if word.startswith("rule=")}
    assert rules - set(constraints.RULES) == set()
    assert rules


EARLIER_PATCHES = [releases.parse(text) for text in ("1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0", "1.6.3")]


def may_have(release: releases.Release, obj: dict[str, Any]) -> bool:
    """True if an object may have a field that only other releases have."""
    return Entry(obj=obj, item=0).may_have(strange_names(release))


@pytest.mark.parametrize("release", [*ALL, *EARLIER_PATCHES], ids=str)
def test_every_field_that_a_type_of_a_release_lacks_is_strange_to_it(release: releases.Release) -> None:
    lacked = set()
    for name in names():
        fields = table.forms(name)
        here = {
            f.removesuffix("!") for f, forms in fields.items() if any(table.knows(release.version, *form[:2]) for form in forms)
        }
        lacked |= {field.removesuffix("!") for field in fields} - here if here else set()
    assert [field for field in sorted(lacked) if not may_have(release, {"a": [{"b": {field: 1}}]})] == []


def test_an_object_without_strange_keys_has_none() -> None:
    assert not may_have(releases.NEWEST, {"spec": {"domain": {"devices": {"disks": [{"name": "a"}]}}}})


def preference(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePreference",
        "metadata": {"name": "a"},
        "spec": spec,
    }


def test_rendering_checks_fields_of_other_releases_only() -> None:
    bundle = Bundle([preference(preferredLaunchSecurity={}, cpus=1), preference(cpus=1)])
    (found,) = examine(bundle, releases.parse("1.8"), complete=False)
    assert [flaw.path for flaw in found.flaws] == [("spec", "preferredLaunchSecurity")]
    assert (found.entry.item, found.troubled) == (0, True)


def test_rendering_passes_over_kinds_that_it_does_not_read() -> None:
    preset = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstancePreset", "metadata": {"name": "a"}}
    spec = {"selector": {}, "domain": {"devices": {}, "rebootPolicy": "a"}}
    bundle = Bundle([{**preset, "spec": spec}])
    assert list(examine(bundle, releases.parse("1.7"), complete=False)) == []
    assert len(list(examine(bundle, releases.parse("1.7"), complete=True))) == 1


def test_places_that_are_already_reported_can_be_left_out() -> None:
    (found,) = examine(Bundle([preference(cpus=1, cpux=1)]), releases.NEWEST, complete=True)
    assert [flaw.path for flaw in found.without({("spec", "cpus")}).flaws] == [("spec", "cpux")]
