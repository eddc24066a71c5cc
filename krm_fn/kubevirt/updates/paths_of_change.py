"""Where two objects differ, as JSON pointers: `/spec/domain/devices/interfaces[blue]/state`.

Entries of a list that all have a name of their own are compared by it. The path of a list alone says that their order differs,
or that the entries have no names.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.objects import Object, text
from krm_fn.base.value import Value

# Stands for an entry of a list in the steps of a difference: entries are told apart by their names, not by their places.
ENTRY = 0


class Difference(Value):
    """One difference: its pointer, the keys that lead there (ENTRY for an entry of a list), and both values, None for none."""

    pointer: str
    steps: tuple[str | int, ...]
    before: Any
    after: Any


def differences(before: Any, after: Any) -> tuple[str, ...]:
    """The paths at which two values differ, sorted; a part that only one of them has is one path."""
    return tuple(each.pointer for each in compared(before, after))


def compared(before: Any, after: Any) -> list[Difference]:
    """The differences of two values, by their pointers."""
    found = _compared(before, after, "", ()) if before != after else ()
    return sorted(found, key=lambda each: each.pointer)


def _compared(before: Any, after: Any, pointer: str, steps: tuple[str | int, ...]) -> Iterator[Difference]:
    """The differences of two values that differ."""
    ours, theirs = _parts(before, after)
    if ours is None or theirs is None or ours == theirs:  # a list whose entries only have another order
        yield Difference(pointer=pointer, steps=steps, before=before, after=after)
        return
    listed = isinstance(before, list)
    for key in {**ours, **theirs}:
        old, new = ours.get(key), theirs.get(key)
        if old == new and key in ours and key in theirs:
            continue
        below = f"{pointer}[{key}]" if listed else f"{pointer}/{escaped(key)}", (*steps, ENTRY if listed else key)
        if key in ours and key in theirs:
            yield from _compared(old, new, *below)
        else:
            yield Difference(pointer=below[0], steps=below[1], before=old, after=new)


def _parts(before: Any, after: Any) -> tuple[Object | None, Object | None]:
    """What both values have by keys: maps, or the entries of lists by name. None for one that has nothing of the kind."""
    if isinstance(before, dict) and isinstance(after, dict):
        return before, after
    return named(before), named(after)


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
