"""JSON patches (RFC 6902) from one object to another, as entries for the `patches:` of a kustomization."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from krm_fn.base.bundle import entries as objects_of
from krm_fn.base.objects import group_of, kind_of, name_of, namespace_of, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    Operation = dict[str, Any]


def entries(before: Sequence[Any], after: Sequence[Any]) -> list[dict[str, Any]]:
    """One entry for each object of `before` that differs in `after`, objects inside Lists too, in order."""
    pairs = zip(objects_of(before), objects_of(after[: len(before)]), strict=True)
    return [_entry(old.obj, new.obj) for old, new in pairs if old.obj is not new.obj and old.obj != new.obj]


def _entry(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    version = text(old.get("apiVersion")).rpartition("/")[2]
    target = {
        "group": group_of(old),
        "version": version,
        "kind": kind_of(old),
        "name": name_of(old).replace(".", r"\."),  # kustomize reads these as regular expressions
        "namespace": namespace_of(old),
    }
    lines = ",\n".join("  " + json.dumps(each, ensure_ascii=False) for each in operations(old, new))
    return {"target": {key: value for key, value in target.items() if value}, "patch": f"[\n{lines}\n]\n"}


def operations(old: Any, new: Any, pointer: str = "") -> Iterator[Operation]:
    """The operations that make `new` of `old`, in an order that depends on nothing but the two.

    Lists are compared place by place; one that became shorter is replaced as a whole.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _of_maps(old, new, pointer)
    elif isinstance(old, list) and isinstance(new, list) and len(new) >= len(old):
        for index, value in enumerate(new):
            if index < len(old):
                yield from operations(old[index], value, f"{pointer}/{index}")
            else:
                yield {"op": "add", "path": f"{pointer}/-", "value": value}
    elif type(old) is not type(new) or old != new:
        yield {"op": "replace", "path": pointer, "value": new}


def _of_maps(old: dict[str, Any], new: dict[str, Any], pointer: str) -> Iterator[Operation]:
    for key in sorted({*old, *new}):
        below = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
        if key not in new:
            yield {"op": "remove", "path": below}
        elif key not in old:
            yield {"op": "add", "path": below, "value": new[key]}
        else:
            yield from operations(old[key], new[key], below)
