"""The field tables cover the API: every field of the two specs has a row, from the release on that has the field."""

from __future__ import annotations

import measured
import pytest

from krm_fn.kubevirt.fields.instancetype import INSTANCETYPE
from krm_fn.kubevirt.fields.preference import PREFERENCE
from krm_fn.kubevirt.fields.verbs import PLAIN
from krm_fn.kubevirt.releases import NEWEST_PATCH
from krm_fn.kubevirt.schema import table

SPECS = {"v1beta1.VirtualMachineInstancetypeSpec": INSTANCETYPE, "v1beta1.VirtualMachinePreferenceSpec": PREFERENCE}

OLDEST = min(NEWEST_PATCH)


def first_of(since):
    """The first release of a bound, which may name several."""
    return min(since) if since and isinstance(since[0], tuple) else since


# Structures that are merged field by field; every other structure of the VM's API is copied whole.
MERGED = ("v1.FeatureHyperv", "v1.DiskIOThreads")


@pytest.fixture(scope="module")
def types() -> dict:
    return measured.fields()["types"]


def oldest(forms: object) -> dict:
    """A field's first form: some changed between releases."""
    return forms[0] if isinstance(forms, list) else forms


def leaves(name: str, path: tuple = (), since: tuple = ()) -> dict:
    """Path to the minor release that has the leaf first, for every leaf of a type of the table that the package has."""
    found = {}
    for field, forms in table.forms(name).items():
        first, _, kind, _ = forms[0]
        since_then, place = max(since, first[:2]), (*path, field.removesuffix("!"))
        deeper = (kind.startswith("v1beta1.") or kind in MERGED) and table.forms(kind)
        found.update(leaves(kind, place, since_then) if deeper else {place: since_then})
    return found


@pytest.mark.parametrize("spec", SPECS)
def test_every_field_of_the_api_has_a_row(spec: str) -> None:
    assert set(leaves(spec)) - {row.source for row in SPECS[spec]} == set()


@pytest.mark.parametrize("spec", SPECS)
def test_every_row_names_a_field_or_a_block_of_the_api(spec: str) -> None:
    known = {path[:depth] for path in leaves(spec) for depth in range(1, len(path) + 1)}
    assert {row.source for row in SPECS[spec]} - known == set()


@pytest.mark.parametrize("spec", SPECS)
def test_no_row_acts_before_the_release_that_has_the_field(spec: str) -> None:
    fields = leaves(spec)
    early = [
        row.source for row in SPECS[spec] if row.verbs and (first_of(row.since) or OLDEST) < fields.get(row.source, OLDEST)
    ]
    assert early == []


@pytest.mark.parametrize("spec", SPECS)
def test_every_row_acts_or_says_why_not(spec: str) -> None:
    assert [row.source for row in SPECS[spec] if bool(row.verbs) == bool(row.reason)] == []


def test_the_plain_numbers_in_copied_structures_are_known(types: dict) -> None:
    roots = [kind for spec in SPECS for kind in copied(types, spec)]
    assert {field for kind in roots for field in plain(types, kind, ())} == set(PLAIN)


def copied(types: dict, name: str) -> list[str]:
    """The types of the VM's API that specs hold."""
    kinds = [element(form["type"]) for form in types[name]["fields"].values()]
    below = [found for kind in kinds if kind.startswith("v1beta1.") for found in copied(types, kind)]
    return below + [kind for kind in kinds if kind.startswith("v1.")]


def plain(types: dict, name: str, seen: tuple) -> list[str]:
    """The plain booleans and integers in a type and below it."""
    found = []
    for field, forms in types[name].get("fields", {}).items():
        kind = element(oldest(forms)["type"])
        newest = forms[-1] if isinstance(forms, list) else forms
        if kind in ("boolean", "integer") and newest.get("zeroIsUnset"):
            found.append(field)
        if kind in types and kind not in seen:
            found += plain(types, kind, (*seen, kind))
    return found


def element(kind: object) -> str:
    return element(kind[0]) if isinstance(kind, list) else element(kind["*"]) if isinstance(kind, dict) else str(kind)
