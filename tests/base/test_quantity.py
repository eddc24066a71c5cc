"""Quantities read, compare and write as Kubernetes' own do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krm_fn.base.quantity import BINARY_SI, DECIMAL_EXPONENT, DECIMAL_SI, NANO, canonical, of_int, parse

WRITTEN = {
    "1Gi": "1Gi",
    "1024Mi": "1Gi",
    "1536Mi": "1536Mi",
    "1000Mi": "1000Mi",
    "1.5Gi": "1536Mi",
    "0.5Gi": "512Mi",
    "0.1Ki": "102400m",
    "0.0001Ki": "102400u",
    "512Ki": "512Ki",
    "1Ki": "1Ki",
    "1000": "1k",
    "1500": "1500",
    "128974848": "128974848",
    "0": "0",
    "00": "0",
    "0Gi": "0",
    "-1Gi": "-1Gi",
    "0.5": "500m",
    ".5": "500m",
    "5.": "5.",
    "100m": "100m",
    "1000m": "1",
    "1500m": "1500m",
    "0.1n": "1n",
    "1G": "1G",
    "1000M": "1G",
    "1e3": "1e3",
    "12e2": "1200",
    "1000e6": "1e9",
    "1e-1": "100e-3",
    "1e1000": "10e999",
    "1e-1000": "1e-9",
    "1e4294967297": "10",
    "-": "0",
    "+": "0",
    ".": "0",
    "Mi": "0",
    "e3": "0",
    "0e5000": "0",
    "8Ei": "9223372036854775807",
    "1000E": "1000E",
}


@pytest.mark.parametrize(("text", "written"), WRITTEN.items())
def test_a_quantity_is_written_in_its_canonical_form(text: str, written: str) -> None:
    assert canonical(text) == written


@pytest.mark.parametrize("text", ["1.500", "1E3", "+5", "+5Gi", "05Gi", "10e999", "1e9000"])
def test_a_spelling_that_go_takes_for_canonical_stays(text: str) -> None:
    assert canonical(text) == text


@pytest.mark.parametrize(
    "value",
    ["", "1 Gi", " 1", "1gi", "1.2.3", "..", "1e", "1e1.5", "1e9223372036854775808", "--", "x", "٣", "nan", "1" * 4001],
)
def test_other_text_is_no_quantity(value: str) -> None:
    assert parse(value) is None


@pytest.mark.parametrize("value", [None, True, False, [], {}, ["1Gi"], float("nan"), float("inf"), "1" + "0" * 5000])
def test_other_values_are_no_quantity_and_come_back_as_they_are(value: object) -> None:
    assert canonical(value) is value


def test_numbers_are_quantities() -> None:
    assert [canonical(2), canonical(1073741824), canonical(0.5), canonical(1e21)] == ["2", "1073741824", "500m", "1e+21"]


def test_equal_amounts_are_equal_in_every_spelling() -> None:
    assert {parse(text).nanos for text in ("1Gi", "1024Mi", "1073741824", 1073741824, "1.073741824G", "1073741824e0")} == {
        1073741824 * NANO
    }


@pytest.mark.parametrize(
    ("text", "style"),
    [("1Gi", BINARY_SI), ("1G", DECIMAL_SI), ("7", DECIMAL_SI), ("1e3", DECIMAL_EXPONENT), ("0.0001Ki", DECIMAL_SI)],
)
def test_a_quantity_remembers_its_format(text: str, style: str) -> None:
    assert parse(text).format == style


@pytest.mark.parametrize(("text", "whole"), [("500m", 1), ("1500m", 2), ("2", 2), ("-1500m", -2), ("1Ki", 1024), ("1n", 1)])
def test_the_whole_number_is_rounded_away_from_zero(text: str, whole: int) -> None:
    assert parse(text).value() == whole


def test_a_calculated_amount_is_written_in_the_given_format() -> None:
    assert [str(of_int(2**30, style)) for style in (BINARY_SI, DECIMAL_SI, DECIMAL_EXPONENT)] == [
        "1Gi",
        "1073741824",
        "1073741824",
    ]


SUFFIXES = st.sampled_from(["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "e3", "e-2", "E6"])


@given(st.decimals(min_value=0, max_value=10**6, places=4), SUFFIXES)
def test_writing_keeps_the_amount_and_is_stable(number: object, suffix: str) -> None:
    written = canonical(f"{number}{suffix}")
    assert parse(written).nanos == parse(f"{number}{suffix}").nanos
    assert canonical(written) == written


@given(st.text(max_size=12))
def test_no_text_raises(text: str) -> None:
    canonical(text)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("9223372036854775807", 2**63 - 1),
        ("100E", 0),
        ("-100E", 0),
        ("18446744073709551617", 1),
        ("9223372036854775808", -(2**63)),
        ("16Ei", 2**63 - 1),
        ("1e1000", 0),
        ("1e100000", 0),
        ("99999999999999999999", 7766279631452241919),
        ("9" * 100, -1),
        ("9" * 4000, -1),
    ],
)
def test_a_whole_number_that_64_bits_cannot_hold_has_gos_value(text: str, whole: int) -> None:
    found = parse(text)
    assert found is not None
    assert found.value() == whole
