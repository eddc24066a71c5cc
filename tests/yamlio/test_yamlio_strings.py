"""What is written as new text reads back as the same value, whoever reads it."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from krm_fn.yamlio import dump, read_resource_list, read_value, write_resource_list
from krm_fn.yamlio.emit import Style, flow, json_quoted, quoted

# Strings that some reader takes for something else when they stand bare.
BARE = r"""
y n Y N yes no on off true false null Null NULL ~ = << < > - ? : , [ ] { } & * ! | % @ ` # ' " \ . .. ... --- -- +
1 -1 +1 01 0777 0o777 0x1F 0b1 1_000 _1 1e3 1E5 12e4 0e1234 1.5e3 +.5 -.5 .5 5. 1. .inf -.inf +.INF .nan .NaN inf NaN
12:30:45 1:30 190:20:30.15 52:54:00:12:34:56 2024-01-01 2024-1-1 2024-01-01T00:00:00Z 0123 0248 061208 196E59 10Gi 100m
1Ki 1E 1Ei 5e 1k 1.5Gi 1.Gi .5Gi 1e3m 0x1Gi 1_0Gi e1 a: a:b a#b a,b a[b a{b a]b /dev/vda _x -x ?x :x !x &x *x |x >x %x @x
"""
NASTY = [*BARE.split(), "", " ", "  ", "a ", " a", "a: b", "a #b", "a\tb", "\t", "\n", "\n\n", "a\n", "a\n\n", "\na", " a\nb"]
NASTY += ["a\n b", "a \nb", "a\nb", "a\nb\n", "a\n\nb\n", "a\r\nb", "a\rb", "\x00", "\x07", "\x1b[0m", "\x7f", "\x80", "\x85"]
NASTY += [
    "a\x85b",
    "\u2028",
    "a\u2029b",
    "\ufeff",
    "a\ufeffb",
    "\ufffe",
    "\uffff",
    "é",
    "😀",
    "a😀",
    "\U000e0001",
    "\xa0",
    "a\xa0",
]
NASTY += ["\u3000", "- a\n- b\n", "a: |\n  b\n", "#cloud-config\nusers:\n- a\n", "#!/bin/sh\necho '\"$x\"' \\\n  && true\n"]
NASTY += ["x" * 5000, "x y " * 2000, "# a\nb", "--- a\nb", "a\n---\nb\n"]
ALPHABET = "aby019 -_.:#,[]{}&*!|>'\"%@`?~=<+/\\\n\t eE\x07\x85\u2028é😀xoXinfNaN"


def strings(seed: int, count: int) -> list[str]:
    """Seeded random strings, most of them close to what readers stumble over."""
    rng = Random(seed)
    out = []
    for _ in range(count):
        if rng.random() < 0.2:
            text = rng.choice(NASTY)
            at = rng.randint(0, min(len(text), 40))
            out.append(text[:at] + rng.choice(ALPHABET) + text[at + rng.randint(0, 1) :])
        else:
            out.append("".join(rng.choices(ALPHABET if rng.random() < 0.7 else "0123456789_.eE+-:xob", k=rng.randint(1, 9))))
    return out


def libyaml(text: str) -> Any:
    """The value as a YAML 1.1 reader sees it."""
    return yaml.load(text, Loader=yaml.CSafeLoader)


@pytest.mark.parametrize("seed", range(10))
def test_ten_thousand_strings_read_back_in_yaml_1_1_and_here(seed: int) -> None:
    values = strings(seed, 10_000)
    text = dump(values)
    assert libyaml(text) == values
    assert read_value(text) == values
    assert read_value(flow(values, Style())) == values


def test_nasty_strings_read_back_as_values_and_as_keys_in_every_style() -> None:
    values = {key: key for key in NASTY}
    assert read_value(dump(values)) == values
    assert libyaml(dump(values)) == values
    for margin in (None, ""):
        assert read_value(flow(values, Style(), margin)) == values
        assert libyaml(flow(values, Style(), margin)) == values
        short = {key: value for key, value in values.items() if len(key) < 1000}
        json_text = flow(short, Style(), margin, json=True)
        assert read_value(json_text) == short
        assert json.loads(json_text) == short


@given(st.text())
def test_any_text_reads_back(text: str) -> None:
    value = {"a": [text, {text: {"b": text}}]}
    assert read_value(dump(value)) == value


@given(st.one_of(st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False, allow_infinity=False)))
def test_any_number_reads_back(number: float) -> None:
    (read,) = read_value(dump([number]))
    # Go writes a whole float with the digits that tell it from others, which is not the exact number
    assert float(read) == number if isinstance(number, float) else read == number
    assert float(libyaml(dump([number]))[0]) == float(number)
    assert not isinstance(libyaml(dump([number]))[0], str)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain\n"),
        ("10Gi", "10Gi\n"),
        ("yes", '"yes"\n'),
        ("0123", '"0123"\n'),
        ("a: b", '"a: b"\n'),
        (1.0, "1\n"),
        (1e21, "1.0e+21\n"),
        (2.5, "2.5\n"),
        (True, "true\n"),
        (None, "null\n"),
        ({}, "{}\n"),
        ([], "[]\n"),
        ({"a": {"b": [1, {"c": None, "d": []}, [2, [3]]]}}, "a:\n  b:\n  - 1\n  - c: null\n    d: []\n  - - 2\n    - - 3\n"),
        ({"a": "x\ny\n", "b": ["x\ny"]}, "a: |\n  x\n  y\nb:\n- |-\n  x\n  y\n"),
        ("x\ny\n", '"x\\ny\\n"\n'),
        ({"a": "\x07\x85\u2028"}, 'a: "\\x07\\x85\\u2028"\n'),
        ({"k" * 1200: {"a": 1}}, f"? {'k' * 1200}\n:\n  a: 1\n"),
    ],
)
def test_a_value_is_written_in_one_form(value: object, text: str) -> None:
    assert dump(value) == text


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_what_json_cannot_hold_is_not_written(value: float) -> None:
    with pytest.raises(ValueError, match="can't be written"):
        dump({"a": value})


def test_what_is_no_json_value_is_not_written() -> None:
    with pytest.raises(TypeError, match="bytes is no JSON value"):
        dump({"a": b"x"})


def test_a_literal_keeps_its_text_wherever_it_is_spliced() -> None:
    text = read_resource_list(b"kind: ResourceList\nitems:\n- a: 1\n  # comment\n  b: 2\n")
    for value in NASTY:
        new = {"a": value, "b": {"c": [value]}, "d": value}
        assert read_resource_list(write_resource_list(text, [new])).items == [new]


@pytest.mark.parametrize("quote", [quoted, json_quoted])
@pytest.mark.parametrize(
    "text", ["", "a", 'say "a\\b"\n\t\x00', "\\x41", "".join(map(chr, range(0x2100))), "\ue000\U0001f600\U000f0000"]
)
def test_text_in_quotes_is_that_of_its_characters(text: str, quote: Any) -> None:
    assert quote(text) == '"' + "".join(quote(char)[1:-1] for char in text) + '"'
