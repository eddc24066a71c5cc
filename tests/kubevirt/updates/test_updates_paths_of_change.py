"""Where two objects differ."""

from __future__ import annotations

from typing import Any

import pytest

from krm_fn.kubevirt.updates.references import differences


@pytest.mark.parametrize(
    ("before", "after", "paths"),
    [
        ({"a": 1}, {"a": 1}, ()),
        ({"a": 1}, {"a": 2}, ("/a",)),
        ({"a": {"b": 1}}, {}, ("/a",)),
        ({}, {"x/y~z": 1}, ("/x~1y~0z",)),
        ([{"name": "a"}, {"name": "b"}], [{"name": "b"}, {"name": "a"}], ("",)),
        ([{"name": "a"}, {"name": "b"}], [{"name": "b", "c": 1}, {"name": "a"}], ("[b]/c",)),
        ([{"name": "a"}], [{"name": "a"}, {"name": "b"}], ("[b]",)),
        ([{"name": "a"}, {"name": "a"}], [{"name": "a"}], ("",)),
        ([{"key": "a"}], [{"key": "b"}], ("",)),
    ],
)
def test_paths(before: Any, after: Any, paths: tuple[str, ...]) -> None:
    assert differences(before, after) == paths
