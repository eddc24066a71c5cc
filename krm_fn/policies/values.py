"""The values of CEL beyond those of JSON, and what is the same for all: types, equality, order.

int is `int`, double is `float`, the others are the classes here. A bool is no number.
"""

from __future__ import annotations

from krm_fn.base.value import Value
from krm_fn.policies.errors import Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class UInt(int):
    """An unsigned integer of 64 bits."""

    __slots__ = ()


class Type(Value):
    """A type as a value."""

    name: str


class Optional(Value):
    """A value that may be absent; `held` is empty or has the value."""

    held: tuple[Any, ...] = ()


class Opaque(Value):
    """A value of a type of Kubernetes: `kind` is quantity, url, ip, cidr, semver, duration or timestamp.

    `key` stands for it where values are compared; `data` is what functions read.
    """

    kind: str
    key: Any
    data: Any = None


class Unknown:
    """A value that is not known here, of which only its presence is."""

    def __init__(self, what: str) -> None:
        self.what = what


NONE = Optional()


def known(value: Any) -> Any:
    """The value. Raises: Unsupported if it is not known here."""
    if isinstance(value, Unknown):
        raise Unsupported(value.what)
    return value


def type_name(value: Any) -> str:
    """The name of a value's type in CEL."""
    if value is None:
        return "null_type"
    if isinstance(value, Opaque):
        return value.kind
    for kind, name in TYPES:
        if isinstance(value, kind):
            return name
    return "unknown"


TYPES: tuple[tuple[Any, str], ...] = (
    (bool, "bool"),
    (UInt, "uint"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (dict, "map"),
    (list, "list"),
    (Optional, "optional_type"),
    (Type, "type"),
)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def same(one: Any, other: Any) -> bool:  # noqa: PLR0911  one answer for each type
    """Equality of CEL: numbers across types, lists and maps by their content, everything else within one type."""
    if is_number(one) and is_number(other):
        return bool(one == other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return len(one) == len(other) and all(has_key(other, key) and same(value, at(other, key)) for key, value in one.items())
    if type_name(one) != type_name(other):
        return False
    if isinstance(one, Opaque):
        return bool(one.key == other.key)
    if isinstance(one, Optional):
        for each in (*one.held, *other.held):
            known(each)
        return len(one.held) == len(other.held) and all(map(same, one.held, other.held))
    return bool(one == other)


def contains(values: Iterable[Any], value: Any) -> bool:
    """True if one of the values is the same."""
    return any(same(each, value) for each in values)


def keyed(key: Any) -> Any:
    """A key of a map as this module's maps hold it: bools are kept apart from numbers."""
    return ("bool", key) if isinstance(key, bool) else int(key) if isinstance(key, float) and key.is_integer() else key


def has_key(found: dict[Any, Any], key: Any) -> bool:
    """True if a map has a key; a number of any type finds an equal one."""
    return isinstance(key, str | int | float | bool) and keyed(key) in found


def at(found: dict[Any, Any], key: Any) -> Any:
    """The value of a key that the map has."""
    return found[keyed(key)]
