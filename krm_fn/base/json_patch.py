"""JSON patches (RFC 6902): the operations that make one plain value of another."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator

Operation = dict[str, Any]


def operations(old: Any, new: Any, pointer: str = "", *, by_entry: bool = False) -> Iterator[Operation]:
    """The operations that make `new` of `old`, in an order that depends on nothing but the two.

    Lists are compared place by place; one that became shorter is replaced as a whole. `by_entry`: entries that stay at the
    start and at the end of a list do not occur in the patch, and entries are taken out by themselves.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _of_maps(old, new, pointer, by_entry=by_entry)
    elif isinstance(old, list) and isinstance(new, list) and by_entry:
        yield from _by_entry(old, new, pointer)
    elif isinstance(old, list) and isinstance(new, list) and len(new) >= len(old):
        for index, value in enumerate(new):
            if index < len(old):
                yield from operations(old[index], value, f"{pointer}/{index}")
            else:
                yield {"op": "add", "path": f"{pointer}/-", "value": value}
    elif type(old) is not type(new) or old != new:
        yield {"op": "replace", "path": pointer, "value": new}


def steps_of(pointer: str) -> tuple[str | int, ...]:
    """The keys and indices of a JSON pointer; a key of digits is taken for an index."""
    keys = (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
    return tuple(int(key) if key.isascii() and key.isdigit() else key for key in keys)


def _of_maps(old: dict[str, Any], new: dict[str, Any], pointer: str, *, by_entry: bool) -> Iterator[Operation]:
    for key in sorted({*old, *new}):
        below = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
        if key not in new:
            yield {"op": "remove", "path": below}
        elif key not in old:
            yield {"op": "add", "path": below, "value": new[key]}
        else:
            yield from operations(old[key], new[key], below, by_entry=by_entry)


def _by_entry(old: list[Any], new: list[Any], pointer: str) -> Iterator[Operation]:
    """The operations between the entries that both lists start with, and those that both end with."""
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    both = min(len(before), len(after))
    for index in range(both):
        yield from operations(before[index], after[index], f"{pointer}/{start + index}", by_entry=True)
    for _ in before[both:]:
        yield {"op": "remove", "path": f"{pointer}/{start + both}"}
    for index, value in enumerate(after[both:], start + both):
        yield {"op": "add", "path": f"{pointer}/{index}", "value": value}


def _common(old: list[Any], new: list[Any]) -> int:
    """How many entries both lists start with."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (one, other) in pairs if any(operations(one, other))), min(len(old), len(new)))
