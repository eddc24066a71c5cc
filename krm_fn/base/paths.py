"""Places inside plain objects: tuples of keys and indexes, such as `("spec", "disks", 0, "name")`.

A value is set or unset as in Go's JSON encoding. Absent, null, `""` and `[]` are unset. `{}`, `false` and `0` are set, because
Go has pointers for them. For Go's plain bools and integers, zero is unset too; their rows say so (`is_nonzero`).
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterator

Path = tuple[str | int, ...]


# Stands for any entry of a list in a pattern of paths. No map has this key, and no path to a value contains it.
EACH = -1

SCALARS = frozenset((str, int, bool, float, type(None)))
CONTAINERS = dict, list  # `dict | list` makes a type at each use


# The largest integer that a float represents exactly. Kubernetes does not read a larger float as an integer.
MOST_EXACT = 2**53 - 1

MARKS = frozenset('./[]" ')  # a key with one of these is quoted in a path's text
LONG = 1_000  # characters of a key; in longer keys each mark is searched by itself, which takes a fiftieth of the time


def is_set(value: object) -> bool:
    """True unless the value is null, an empty string or an empty list."""
    return value is not None and value != "" and not (isinstance(value, list) and not value)


def is_nonzero(value: object) -> bool:
    """True unless Go's `omitempty` would drop the plain scalar: unset, `false` or `0`."""
    return is_set(value) and value is not False and value != 0


def get(value: Any, path: Path, default: Any = None) -> Any:
    """The value at `path`, or `default` if a step is missing or has another shape."""
    for step in path:
        if isinstance(value, dict):
            if step not in value:
                return default
            value = value[step]
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return default
    return value


def put(value: dict[str, Any], path: Path, new: Any) -> None:
    """Set `path` inside `value` to `new`. Maps on the way are created if they are absent or null.

    Changes `value` in place: the caller owns it (see `copy`).
    Raises: TypeError if a step meets something that is neither a map nor a list.
    """
    for step in path[:-1]:
        below = get(value, (step,))
        if below is None:
            below = value[step] = {}  # type: ignore[index]
        value = below
    value[path[-1]] = new  # type: ignore[index]


def put_in(value: Any, path: Path, new: Any) -> Any:
    """The value with a new value at a path. Only the maps and lists on the path are copied."""
    if not path:
        return new
    around = value.copy()
    around[path[0]] = put_in(around[path[0]], path[1:], new)
    return around


def drop(value: Any, path: Path) -> None:
    """Remove the map key at `path`, if it is there. Changes `value` in place."""
    parent = get(value, path[:-1])
    if isinstance(parent, dict):
        parent.pop(path[-1], None)


def copy(value: Any) -> Any:
    """A deep copy of plain data (dicts, lists, scalars); several times faster than `copy.deepcopy`."""
    if isinstance(value, dict):
        return {key: item if item.__class__ in SCALARS else copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [item if item.__class__ in SCALARS else copy(item) for item in value]
    return value


def with_integers(value: Any) -> Any:
    """The value with integers in place of floats that are whole numbers; the same object if it has none.

    Kubernetes reads numbers in this way: `2.0` is 2. Our readers of YAML and JSON do so already. This is for other data.
    """
    return with_scalars(value, _whole)


def _whole(value: Any) -> Any:
    return int(value) if value.__class__ is float and is_integral(value) else value


def with_scalars(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with what `change` gives for each scalar in its maps and lists; the same object where it gives nothing new."""
    holders = _holders(value)
    inside = (holder.values() if isinstance(holder, dict) else holder for holder in holders)
    scalars = (each for entries in inside for each in entries if not isinstance(each, CONTAINERS))
    if all(change(each) is each for each in scalars):
        return value
    copies: dict[int, Any] = {id(holder): dict(holder) if isinstance(holder, dict) else list(holder) for holder in holders}
    for holder in copies.values():
        for key, each in holder.items() if isinstance(holder, dict) else enumerate(holder):
            holder[key] = copies[id(each)] if isinstance(each, CONTAINERS) else change(each)
    return copies[id(value)]


def _holders(value: Any) -> list[Any]:
    """The maps and lists in a value, each of them once, at any depth."""
    found = [value] if isinstance(value, (dict, list)) else []
    seen = {id(value)}
    for holder in found:
        inside = holder.values() if isinstance(holder, dict) else holder
        below = [each for each in inside if isinstance(each, CONTAINERS) and id(each) not in seen]
        if below:
            seen.update(map(id, below))
            found += below
    return found


def is_integral(value: object) -> bool:
    """True for a float that Kubernetes reads as an integer."""
    return value.__class__ is float and value.is_integer() and abs(value) <= MOST_EXACT


def as_map(value: object) -> dict[str, Any]:
    """The value if it is a map, otherwise an empty map: for reading user data of any shape."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value if it is a list, otherwise an empty list."""
    return value if isinstance(value, list) else []


def dotted(path: Path) -> str:
    """A path as users read it: `spec.disks[0].name`. Keys with dots, slashes or brackets are quoted in brackets."""
    out = ""
    for step in path:
        if isinstance(step, int):
            out += f"[{step}]"
        elif step == "" or (any(mark in step for mark in MARKS) if len(step) > LONG else not MARKS.isdisjoint(step)):
            quoted = step.replace("\\", "\\\\").replace('"', '\\"')
            out += f'["{quoted}"]'
        else:
            out += f".{step}" if out else step
    return out


def steps(text: str) -> Path:
    """The path of a text that `dotted` has written."""
    import re  # needed only if a config is wrong

    found = re.finditer(r'\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|\.?([^.\[]+)', text, re.DOTALL)
    return tuple(
        int(match[2]) if match[2] else match[3] or re.sub(r"\\(.)", r"\1", match[1], flags=re.DOTALL) for match in found
    )


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every (path, value) below `value` that is neither a map nor a list, and every empty map or list."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not below:
        yield path, value
    for key, item in below:
        yield from leaves(item, (*path, key))


def canonical(value: object) -> str:
    """The value as text. Equal values have the same text, whatever the order of their keys is."""
    import json  # needed only to compare objects by their content

    loaded = {**value} if isinstance(value, dict) else value  # json does not see the values that a dict loads late
    try:
        return json.dumps(loaded, sort_keys=True, default=repr)
    except TypeError:  # keys that are not text
        return repr(loaded)


def number_of_values(value: Any) -> int:
    """The number of values below a value, including maps and lists."""
    waiting, number = [value], 0
    while waiting:
        below = waiting.pop()
        inside = below.values() if isinstance(below, dict) else below
        number += len(inside)
        waiting += [each for each in inside if isinstance(each, CONTAINERS) and each]
    return number
