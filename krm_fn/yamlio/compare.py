"""The places where two plain values differ, and the entries of two lists that belong together."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.paths import Path


def same(a: Any, b: Any) -> bool:
    """True if two plain values are the same in JSON: `1` and `1.0` are, `1` and `true` are not."""
    if a != b:
        return False
    # They are equal in Python, but there 1 == True. Only their printed forms differ then. This settles most cases quickly.
    if not isinstance(a, (dict, list)):
        return (a.__class__ is bool) == (b.__class__ is bool)
    return repr(a) == repr(b) or _same_kinds(a, b)


def _same_kinds(a: Any, b: Any) -> bool:
    waiting = [(a, b)]
    while waiting:
        one, two = waiting.pop()
        if isinstance(one, dict):
            waiting += [(value, two[key]) for key, value in one.items()]
        elif isinstance(one, list):
            waiting += zip(one, two, strict=True)
        elif (one.__class__ is bool) != (two.__class__ is bool):
            return False
    return True


def changes(old: Any, new: Any, path: Path = ()) -> list[Path]:
    """The paths at which two values differ: the deepest that exist in both, or the parent of what exists in only one."""
    found: list[Path] = []
    waiting = [(old, new, path)]
    while waiting:
        a, b, at = waiting.pop()
        if isinstance(a, dict) and isinstance(b, dict):
            if a.keys() != b.keys():
                found.append(at)
            waiting += [(a[key], b[key], (*at, key)) for key in a if key in b and a[key] is not b[key]]
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                found.append(at)
            waiting += [(one, two, (*at, i)) for i, (one, two) in enumerate(zip(a, b, strict=False)) if one is not two]
        elif not same(a, b):
            found.append(at)
    return found


def aligned(old: list[Any], new: list[Any]) -> list[tuple[int, int]]:
    """The entries of two lists that belong together, changed or not, as pairs of rising indexes."""
    if len(old) == len(new):
        return [(i, i) for i in range(len(old))]
    names = [_names(old), _names(new)]
    if all(names):
        pairs = [(i, names[1][name]) for name, i in names[0].items() if name in names[1]]
        if pairs == sorted(pairs, key=lambda pair: pair[1]):
            return pairs
    head = 0
    while head < min(len(old), len(new)) and same(old[head], new[head]):
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and same(old[-1 - tail], new[-1 - tail]):
        tail += 1
    middle = [(i, i) for i in range(head, min(len(old), len(new)) - tail)]
    return [
        *((i, i) for i in range(head)),
        *middle,
        *((len(old) - i, len(new) - i) for i in range(tail, 0, -1)),
    ]


def _names(entries: list[Any]) -> dict[str, int]:
    """The index of each entry by its `name`; empty unless all entries have a unique name."""
    found = {item["name"]: i for i, item in enumerate(entries) if isinstance(item, dict) and isinstance(item.get("name"), str)}
    return found if len(found) == len(entries) else {}
