"""Objects as text that sigs.k8s.io/yaml would write."""

from __future__ import annotations

import subprocess
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import fetched

from krm_fn.yamlio.emit import dump
from krm_fn.yamlio.go_text import go_text
from krm_fn.yamlio.reader import read_piece

# Go writes no newline behind a literal that ends in U+2028 or U+2029, so what it writes can't always be read.
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cn"], exclude_characters="\x00\u2028\u2029"), max_size=200)
SCALARS = st.one_of(
    TEXTS,
    st.sampled_from(["yes", "1:30", "2026-01-01", "a: b", "- x", " x", "x\n", "\n\n", "a #b", "---"]),
    st.integers(-(2**63), 2**64 - 1),
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=10)


# Pieces of texts that Go's writer treats in different ways.
PIECES = (
    *("a", "b:", "- x", "#c", " #", "y", "yes", "true", "1", "007", "1.0", "1e3", "0x1F", "1_000", ".5", ".inf", "~", "null"),
    *("2026-01-01", "2026-1-1 10:00:00", "2026-02-30", "1:30", "52:54:00:12:34:56", "é", "日本", "\t", "\n", "\n\n", " ", "  "),
    *("'", '"', "\\", "%", "@", "`", "!", "&", "*", "|", ">", "{", "}", "[", "]", ",", "?", "? ", "-", "--", "---", "..."),
    *(
        ":",
        ": ",
        "=",
        "x" * 30,
        "${A}",
        "\u2028",
        "\u00a0",
        "\ufeff",
        "\U0001f600",
        "\x07",
        "\r",
        "0o7",
        "0b1",
        "+1",
        "-0",
        ".",
    ),
)
NUMBERS = (1, 0, -5, 1.5, 1e-7, 1e21, 1234567.5, -12.75, True, False, None)


def drawn(rng: Random, depth: int) -> Any:
    """A value of random pieces."""
    kind = rng.random()
    if depth and kind < 0.4:
        inside = [drawn(rng, depth - 1) for _ in range(rng.randint(0, 4))]
        return inside if kind < 0.2 else {f"{drawn_text(rng)}{number}": each for number, each in enumerate(inside)}
    return rng.choice(NUMBERS) if kind < 0.5 else drawn_text(rng) + "x"  # no text ends in a break, see above


def drawn_text(rng: Random) -> str:
    return "".join(rng.choice(PIECES) for _ in range(rng.choice((1, 1, 2, 3, 5, 12, 40))))


def test_kustomize_writes_the_same_text(tmp_path) -> None:
    rng = Random(7)
    objects = [
        {"apiVersion": "x/v1", "kind": "K", "metadata": {"name": f"n{number}"}, "spec": drawn(rng, 4)} for number in range(200)
    ]
    (tmp_path / "a.json").write_text("\n---\n".join(map(dump, objects)))
    (tmp_path / "kustomization.yaml").write_text("resources: [a.json]\nsortOptions: {order: fifo}\n")
    command = [fetched("5.8.1"), "build", str(tmp_path)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.split("\n---\n") == [go_text(obj).removesuffix("\n") for obj in objects[:-1]] + [go_text(objects[-1])]


@given(VALUES)
def test_what_is_written_is_read_as_the_same_value(value) -> None:
    assert read_piece(go_text({"a": value}))[0] == {"a": value}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"b10": 1, "b9": 2, "a": {"z": [], "A": {}}}, "a:\n  A: {}\n  z: []\nb9: 2\nb10: 1\n"),
        ({"a": ["x", {"k": ["y"]}, ["z"]]}, 'a:\n- x\n- k:\n  - "y"\n- - z\n'),
        (
            {"a": "yes", "b": "2026-01-01", "c": "1:30", "d": "52:54:00:12:34:56"},
            'a: "yes"\nb: "2026-01-01"\nc: "1:30"\nd: "52:54:00:12:34:56"\n',
        ),
        ({"a": "x: y", "b": "it's", "c": "'", "d": ""}, "a: 'x: y'\nb: it's\nc: ''''\nd: \"\"\n"),
        ({"a": "x\n  y\n\n", "b": " x\n", "c": "x \ny"}, 'a: |+\n  x\n    y\n\nb: |2\n   x\nc: "x \\ny"\n'),
        ({"a": "\t\x85\x07é\ufeff"}, 'a: "\\t\\N\\aé\\uFEFF"\n'),
        ({"a": "b" * 80 + " c  d e"}, f"a: {'b' * 80}\n  c  d e\n"),
        ({"a": "#" + "b" * 80 + " c"}, f"a: '#{'b' * 80}\n  c'\n"),
        ({"a": "x\u2028y", "b": "x\u2028\ny\u2028"}, "a: 'x\u2028  y'\nb: |\n  x\u2028\n  y\u2028"),
        ({"a": "\ufeffN 1"}, 'a: "\\uFEFF\\x4E\\x20\\x31"\n'),
        (
            {"a": 1e-7, "b": 1e21, "c": 0.5, "d": -1.25e22, "e": 1234567.5},
            "a: 1e-07\nb: 1e+21\nc: 0.5\nd: -1.25e+22\ne: 1.2345675e+06\n",
        ),
        ({"k" * 129: 1}, f"? {'k' * 129}\n: 1\n"),
    ],
)
def test_the_styles_are_those_of_go(value, expected) -> None:
    assert go_text(value) == expected
