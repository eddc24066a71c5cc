"""Places inside plain objects: tuples of keys and indexes, such as `("spec", "disks", 0, "name")`.

Presence follows Go's JSON encoding: absent, null, `""` and `[]` are unset; `{}`, `false` and `0` are set, because Go has
pointers there. Go's plain bools and integers, where zero means unset too, say so in their own rows (`is_nonzero`).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Path = tuple[str | int, ...]


# Stands in a pattern of paths for any entry of a list: no key of a map equals it, and no path to a value has it.
EACH = -1

SCALARS = frozenset((str, int, bool, float, type(None)))
CONTAINERS = dict, list  # `dict | list` makes a type at each use


# Up to here each whole number has a float of its own; a larger float is no integer to Kubernetes.
MOST_EXACT = 2**53 - 1

MARKS = frozenset('./[]" ')  # what keys in a path's text are quoted for
LONG = 1_000  # letters of a key; from there on each mark is looked for by itself, which takes a fiftieth of the time


def is_set(value: object) -> bool:
    """True unless the value is null, an empty string or an empty list."""
    return value is not None and value != "" and not (isinstance(value, list) and not value)


def is_nonzero(value: object) -> bool:
    """True unless Go's `omitempty` would drop the plain scalar: unset, `false` or `0`."""
    return is_set(value) and value is not False and value != 0


def get(value: Any, path: Path, default: Any = None) -> Any:
    """What stands at `path`, or `default` where any step is missing or of another shape."""
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
    """Set `path` inside `value` to `new`, making maps on the way where they are absent or null.

    Changes `value` in place: the caller owns it (see `copy`).
    Raises: TypeError where a step meets something that is neither a map nor a list.
    """
    for step in path[:-1]:
        below = get(value, (step,))
        if below is None:
            below = value[step] = {}  # type: ignore[index]
        value = below
    value[path[-1]] = new  # type: ignore[index]


def put_in(value: Any, path: Path, new: Any) -> Any:
    """The value with another one at a path; what stands around it is copied along the way only."""
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
    """The value with each float that is a whole number as that integer; the same object where it has none.

    So Kubernetes reads numbers: `2.0` is 2. YAML and JSON text is read so at once; this is for data of other programs.
    """
    holders = _holders(value)
    if not any(is_integral(each) for holder in holders for each in _entries(holder)):
        return value
    copies: dict[int, Any] = {id(holder): dict(holder) if isinstance(holder, dict) else list(holder) for holder in holders}
    for holder in copies.values():
        for key, each in holder.items() if isinstance(holder, dict) else enumerate(holder):
            holder[key] = int(each) if is_integral(each) else copies.get(id(each), each)
    return copies[id(value)]


def _holders(value: Any) -> list[Any]:
    """The maps and lists of a value, each once, however deep they are nested."""
    found = [value] if isinstance(value, (dict, list)) else []
    seen = {id(value)}
    for holder in found:
        below = [each for each in _entries(holder) if isinstance(each, (dict, list)) and id(each) not in seen]
        seen.update(map(id, below))
        found += below
    return found


def _entries(holder: Any) -> Any:
    return holder.values() if isinstance(holder, dict) else holder


def is_integral(value: object) -> bool:
    """True for a float that is an integer to Kubernetes."""
    return value.__class__ is float and value.is_integer() and abs(value) <= MOST_EXACT


def as_map(value: object) -> dict[str, Any]:
    """The value where it is a map, else an empty one: for reading user data of any shape."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def dotted(path: Path) -> str:
    """A path as users read it: `spec.disks[0].name`; keys with dots, slashes or brackets are quoted in brackets."""
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
    """The path that `dotted` gives as this text."""
    import re  # only where a config is wrong

    found = re.finditer(r'\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|\.?([^.\[]+)', text, re.DOTALL)
    return tuple(
        int(match[2]) if match[2] else match[3] or re.sub(r"\\(.)", r"\1", match[1], flags=re.DOTALL) for match in found
    )


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every (path, value) below `value` that is no map and no list, and every empty map or list."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not below:
        yield path, value
    for key, item in below:
        yield from leaves(item, (*path, key))


def canonical(value: object) -> str:
    """The value as text: the same for values that are equal, whatever the order of their keys."""
    import json  # only where objects have to be told apart by what they hold

    loaded = {**value} if isinstance(value, dict) else value  # the json module does not see what is read late
    try:
        return json.dumps(loaded, sort_keys=True, default=repr)
    except TypeError:  # keys that are no text
        return repr(loaded)


def number_of_values(value: Any) -> int:
    """How many values stand below a value, maps and lists among them."""
    waiting, number = [value], 0
    while waiting:
        below = waiting.pop()
        inside = below.values() if isinstance(below, dict) else below
        number += len(inside)
        waiting += [each for each in inside if isinstance(each, CONTAINERS) and each]
    return number
