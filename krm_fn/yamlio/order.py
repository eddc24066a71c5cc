"""The order of items, when some are added to others.

Added items come last. For the first of them, `before` has the numbers of the items that must follow them.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Sequence


def in_order(items: Sequence[Any], before: Sequence[int], kept: int | None = None) -> list[Any]:
    """The items, with each added one before the item that must follow it.

    `kept` is the number of items that were not added; without it, `before` has a number for each added item.
    """
    kept = min(len(items), len(items) - len(before) if kept is None else kept)
    inserted, last = parted(items[kept:], before, kept)
    return [*(each for number in range(kept) for each in (*inserted.get(number, ()), items[number])), *last]


def parted(added: Sequence[Any], before: Sequence[int], kept: int) -> tuple[dict[int, list[Any]], list[Any]]:
    """The added items by the number of the item that follows them, and those that come last. None is left out."""
    inserted: dict[int, list[Any]] = {}
    for item, number in zip(added, before, strict=False):
        if item is not None:
            inserted.setdefault(min(number, kept), []).append(item)
    return inserted, [*inserted.pop(kept, []), *(item for item in added[len(before) :] if item is not None)]
