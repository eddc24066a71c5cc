"""The table of types, taken apart by release and put together again."""

from __future__ import annotations

from pathlib import Path

import api_table
import make_schema
import pytest
from api_table import Lines, decode, encode, strange_names
from upstream import Version, package_releases, version_of

from krm_fn.kubevirt.schema import FILE

TEXT = Path(FILE).read_text(encoding="utf-8")
VERSIONS = [version_of(text) for text in ("1.4.0", "1.4.1", "1.5.0", "1.6.0", "1.6.1")]
OLD: Lines = {"v1.Old": {"x": "string", "y": "boolean"}}
NEW: Lines = {"v1.New": {"x": "string"}}

RELEASES: dict[Version, Lines] = {
    (1, 4, 0): {**OLD, "v1.Thing": {"amount!": "quantity", "gone": "string", "parts": "[v1.Old]"}, "v1.Unused": {}},
    (1, 4, 1): {**OLD, "v1.Thing": {"amount!": "quantity", "came": "v1.Empty", "gone": "string", "parts": "[v1.Old]"}},
    (1, 5, 0): {**NEW, "v1.Thing": {"amount": "quantity", "came": "v1.Empty", "gone": "string", "parts": "[v1.New]"}},
    (1, 6, 0): {**NEW, "v1.Thing": {"amount": "quantity", "came": "v1.Empty", "parts": "[v1.New]"}},
    (1, 6, 1): {**NEW, "v1.Thing": {"amount": "quantity enum=1|2", "came": "v1.Empty", "parts": "[v1.New]"}, "v1.Empty": {}},
}
TABLE = f"""\
{api_table.HEAD}

[strange]
1.4 came
1.5 y
1.6 gone y

[v1.Empty]

[v1.New]
x 1.5- string

[v1.Old]
x 1.4-1.4 string
y 1.4-1.4 boolean

[v1.Thing]
amount! 1.4-1.4 quantity
amount 1.5-1.6.0 quantity
amount 1.6.1- quantity enum=1|2
came 1.4.1- v1.Empty
gone 1.4-1.5 string
parts 1.4-1.4 [v1.Old]
parts 1.5- [v1.New]
"""


def test_each_form_of_a_field_is_a_line_with_the_releases_that_have_it() -> None:
    assert encode(RELEASES) == TABLE


def test_a_table_says_of_each_release_what_was_put_into_it() -> None:
    found = decode(TABLE, VERSIONS)
    assert {version: {name: fields for name, fields in lines.items() if fields} for version, lines in found.items()} == {
        version: {name: fields for name, fields in lines.items() if fields} for version, lines in RELEASES.items()
    }


@pytest.mark.parametrize(
    ("known", "line"),
    [
        ("1.4.0 1.4.1 1.5.0 1.6.0 1.6.1", "x string"),
        ("1.4.0 1.4.1", "x 1.4-1.4 string"),
        ("1.4.0", "x 1.4-1.4.0 string"),
        ("1.4.1", "x 1.4.1-1.4 string"),
        ("1.4.1 1.5.0 1.6.0 1.6.1", "x 1.4.1- string"),
        ("1.4.1 1.5.0 1.6.0", "x 1.4.1-1.6.0 string"),
        ("1.6.1", "x 1.6.1- string"),
        ("1.4.1 1.6.0 1.6.1", "x 1.4.1-1.4 string\nx 1.6- string"),
    ],
)
def test_a_span_is_of_minor_releases_where_all_their_patches_are_in_it(known: str, line: str) -> None:
    having = [version_of(text) for text in known.split()]
    releases = {version: {"v1.A": {"x": "string"} if version in having else {}} for version in VERSIONS}
    assert encode(releases).partition("[v1.A]\n")[2] == f"{line}\n"
    assert [version for version, lines in decode(encode(releases), VERSIONS).items() if lines["v1.A"]] == having


def test_a_field_that_a_patch_release_brought_is_strange_to_its_minor_release() -> None:
    assert strange_names((1, 4), RELEASES) == {"came"}


def test_fields_of_another_type_in_the_same_place_are_strange() -> None:
    assert strange_names((1, 5), RELEASES) == {"y"}


def test_fields_of_a_type_that_a_release_has_nowhere_are_not_strange() -> None:
    releases: dict[Version, Lines] = {(1, 4, 0): {"v1.A": {"x": "string"}}, (1, 5, 0): {"v1.B": {"y": "string"}}}
    assert [strange_names(minor, releases) for minor in ((1, 4), (1, 5))] == [set(), set()]


def test_the_table_of_the_package_comes_out_as_it_went_in() -> None:
    assert encode(decode(TEXT, package_releases())) == TEXT


@pytest.mark.parametrize("minor", [(1, 4), (1, 6), (1, 9)])
def test_a_release_that_is_made_again_replaces_all_that_the_table_says_of_it(
    minor: Version, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make_schema, "lines", lambda types: types)
    released = decode(TEXT, package_releases())
    made = {version: {"types": lines} for version, lines in released.items() if version[:2] == minor}
    strange = {"v1.VirtualMachine": {"spec!": "v1.Strange"}, "v1.Strange": {"field": "string"}}
    spoilt = encode(released | dict.fromkeys(made, strange))
    assert spoilt != TEXT
    assert make_schema.make(spoilt, made) == TEXT
