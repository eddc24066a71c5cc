"""Where two objects differ, as JSON pointers: `/spec/domain/devices/interfaces[blue]/state`.

Entries of a list that all have a name of their own are compared by it. The path of a list alone says that their order differs,
or that the entries have no names.
"""

from __future__ import annotations

from krm_fn.base.objects import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from krm_fn.base.objects import Object


def differences(before: Any, after: Any) -> tuple[str, ...]:
    """The paths at which two values differ, sorted; a part that only one of them has is one path."""
    return tuple(sorted(_differences(before, after, "")))


def _differences(before: Any, after: Any, path: str) -> Iterator[str]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in {**before, **after}:
            below = f"{path}/{escaped(key)}"
            if key in before and key in after:
                yield from _differences(before[key], after[key], below)
            else:
                yield below
        return
    ours, theirs = named(before), named(after)
    if ours is None or theirs is None:
        yield path
        return
    yield from _entries(ours, theirs, path)


def _entries(before: dict[str, Object], after: dict[str, Object], path: str) -> Iterator[str]:
    """The differences of two lists by the names of their entries."""
    if before == after:  # dicts are equal in any order
        yield path
    for name in {**before, **after}:
        below = f"{path}[{name}]"
        if name in before and name in after:
            yield from _differences(before[name], after[name], below)
        else:
            yield below


def named(value: Any) -> dict[str, Object] | None:
    """The entries of a list by name; None where it is no list, or the names do not tell the entries apart."""
    if not isinstance(value, list) or not value:
        return None
    names = [text(each.get("name")) if isinstance(each, dict) else "" for each in value]
    if "" in names or len(set(names)) < len(names):
        return None
    return dict(zip(names, value, strict=True))


def escaped(key: object) -> str:
    """A key as a step of a JSON pointer."""
    return str(key).replace("~", "~0").replace("/", "~1")
