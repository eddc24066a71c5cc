"""Changes leave as splices: the golden files say what each layout looks like afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krm_fn.base import paths
from krm_fn.yamlio import read_resource_list, read_stream, write_resource_list, write_stream

CASES = sorted((Path(__file__).resolve().parents[2] / "fixtures/yaml/splice").iterdir())


def changed(items: list[Any], change: dict[str, Any]) -> list[Any]:
    """The items with the changes of a `change.json`: set, then append, then drop; untouched ones are the same objects."""
    kinds = ("set", "append", "drop")
    touched = {one["item"] for kind in kinds for one in change.get(kind, ())}
    new = [paths.copy(item) if i in touched else item for i, item in enumerate(items)]
    for one in change.get("set", ()):
        paths.put(new[one["item"]], tuple(one["path"]), one["value"])
    for one in change.get("append", ()):
        paths.get(new[one["item"]], tuple(one["path"])).append(one["value"])
    for one in change.get("drop", ()):
        del paths.get(new[one["item"]], tuple(one["path"][:-1]))[one["path"][-1]]
    return new + change.get("items", [])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_change_leaves_as_its_golden_file_says(case: Path) -> None:
    text = read_resource_list((case / "input").read_bytes())
    change = json.loads((case / "change.json").read_text())
    items = changed(text.items, change)
    written = write_resource_list(text, items, change.get("results", []))
    assert written == (case / "expected").read_bytes()
    assert read_resource_list(written).items == [item for item in items if item is not None]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: 1\nold: 2 # why\nb: 3\n", "a: 1\nnew: 2 # why\nb: 3\n"),
        ("old: 2\nb: 3\n", "new: 2\nb: 3\n"),
        ("b: 3\n# above\nold: 2", "b: 3\n# above\nnew: 2\n"),
        ("'old': 2\r\nb: 3\r\n", "new: 2\r\nb: 3\r\n"),
        ("{b: 3, old: 2}\n", "{b: 3, new: 2}\n"),
        ('{"old": 2, "b": 3}\n', '{"new": 2, "b": 3}\n'),
        ("older: 2\nb: 3\n", "new: 2\nb: 3\n"),  # by way of `old`
        ("&key old: 2\nb: *key\n", "new: 2\nb: old\n"),
        ("? old\n: 2\nb: 3\n", "? new\n: 2\nb: 3\n"),
    ],
)
def test_a_key_stands_in_the_place_of_the_one_it_succeeds(before: str, after: str) -> None:
    text = read_stream(before.encode())
    text.successors = {"older": "old", "old": "new"}
    (old,) = text.items
    new = {key: value for key, value in old.items() if key not in ("old", "older")} | {"new": 2}
    assert write_stream(text, [new]).decode() == after


@pytest.mark.parametrize(
    ("before", "new", "after"),
    [
        ("a: 1\nold: 2\n", {"a": 1}, "a: 1\n"),  # it goes without a successor
        ("a: 1\nold: 2\n", {"a": 1, "old": 2, "new": 3}, "a: 1\nold: 2\nnew: 3\n"),  # it stays
        ("old: 2\nnew: 3\n", {"new": 4}, "new: 4\n"),  # the successor has a place of its own
        ("old: 2\nolder: 3\nb: 1\n", {"b": 1, "new": 3}, "new: 3\nb: 1\n"),  # the first one gives its place
        ("old: {c: 1} # c\n", {"new": {"c": 2, "d": 3}}, "new: {c: 2, d: 3} # c\n"),
        ("old:\n  c: 1 # c\n", {"new": "c"}, "new: c\n"),
    ],
)
def test_only_a_key_that_goes_gives_its_place_to_one_that_is_new(before: str, new: dict[str, Any], after: str) -> None:
    text = read_stream(before.encode())
    text.successors = {"older": "old", "old": "new"}
    assert write_stream(text, [new]).decode() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('a: {"b":}\n', 'a: {"b": 5}\n'),
        ('a: {"b": }\n', 'a: {"b": 5 }\n'),
        ('a: {"b": , c: 1}\n', 'a: {"b": 5, c: 1}\n'),
        ("a: {'b' : , c: 1}\n", "a: {'b' : 5, c: 1}\n"),
        ("a: {b: , c: 1} # c\n", "a: {b: 5, c: 1} # c\n"),
    ],
)
def test_a_value_that_is_missing_in_brackets_goes_behind_its_colon(before: str, after: str) -> None:
    text = read_stream(before.encode())
    assert write_stream(text, [{"a": {**text.items[0]["a"], "b": 5}}]).decode() == after


@pytest.mark.parametrize(
    ("before", "new", "after"),
    [
        ("a: 'it''s' # c\n", "that's", "a: 'that''s' # c\n"),
        ('a: "x"\n', "z", 'a: "z"\n'),
        ("a: x\n", "z", "a: z\n"),
        ("a: x\n", "true", 'a: "true"\n'),
        ("a: 'x'\n", "\x07", 'a: "\\x07"\n'),  # single quotes have no escapes
        ("a: 'x'\n", 1, "a: 1\n"),
        ('a: \'[{"op": "add"}]\'\n', '[{"op": "test"}]', 'a: \'[{"op": "test"}]\'\n'),
    ],
)
def test_a_text_keeps_the_quotes_of_the_one_that_it_replaces(before: str, new: Any, after: str) -> None:
    text = read_stream(before.encode())
    text.quotes = True
    assert write_stream(text, [{"a": new}]).decode() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [("a: [{b: 'x'}]\n", "a: [{b: 'z'}]\n"), ("a:\n- b: 'x'\n", "a:\n- b: 'z'\n")],
)
def test_quotes_are_kept_in_brackets_and_lists(before: str, after: str) -> None:
    text = read_stream(before.encode())
    text.quotes = True
    assert write_stream(text, [{"a": [{"b": "z"}]}]).decode() == after


def test_a_comment_that_ends_in_a_question_mark_marks_no_key() -> None:
    before = "a: # why?\n  b: 1 # one\n# and?\nc:\n  d: {e: 1} # ?\n"
    text = read_stream(b"x: &x 1\n" + before.encode())
    (old,) = text.items
    new = {**old, "a": {"b": 1, "added": 2}, "c": {"d": {"e": 2}}}
    after = "x: &x 1\na: # why?\n  b: 1 # one\n  added: 2\n# and?\nc:\n  d: {e: 2} # ?\n"
    assert write_stream(text, [new]).decode() == after
