"""Objects as text that sigs.k8s.io/yaml would write."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krm_fn.yamlio.go_text import go_text
from krm_fn.yamlio.reader import read_piece

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cn"], exclude_characters="\x00"), max_size=200)
SCALARS = st.one_of(
    TEXTS,
    st.sampled_from(["yes", "1:30", "2026-01-01", "a: b", "- x", " x", "x\n", "\n\n", "a #b", "---"]),
    st.integers(-(2**63), 2**64 - 1),
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=10)


@given(VALUES)
def test_what_is_written_is_read_as_the_same_value(value) -> None:
    assert read_piece(go_text(value))[0] == value


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
        ({"k" * 129: 1}, f"? {'k' * 129}\n: 1\n"),
    ],
)
def test_the_styles_are_those_of_go(value, expected) -> None:
    assert go_text(value) == expected
