"""Changes leave as splices: the golden files say what each layout looks like afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krm_fn import paths
from krm_fn.yamlio import read_resource_list

CASES = sorted((Path(__file__).resolve().parents[1] / "fixtures/yaml/splice").iterdir())


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
    written = text.write(items, change.get("results", []))
    assert written == (case / "expected").read_bytes()
    assert read_resource_list(written).items == [item for item in items if item is not None]
