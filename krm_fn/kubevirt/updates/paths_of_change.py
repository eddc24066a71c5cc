"""Where two objects differ, as JSON pointers: `/spec/domain/devices/interfaces[blue]/state`.

Entries of a list that all have a name of their own are compared by it. The path of a list alone says that their order differs,
or that the entries have no names.
"""

from __future__ import annotations

from krm_fn.base.objects import text
from krm_fn.base.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from krm_fn.base.objects import Object

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
    found = _compared(before, after, Difference(pointer="", steps=(), before=before, after=after))
    return sorted(found, key=lambda each: each.pointer)


def _compared(before: Any, after: Any, here: Difference) -> Iterator[Difference]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in {**before, **after}:
            below = Difference(
                pointer=f"{here.pointer}/{escaped(key)}",
                steps=(*here.steps, key),
                before=before.get(key),
                after=after.get(key),
            )
            yield from _deeper(below) if key in before and key in after else (below,)
        return
    ours, theirs = named(before), named(after)
    if ours is None or theirs is None:
        yield here
        return
    yield from _entries(ours, theirs, here)


def _deeper(here: Difference) -> Iterator[Difference]:
    yield from _compared(here.before, here.after, here)


def _entries(before: dict[str, Object], after: dict[str, Object], here: Difference) -> Iterator[Difference]:
    """The differences of two lists by the names of their entries."""
    if before == after:  # dicts are equal in any order
        yield here
    for name in {**before, **after}:
        below = Difference(
            pointer=f"{here.pointer}[{name}]",
            steps=(*here.steps, ENTRY),
            before=before.get(name),
            after=after.get(name),
        )
        yield from _deeper(below) if name in before and name in after else (below,)


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
