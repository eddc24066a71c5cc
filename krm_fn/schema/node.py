"""The schema of one place as a `Node`, and the walk that holds a value against it.

A valid object must cost little: the walk looks up each key once, and what a scalar of a plain type holds is never looked at.
"""

from __future__ import annotations

from krm_fn.findings import UNSET
from krm_fn.limits import Limited
from krm_fn.schema.flaws import ELSEWHERE, MISSING, NULL, TYPE, UNKNOWN, Flaw, sort

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from krm_fn.paths import Path
    from krm_fn.schema.flaws import Span

    Judge = Callable[[Any, Path], Flaw | None]
    Fields = dict[str, "Node"]

NOTHING: frozenset[type] = frozenset()
ALL: frozenset[type] = frozenset((str, int, float, bool, type(None), dict, list))
TEXT, WHOLE, TRUTH = frozenset((str,)), frozenset((int,)), frozenset((bool,))

WORDS: dict[type, str] = {
    dict: "a map",
    list: "a list",
    str: "text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


class Node:
    """What may stand at one place.

    `expected` words the type. `plain` are the Python types of which every value is right. Others of `accepts` go to `judge`. A
    place `of_map` has `fields` (opened when they are first needed), `required` names, and `values` for all other keys; one of
    `items` is a list. `spans` tells which releases know a field of that name here, and `schema` whose schema this is.
    """

    __slots__ = (
        "_fields",
        "_open",
        "accepts",
        "expected",
        "items",
        "judge",
        "nullable",
        "of_map",
        "plain",
        "required",
        "schema",
        "spans",
        "values",
    )

    def __init__(
        self,
        expected: str,
        *,
        plain: frozenset[type] = NOTHING,
        accepts: frozenset[type] = NOTHING,
        judge: Judge | None = None,
        nullable: bool = False,
    ) -> None:
        self.expected, self.plain, self.accepts, self.judge, self.nullable = expected, plain, accepts, judge, nullable
        self.of_map = False
        self.required: tuple[str, ...] = ()
        self.values: Node | None = None
        self.items: Node | None = None
        self.schema = ""
        self.spans: Callable[[str], tuple[Span, ...]] | None = None
        self._fields: Fields | None = None
        self._open: Callable[[], tuple[Fields, tuple[str, ...], Node | None]] | None = None

    @property
    def fields(self) -> Fields:
        """The places below, by key; asking for them fills in `required` and `values` too."""
        if self._fields is None:
            self._fields, self.required, self.values = self._open() if self._open else ({}, (), None)
        return self._fields


ANY = Node("any value", plain=ALL)


def list_of(items: Node) -> Node:
    """A list of which each item is as `items` says."""
    node = Node("a list")
    node.items = items
    return node


def map_of(values: Node) -> Node:
    """A map with any keys, the values as `values` says."""
    return structure(lambda: ({}, (), values))


def structure(
    opened: Callable[[], tuple[Fields, tuple[str, ...], Node | None]],
    *,
    nullable: bool = False,
    schema: str = "",
    spans: Callable[[str], tuple[Span, ...]] | None = None,
) -> Node:
    """A map with fields; `opened` gives them, the names of the required ones, and what all other keys may hold."""
    node = Node("a map", nullable=nullable)
    node.of_map, node.schema, node.spans, node._open = True, schema, spans, opened  # noqa: SLF001  still being made
    return node


def walk(value: Any, node: Node, path: Path, found: Limited) -> None:
    """Add what is wrong with a value, and below it, to `found`."""
    kind = type(value)
    if kind is dict and node.of_map:
        _walk_map(value, node, path, found)
    elif kind is list and node.items is not None:
        items, plain = node.items, node.items.plain
        for index, each in enumerate(value):
            if type(each) not in plain:
                walk(each, items, (*path, index), found)
    elif kind in node.accepts:
        flaw = node.judge(value, path) if node.judge else None
        if flaw is not None and found.takes(sort(flaw.kind, path)):
            found.add(flaw.but(schema=node.schema))
    elif kind not in node.plain and not (value is None and node.nullable) and found.takes(sort(TYPE, path)):
        found.add(_wrong_type(value, node, path))


def _walk_map(value: dict[Any, Any], node: Node, path: Path, found: Limited) -> None:
    fields = node.fields
    for key, below in value.items():
        place = fields.get(key) or node.values
        if place is None:
            _add_unknown(node, (*path, str(key)), found)
        elif below is None:
            if _may_be_meant(place) and key not in node.required and found.takes(sort(NULL, at := (*path, str(key)))):
                found.add(_wrong_type(None, place, at).but(kind=NULL))
        elif type(below) not in place.plain:
            walk(below, place, (*path, str(key)), found)
    for name in node.required:
        if value.get(name) is None:
            _miss(name, node, path, found)


def _may_be_meant(place: Node) -> bool:
    """True where `{}` says more than nothing, so that a key without a value may be a slip.

    The API server drops null from maps before anything looks at it, as if the key weren't there.
    upstream: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/prune.go
    """
    if not place.of_map or place.nullable:
        return False
    return place.fields is not None and place.values is None and not place.required  # asking for the fields fills in the rest


def _miss(name: str, node: Node, path: Path, found: Limited) -> None:
    at = (*path, name)
    if found.takes(sort(MISSING, at)):
        place = node.fields.get(name, ANY)
        found.add(Flaw(kind=MISSING, path=at, proposed=_least(place), expected=place.expected, schema=node.schema))


def _add_unknown(node: Node, path: Path, found: Limited) -> None:
    spans = node.spans(str(path[-1])) if node.spans else ()
    kind = ELSEWHERE if spans else UNKNOWN
    if found.takes(sort(kind, path)):
        found.add(Flaw(kind=kind, path=path, known=tuple(node.fields), spans=spans, schema=node.schema))


def _least(node: Node) -> Any:
    """The least map that the place takes; UNSET where it takes no map, or that would have to hold more than maps."""
    if not node.of_map:
        return UNSET
    fields = node.fields
    least = {name: _least(fields.get(name, ANY)) for name in node.required}
    return UNSET if UNSET in least.values() else least


def _wrong_type(value: Any, node: Node, path: Path) -> Flaw:
    """The flaw of a value of the wrong type. Maps, lists, and text in the place of one, may hold secrets."""
    scalar = not isinstance(value, dict | list) and not (isinstance(value, str) and (node.of_map or node.items))
    return Flaw(
        kind=TYPE,
        path=path,
        current=value if scalar else UNSET,
        proposed=_converted(value, node),
        found=WORDS.get(type(value), "a value"),
        expected=node.expected,
        schema=node.schema,
    )


def _converted(value: Any, node: Node) -> Any:
    """The value as the place would take it, where that is plain to see; else UNSET."""
    if value is None:
        return [] if node.items is not None else _least(node)
    candidates = [[value]] if node.items is not None else _respelled(value)
    return next((each for each in candidates if _fits(each, node)), UNSET)


def _respelled(value: Any) -> list[Any]:
    """What quoted text may have been meant to be, and `2.0`. What else a number or a truth value was written as is gone."""
    if value in ("true", "false"):
        return [value == "true"]
    if isinstance(value, float) and value.is_integer():
        return [int(value)]
    digits = value.removeprefix("-") if isinstance(value, str) else ""
    return [int(value)] if digits.isascii() and digits.isdigit() and len(digits) < 20 else []


def _fits(value: Any, node: Node) -> bool:
    """True where the place takes the value."""
    if type(value) in node.plain:
        return True
    if type(value) not in node.accepts and node.items is None:
        return False
    found = Limited()
    walk(value, node, (), found)
    return not found.all()
