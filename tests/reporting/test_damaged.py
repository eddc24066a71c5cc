"""There is a page for measured bundles in which anything stands at random places."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from checking import run
from pages import machines_in, read
from test_any_shape import damaged

from krm_fn.kubevirt.holders import SERVED


def machines(items: list[object]) -> int:
    """How many objects start machines."""
    found = [item for item in items if isinstance(item, dict)]
    return sum((str(item.get("apiVersion")).rpartition("/")[0], str(item.get("kind"))) in SERVED for item in found)


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_bundle_has_a_page(seed: int, tmp_path: Path) -> None:
    _, items, release = damaged(seed)
    given = json.dumps({"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items})
    code, out, err = run("report", "-", "-o", "-", "--kubevirt-version", release, cwd=tmp_path, stdin=given)
    assert "internal error" not in err
    if code == 0:
        assert read(out).policy
        assert len(machines_in(out)) >= machines(items)
