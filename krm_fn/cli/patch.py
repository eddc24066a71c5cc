"""JSON patches (RFC 6902) from one object to another, as entries for the `patches:` of a kustomization."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from krm_fn.base.bundle import entries as objects_of
from krm_fn.base.json_patch import operations
from krm_fn.base.objects import group_of, kind_of, name_of, namespace_of, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any


def entries(before: Sequence[Any], after: Sequence[Any]) -> list[dict[str, Any]]:
    """One entry for each object of `before` that differs in `after`, objects inside Lists too, in order."""
    pairs = zip(objects_of(before), objects_of(after[: len(before)]), strict=True)
    return [entry(old.obj, operations(old.obj, new.obj)) for old, new in pairs if old.obj is not new.obj and old.obj != new.obj]


def entry(old: dict[str, Any], made: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The entry for the operations that change an object."""
    version = text(old.get("apiVersion")).rpartition("/")[2]
    target = {
        "group": group_of(old),
        "version": version,
        "kind": kind_of(old),
        "name": name_of(old).replace(".", r"\."),  # kustomize reads these as regular expressions
        "namespace": namespace_of(old),
    }
    lines = ",\n".join("  " + json.dumps(each, ensure_ascii=False) for each in made)
    return {"target": {key: value for key, value in target.items() if value}, "patch": f"[\n{lines}\n]\n"}
