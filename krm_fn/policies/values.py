"""The values of CEL beyond those of JSON, and what is the same for all: types, equality, keys.

int is `int`, double is `float`, bytes is `bytes`, the others are the classes here. A bool is no number.

upstream: github.com/google/cel-go/common/types
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterable, Sequence
from krm_fn.base.value import Value
from krm_fn.base.work import WORK
from krm_fn.policies.errors import AbortedError, EvaluationError, Unknown, Unsupported, no_overload

SUM = "sum"  # the data of a quantity that is the result of a calculation
NO_ORDER = "the order of the entries of a map, which is one of chance on the API server"
DEEPEST = 150  # lists and maps within one another


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
    """A value of a type of its own: `kind` is quantity, url, ip, cidr, semver, format, duration or timestamp.

    `key` stands for it where values are compared; `data` is what functions read.
    """

    kind: str
    key: Any
    data: Any = None


class Lazy:
    """A value that is computed when it is first used."""

    __slots__ = ("_known", "_make")

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._known: tuple[Any, ...] = ()

    def value(self) -> Any:
        """The value."""
        if not self._known:
            self._known = (self._make(),)
        return self._known[0]


class Unordered(list):  # type: ignore[type-arg]
    """A list made from the entries of a map: the API server has them in an order of chance."""

    __slots__ = ()


NONE = Optional()
WORDS: dict[type, str] = {
    bool: "bool",
    str: "string",
    dict: "map",
    list: "list",
    Unordered: "list",
    UInt: "uint",
    int: "int",
    float: "double",
    bytes: "bytes",
    type(None): "null_type",
    Optional: "optional_type",
    Type: "type",
}
LONG_NAMES = {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration"}


def type_name(value: Any) -> str:
    """The word for a value's type. Raises: Unknown."""
    found = WORDS.get(type(value))
    if found:
        return found
    if isinstance(value, Opaque):
        return value.kind
    if isinstance(value, Unknown):
        raise value
    return "unknown"


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def same(one: Any, other: Any) -> bool:  # noqa: PLR0911  one answer for each type
    """Equality of CEL: numbers across types, lists and maps by their content, everything else within one type.

    Raises: EvaluationError for a value of Kubernetes' types on the left and a value of another type on the right; Unknown.
    """
    for each in (one, other):
        if isinstance(each, Unknown):
            raise each
    if is_number(one) and is_number(other):
        mixed = isinstance(one, float) or isinstance(other, float)
        return float(one) == float(other) if mixed else bool(one == other)
    if isinstance(one, str) and isinstance(other, str):
        return one == other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and _same_lists(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        WORK.spend(4 * len(one))
        return len(one) == len(other) and all(key in other and _same_within(value, other[key]) for key, value in one.items())
    if isinstance(one, Opaque) and one.kind not in ("timestamp", "duration"):
        return _same_opaque(one, other)
    if isinstance(one, Optional) and isinstance(other, Optional):
        return len(one.held) == len(other.held) and all(map(same, one.held, other.held))
    return type_name(one) == type_name(other) and bool(one == other if not isinstance(one, Opaque) else one.key == other.key)


def _same_lists(one: list[Any], other: list[Any]) -> bool:
    if isinstance(one, Unordered) or isinstance(other, Unordered):
        raise Unsupported(NO_ORDER)
    WORK.spend(4 * len(one))
    return all(map(_same_within, one, other))


def _same_opaque(one: Opaque, other: Any) -> bool:
    if other is None:
        return False
    # The sum of quantities is kept in another form, which is not seen on the right.
    if not isinstance(other, Opaque) or one.kind != other.kind or other.data == SUM:
        raise no_overload()
    return bool(one.key == other.key)


def _same_within(one: Any, other: Any) -> bool:
    """Equality of elements, whose errors count as equality in some lists of the server's evaluator."""
    try:
        return same(one, other)
    except EvaluationError:
        raise Unsupported("lists or maps whose elements can't be compared") from None


def contains(values: Iterable[Any], value: Any) -> bool:
    """True if one of the values is the same."""
    return any(_is_same(value, each) for each in values)


def _is_same(one: Any, other: Any) -> bool:
    WORK.spend(2)
    try:
        return same(one, other)
    except EvaluationError:
        return False


def keyed(key: Any) -> Any:
    """A key of a map as this module's maps hold it: bools are kept apart from numbers."""
    return ("bool", key) if isinstance(key, bool) else int(key) if isinstance(key, float) and key.is_integer() else key


def has_key(found: dict[Any, Any], key: Any) -> bool:
    """True if a map has a key; a number of any type finds an equal one."""
    return isinstance(key, str | int | float | tuple) and keyed(key) in found


def at(found: dict[Any, Any], key: Any) -> Any:
    """The value of a key that the map has."""
    return found[keyed(key)]


def ordered_keys(found: dict[Any, Any]) -> list[Any]:
    """The keys of a map in a fixed order: bools, numbers, texts."""
    return sorted((key[1] if isinstance(key, tuple) else key for key in found), key=_rank)


def _rank(key: Any) -> tuple[int, Any]:
    return (0, key) if isinstance(key, bool) else (2, key) if isinstance(key, str) else (1, key)


def constant_set(values: Sequence[Any]) -> frozenset[tuple[str, Any]] | None:
    """The types and values of a list of constants, numbers in all types that have them; None if one has parts.

    upstream: github.com/google/cel-go/interpreter/decorators.go:maybeOptimizeSetMembership
    """
    found: set[tuple[str, Any]] = set()
    for value in values:
        kind = type_name(value)
        if kind not in ("bool", "double", "int", "string", "uint"):
            return None
        found.add((kind, value))
        if kind == "double" and value.is_integer():
            found |= {("int", int(value)), ("uint", int(value))}
        elif kind in ("int", "uint"):
            found |= {("double", float(value)), ("int", int(value)), ("uint", int(value))}
    return frozenset(found)


def is_member(known: frozenset[tuple[str, Any]], value: Any) -> bool:
    """True if a list of constants has a value."""
    if isinstance(value, bytes):
        raise AbortedError("internal error: bytes have no hash")
    plain = value is None or isinstance(value, str | int | float)
    return plain and (type_name(value), value) in known


def normalized(value: Any, depth: int = 0) -> Any:
    """A value of an object as an API server reads it from JSON: whole numbers beyond 64 bits are doubles, and half of a
    surrogate pair is the replacement character.

    Raises: Unsupported for what is nested too deeply, or is no JSON.
    """
    if isinstance(value, str):
        return value if value.isascii() else _text(value)
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else float(value)
    if depth > DEEPEST:
        raise Unsupported("the object is nested too deeply")
    if isinstance(value, dict):
        changed = {key: new for key, each in value.items() if (new := normalized(each, depth + 1)) is not each}
        whole = {**value, **changed} if changed else value
        return whole if "".join(map(str, whole)).isascii() else {normalized(key): each for key, each in whole.items()}
    if isinstance(value, list):
        found = [normalized(each, depth + 1) for each in value]
        return found if any(new is not each for new, each in zip(found, value, strict=True)) else value
    raise Unsupported("the object has a value that is no JSON")


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value
