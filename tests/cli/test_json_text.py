"""JSON that the command writes: the bytes are the same in every release, so that files of it can be compared line by line."""

from __future__ import annotations

import pytest

from krm_fn.cli.output_files import json_text

LAYOUT = """\
{
  "name": "é",
  "empty": [],
  "list": [
    1,
    {
      "nothing": null
    }
  ]
}
"""


def test_two_blanks_a_level_and_a_line_break_at_the_end():
    assert json_text({"name": "é", "empty": [], "list": [1, {"nothing": None}]}) == LAYOUT


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("\x1b", r'"\u001b"'),
        ("\u202e", r'"\u202e"'),
        ("##[group]", r'"#\u0023[group]"'),
        ("\udcff", r'"\\xff"'),
        ("日本", '"日本"'),
    ],
)
def test_what_does_not_print_is_an_escape(value, text):
    assert json_text(value) == f"{text}\n"
