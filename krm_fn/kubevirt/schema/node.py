"""The schema of one place as a `SchemaNode`, and the walk that checks a value against it.

A valid object must take little time: the walk looks up each key once, and skips scalars whose type alone is enough.
"""

from __future__ import annotations

from itertools import islice

from krm_fn.base.annotations import Any, Callable, Iterable
from krm_fn.base.paths import Path, is_integral, number_of_values
from krm_fn.findings.finding import UNSET
from krm_fn.findings.limits import Limited
from krm_fn.kubevirt.schema.flaws import (
    ELSEWHERE,
    MISSING,
    MOST_KNOWN,
    NULL,
    SERVER,
    TYPE,
    UNKNOWN,
    VALUE,
    WEBHOOKS,
    Flaw,
    Judge,
    Span,
    sort,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from krm_fn.kubevirt.schema.constraints import Check

    class FlawTarget(Protocol):
        """The target of flaws, in the form of `Limited`."""

        def takes(self, sort: object) -> bool: ...
        def add(self, found: Flaw) -> None: ...


Fields = dict[str, "SchemaNode"]


NOTHING: frozenset[type] = frozenset()
ALL: frozenset[type] = frozenset((str, int, float, bool, type(None), dict, list))
TEXT, INTEGER, TRUTH = frozenset((str,)), frozenset((int,)), frozenset((bool,))

# As many objects may lack the fields that a large definition requires. So there are limits for the values in a proposal, and
# for the missing names that are reported for one map.
MOST_PROPOSED, MOST_MISSING = 100, 10

WORDS: dict[type, str] = {
    dict: "a map",
    list: "a list",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


class SchemaNode:
    """The values that are allowed at one place.

    `expected` words the type. `plain` are the Python types of which every value is valid. Values of the other types in
    `accepts` go to `judge`, which refuses as the API server does, and to `hook`, which refuses as the webhooks do;
    `sure` is True for values that both accept. A place `of_map` has `fields` (opened when they are first needed), `required`
    names, and `values` for all other keys; one with `items` is a list, whose entries `keys` tell apart: () in a set, None where
    the list is one value. `checks` check a complete map or list. `lax` says what the API server does not check: "open" other
    keys, "free" everything in the map. A `nullable` place accepts null, unless the values are `listed` without null; `nonnull`
    is True if the webhooks refuse null nevertheless.
    `spans` returns the releases that know a field of that name here, and `schema` names the definition of the place.
    """

    __slots__ = (
        "_fields",
        "_least",
        "_names",
        "_open",
        "accepts",
        "checks",
        "expected",
        "hook",
        "items",
        "judge",
        "keys",
        "lax",
        "listed",
        "nonnull",
        "nullable",
        "of_map",
        "plain",
        "required",
        "schema",
        "spans",
        "sure",
        "values",
    )

    def __init__(
        self,
        expected: str,
        *,
        plain: frozenset[type] = NOTHING,
        accepts: frozenset[type] = NOTHING,
        judge: Judge | None = None,
        hook: Judge | None = None,
        sure: Callable[[Any], bool] | None = None,
    ) -> None:
        self.expected, self.plain, self.accepts, self.judge, self.hook = expected, plain, accepts, judge, hook
        self.sure = sure
        self.nullable = self.nonnull = False
        self.listed: tuple[Any, ...] = ()
        self.lax = ""
        self.keys: tuple[str, ...] | None = None
        self.checks: tuple[Check, ...] = ()
        self.of_map = False
        self.required: dict[str, None] = {}
        self.values: SchemaNode | None = None
        self.items: SchemaNode | None = None
        self.schema = ""
        self.spans: Callable[[str], tuple[Span, ...]] | None = None
        self._fields: Fields | None = None
        self._least: Any = None
        self._names: tuple[str, ...] | None = None
        self._open: Callable[[], tuple[Fields, tuple[str, ...], SchemaNode | None]] | None = None

    def verdict(self, value: Any, path: Path) -> Flaw | None:
        """The flaw of a scalar of one of the types in `accepts`, and who refuses it."""
        flaw = self.judge(value, path) if self.judge else None
        other = self.hook(value, path) if self.hook else None
        if flaw is None or other is None:
            return other.but(by=WEBHOOKS) if other else flaw and flaw.but(by=SERVER)
        return flaw

    @property
    def fields(self) -> Fields:
        """The places below, by key. Reading this property sets `required` and `values`, too."""
        if self._fields is None:
            self._fields, required, self.values = self._open() if self._open else ({}, (), None)
            self.required = dict.fromkeys(required)
        return self._fields

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields; () if there are too many to suggest one."""
        if self._names is None:
            self._names = tuple(self.fields) if len(self.fields) <= MOST_KNOWN else ()
        return self._names

    @property
    def least(self) -> Any:
        """The smallest valid map; UNSET if the place accepts no map, or if such a map contains many values, or scalars."""
        if self._least is None:
            self._least = UNSET
            if self.of_map:
                fields = self.fields
                least = {name: fields.get(name, ANY).least for name in islice(self.required, MOST_PROPOSED + 1)}
                self._least = UNSET if UNSET in least.values() or number_of_values(least) > MOST_PROPOSED else least
        return self._least


ANY = SchemaNode("any value", plain=ALL)


def list_of(items: SchemaNode, checks: Iterable[Check] = ()) -> SchemaNode:
    """A list whose items match `items`."""
    node = SchemaNode("a list")
    node.items, node.checks = items, tuple(checks)
    return node


def map_of(values: SchemaNode) -> SchemaNode:
    """A map with any keys, whose values match `values`."""
    return structure(lambda: ({}, (), values))


def structure(
    opened: Callable[[], tuple[Fields, tuple[str, ...], SchemaNode | None]],
    *,
    schema: str = "",
    spans: Callable[[str], tuple[Span, ...]] | None = None,
) -> SchemaNode:
    """A map with fields; `opened` returns them, the names of the required ones, and the schema of all other keys."""
    node = SchemaNode("a map")
    node.of_map, node.schema, node.spans, node._open = True, schema, spans, opened  # noqa: SLF001  still being made
    return node


class OfWebhooks:
    """Collects flaws that only webhooks refuse, because the API server does not check the map."""

    __slots__ = ("_found", "takes")

    def __init__(self, found: FlawTarget) -> None:
        self._found, self.takes = found, found.takes

    def add(self, found: Flaw) -> None:
        self._found.add(found.but(by=WEBHOOKS))


def walk(value: Any, node: SchemaNode, path: Path, found: FlawTarget) -> None:
    """Add the flaws of a value, and below it, to `found`."""
    kind = type(value)
    if kind is dict and node.of_map:
        _walk_map(value, node, path, OfWebhooks(found) if node.lax == "free" else found)
    elif kind is list and node.items is not None:
        _walk_list(value, node, path, found)
    elif kind in node.accepts:
        flaw = None if node.sure and node.sure(value) else node.verdict(value, path)
        if flaw is not None and found.takes(sort(flaw.kind, path)):
            found.add(flaw.but(schema=node.schema))
    elif kind is float and int in node.accepts and is_integral(value):
        walk(int(value), node, path, found)
    elif kind not in node.plain:
        by = WEBHOOKS if value is None and node.nullable else ""
        if (not by or node.nonnull) and found.takes(sort(TYPE, path)):
            found.add(_wrong_type(value, node, path).but(by=by))


def _walk_list(value: list[Any], node: SchemaNode, path: Path, found: FlawTarget) -> None:
    items = node.items or ANY
    for index, each in enumerate(value):
        if type(each) not in items.plain:
            walk(each, items, (*path, index), found)
    if node.checks:
        _check(value, node, path, found)


def _walk_map(value: dict[Any, Any], node: SchemaNode, path: Path, found: FlawTarget) -> None:
    fields = node.fields
    for key, below in value.items():
        place = fields.get(key) or node.values
        if place is None:
            _add_unknown(node, (*path, str(key)), found)
        elif below is None:
            _walk_null(place, (*path, str(key)), found, required=key in node.required)
        elif type(below) not in place.plain:
            walk(below, place, (*path, str(key)), found)
    if node.required:
        _miss_required(value, node, path, found)
    if node.checks:
        _check(value, node, path, found)


def _miss_required(value: dict[Any, Any], node: SchemaNode, path: Path, found: FlawTarget) -> None:
    """Report the first required names that a map lacks. The last of them has the number of the others."""
    missing = (name for name in node.required if not _has(value, name, node))
    for number, name in enumerate(islice(missing, MOST_MISSING), 1):
        more = 0
        if number == MOST_MISSING:
            given = sum(name in node.required and _has(value, name, node) for name in value)
            more = len(node.required) - given - MOST_MISSING
        _miss(name, node, path, found, more)


def _has(value: dict[Any, Any], name: str, node: SchemaNode) -> bool:
    return value.get(name) is not None or (name in value and node.fields.get(name, ANY).nullable)


def _check(value: Any, node: SchemaNode, path: Path, found: FlawTarget) -> None:
    """Run the checks of a complete map or list. Only the API server has such checks."""
    for check in node.checks:
        for flaw in check(value, path):
            if found.takes(sort(flaw.kind, flaw.path)):
                found.add(flaw.but(schema=node.schema, by=SERVER))


def _walk_null(place: SchemaNode, path: Path, found: FlawTarget, *, required: bool) -> None:
    """The API server keeps null in a nullable place, and checks it against an enum. In other places it drops null."""
    if place.nullable and place.listed and None not in place.listed and found.takes(sort(VALUE, path)):
        known = tuple(map(str, place.listed[:MOST_KNOWN]))
        found.add(Flaw(kind=VALUE, path=path, current=None, known=known, by=SERVER, schema=place.schema))
    elif place.nullable or isinstance(found, OfWebhooks):
        if (place.nonnull or not place.nullable) and found.takes(sort(TYPE, path)):
            found.add(_wrong_type(None, place, path).but(by=WEBHOOKS))
    elif not required and _may_be_meant(place) and found.takes(sort(NULL, path)):
        found.add(_wrong_type(None, place, path).but(kind=NULL))


def _may_be_meant(place: SchemaNode) -> bool:
    """True if `{}` has a meaning, so that a key without a value may be a mistake.

    The API server drops null from maps before any check, as if the key were absent.
    upstream: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/prune.go
    """
    if not place.of_map or place.nullable:
        return False
    return place.fields is not None and place.values is None and not place.required  # reading the fields sets the rest


def _miss(name: str, node: SchemaNode, path: Path, found: FlawTarget, more: int) -> None:
    at = (*path, name)
    if found.takes(sort(MISSING, at)):
        place = node.fields.get(name, ANY)
        flaw = Flaw(kind=MISSING, path=at, proposed=place.least, expected=place.expected, schema=node.schema)
        found.add(flaw.but(more=more) if more else flaw)


def _add_unknown(node: SchemaNode, path: Path, found: FlawTarget) -> None:
    spans = node.spans(str(path[-1])) if node.spans else ()
    kind = ELSEWHERE if spans else UNKNOWN
    if found.takes(sort(kind, path)):
        by = WEBHOOKS if node.lax else ""
        found.add(Flaw(kind=kind, path=path, known=node.names, spans=spans, schema=node.schema, by=by))


def _wrong_type(value: Any, node: SchemaNode, path: Path) -> Flaw:
    """The flaw of a value of the wrong type. Maps, lists, and text in place of these are not shown: they may hold secrets."""
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


def _converted(value: Any, node: SchemaNode) -> Any:
    """The value in a form that the place accepts, if that is clear; otherwise UNSET."""
    if value is None:
        return [] if node.items is not None else node.least
    candidates = [[value]] if node.items is not None else _respelled(value)
    return next((each for each in candidates if _fits(each, node)), UNSET)


def _respelled(value: Any) -> list[Any]:
    """The values that a quoted text may stand for. For other values, the original spelling is not known."""
    if value in ("true", "false"):
        return [value == "true"]
    digits = value.removeprefix("-") if isinstance(value, str) else ""
    return [int(value)] if digits.isascii() and digits.isdigit() and len(digits) < 20 else []


def _fits(value: Any, node: SchemaNode) -> bool:
    """True if the place accepts the value."""
    if type(value) in node.plain:
        return True
    if type(value) not in node.accepts and node.items is None:
        return False
    found = Limited()
    walk(value, node, (), found)
    return not found.all()
