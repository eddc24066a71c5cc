"""Flux's substitution of variables: every answer that was measured, and what the measured ones do not have."""

from __future__ import annotations

import pytest

from krm_fn.deliveries.flux import FluxError, substitute
from krm_fn.flux.artifact import packed


def answer(case):
    try:
        return {"result": substitute(case["object"], case["vars"], strict=case["strict"])}
    except FluxError as error:
        return {"error": error.kind, **({"variable": error.variable} if error.variable else {})}


def typed(value):
    """A value in which true differs from 1, and 1 does not differ from 1.0."""
    if isinstance(value, dict):
        return {key: typed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [typed(each) for each in value]
    return ("truth", value) if isinstance(value, bool) else value


def value_of(text: str, **variables: str) -> object:
    return substitute({"a": text}, variables, strict=True)["a"]


@pytest.mark.parametrize("name", ["substitutions"])
def test_all_measured_answers_agree(name, cases):
    found = [(case["id"], typed(answer(case)) == typed(case["expect"])) for case in cases(name)]
    assert [case for case, agrees in found if not agrees] == []
    assert found


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("${X:1:1}-", "日本", None),  # an offset counts bytes
        ("${X:4:-1}", "abcdef", None),  # Go panics at a negative length
        ("${X^^}", "straße ǆ", "STRAßE Ǆ"),  # Go maps single characters
        ("${X,,}", "İÉ", "ié"),
        ("${X//[a]/-}", "a[a]", "a-"),  # no pattern, but a text
        ("${X%%.*}", "a.b.c", "a"),
        ("${X##*/}", "a/b/c", "c"),
        ("${X#[^a-c]?}", "zzzz", "zz"),
        ("${X#[]}", "zz", "zz"),  # a pattern that can't be read
        ("${X:+other}", "set", "set"),  # unlike a shell
        ("$X $(X) $${X} $$", "1", "$X $(X) ${X} $"),
        ("${X}", "0755", 493),
        ("${X}", "2026-01-01", "2026-01-01"),
        ("${X}", "&a [1, *a]", None),  # an alias inside its own anchor
        ("x: ${X}", "1", "x: 1"),
        ("a" * 80 + " b ${X:=c  d} e", "", "a" * 80 + " b c  d e"),
        ("a" * 80 + "\t- ${X:= }|", "", "a" * 80 + "\t- |"),  # a default that starts a folded line
    ],
)
def test_operators_and_values_are_those_of_go(text: str, value: str, expected: object) -> None:
    if expected is None:
        with pytest.raises(FluxError):
            value_of(text, X=value)
    else:
        assert value_of(text, X=value) == expected


def test_a_key_that_a_variable_repeats_wins() -> None:
    assert substitute({"b": 1, "${X}": 2}, {"X": "b"}, strict=True) == {"b": 1}


@pytest.mark.parametrize(
    ("text", "kind"), [("\x7f", "yaml"), ("${X:-" * 200 + "}" * 200, "substitution"), ("${X", "substitution")]
)
def test_what_can_not_be_read_is_an_error_of_its_kind(text: str, kind: str) -> None:
    with pytest.raises(FluxError) as raised:
        value_of(text, X="")
    assert raised.value.kind == kind


def test_an_object_that_nests_too_deep_is_an_error() -> None:
    obj: dict[str, object] = {"a": "${X}"}
    for _ in range(1000):
        obj = {"a": obj}
    with pytest.raises(FluxError) as raised:
        substitute(obj, {"X": ""}, strict=True)
    assert raised.value.kind == "yaml"


def test_work_for_patterns_is_limited() -> None:
    with pytest.raises(FluxError) as raised:
        value_of("${X##" + "*a" * 40 + "*b}", X="a" * 3000)
    assert raised.value.kind == "substitution"


def test_work_for_long_values_is_limited() -> None:
    with pytest.raises(FluxError, match="too much work") as error:
        value_of("${X}" * 16_000, X="x" * 20_000)
    assert error.value.kind == "substitution"


def test_work_for_ignore_rules_is_limited(tmp_path) -> None:
    for number in range(800):
        (tmp_path / f"{number}.yaml").write_text("")
    (tmp_path / ".sourceignore").write_text("".join(f"{number}*\n" for number in range(9_000, 9_800)))
    with pytest.raises(FluxError, match="take too much work"):
        packed(str(tmp_path))


def test_many_ignore_rules_that_name_files_are_read(tmp_path) -> None:
    for number in range(800):
        (tmp_path / f"{number}.yaml").write_text("")
    (tmp_path / ".sourceignore").write_text("".join(f"{number}.yaml\n" for number in range(1, 2_000)))
    assert packed(str(tmp_path)) == [".sourceignore", "0.yaml"]
