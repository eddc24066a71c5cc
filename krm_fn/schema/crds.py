"""CustomResourceDefinitions as schemas: they win over the release's own API for the kinds they define."""

from __future__ import annotations

from krm_fn.paths import as_list, as_map, get
from krm_fn.resource import group_of, kind_of, name_of, text
from krm_fn.schema import table
from krm_fn.schema.kinds import KINDS
from krm_fn.schema.node import ANY, TEXT, TRUTH, WHOLE, Node, list_of, structure
from krm_fn.schema.scalars import NUMBERS, every, matches, one_of, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from krm_fn.releases import Release
    from krm_fn.resource import Object
    from krm_fn.schema.node import Fields, Judge

GROUP = "apiextensions.k8s.io"
KIND = "CustomResourceDefinition"


def defines_known_kind(crd: Object) -> bool:
    """True where a release's own API knows the kind that is defined."""
    spec = as_map(crd.get("spec"))
    return (text(spec.get("group")), text(get(spec, ("names", "kind")))) in {(row.group, row.kind) for row in KINDS}


class Crds:
    """The schemas of some CustomResourceDefinitions, by API group, version and kind; the first of two alike counts."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self._schemas: dict[tuple[str, str, str], tuple[Object, str]] = {}
        self._nodes: dict[tuple[str, str, str], Node] = {}
        for obj in objects:
            if kind_of(obj) == KIND and group_of(obj) == GROUP:
                self._add(obj)

    def __bool__(self) -> bool:
        return bool(self._schemas)

    def node(self, group: str, version: str, kind: str, release: Release) -> Node | None:
        """The schema of a kind, None where no definition tells one."""
        key = group, version, kind
        if key not in self._schemas:
            return None
        if key not in self._nodes:
            schema, name = self._schemas[key]
            self._nodes[key] = _root(schema, name, release)
        return self._nodes[key]

    def _add(self, crd: Object) -> None:
        spec = as_map(crd.get("spec"))
        group, kind = text(spec.get("group")), text(get(spec, ("names", "kind")))
        for version in as_list(spec.get("versions")):
            schema = get(version, ("schema", "openAPIV3Schema"))
            if isinstance(schema, dict) and get(version, ("served",)) is not False:
                lax = {"x-kubernetes-preserve-unknown-fields": True} if spec.get("preserveUnknownFields") is True else {}
                key = group, text(version.get("name")), kind
                self._schemas.setdefault(key, ({**schema, **lax}, name_of(crd)))


def _root(schema: Object, name: str, release: Release) -> Node:
    """The schema of a whole object: the API server itself takes care of these three fields."""
    return _structure({**schema, "x-kubernetes-embedded-resource": True}, name, release)


def _node(schema: Any, name: str, release: Release) -> Node:
    """The node of a schema; of what it says only what a Node holds."""
    if not isinstance(schema, dict):
        return ANY
    match schema.get("type"):
        case "object":
            return _structure(schema, name, release)
        case "array":
            node = list_of(_node(schema.get("items"), name, release))
            node.nullable, node.schema = schema.get("nullable") is True, name
            return node
    return _scalar(schema, name)


# Type in a schema: the words for it, and what Python has for it.
SCALARS = {
    "string": ("text", TEXT),
    "boolean": ("true or false", TRUTH),
    "integer": ("an integer", WHOLE),
    "number": ("a number", NUMBERS),
}


def _scalar(schema: Object, name: str) -> Node:
    """The node of a schema of a scalar; one that tells no type takes anything."""
    either = schema.get("x-kubernetes-int-or-string") is True
    found = ("an integer or text", TEXT | WHOLE) if either else SCALARS.get(text(schema.get("type")))
    if found is None:
        return ANY
    expected, types = found
    judge = every(_judges(schema))
    nullable = schema.get("nullable") is True
    if judge is None:
        node = Node(expected, plain=types, nullable=nullable)
    else:
        node = Node(expected, accepts=types, judge=judge, nullable=nullable)
    node.schema = name
    return node


def _structure(schema: Object, name: str, release: Release) -> Node:
    def opened() -> tuple[Fields, tuple[str, ...], Node | None]:
        fields = {key: _node(below, name, release) for key, below in as_map(schema.get("properties")).items()}
        if schema.get("x-kubernetes-embedded-resource") is True:
            known = table.of(release)
            fields |= {"apiVersion": known.node("string"), "kind": known.node("string")}
            fields["metadata"] = known.node("meta.ObjectMeta")
        required = tuple(key for key in as_list(schema.get("required")) if isinstance(key, str))
        return fields, required, _others(schema, name, release)

    return structure(opened, nullable=schema.get("nullable") is True, schema=name)


def _others(schema: Object, name: str, release: Release) -> Node | None:
    """What keys that are no properties may hold, None where there may be none."""
    if schema.get("x-kubernetes-preserve-unknown-fields") is True:
        return ANY
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        return _node(more, name, release)
    return ANY if more is True else None


def _judges(schema: Object) -> Iterable[Judge | None]:
    """What a schema asks of a scalar besides its type."""
    if isinstance(schema.get("enum"), list):
        yield one_of(schema["enum"])
    low, high = _bound(schema.get("minimum")), _bound(schema.get("maximum"))
    if low is not None or high is not None:
        yield _numeric(low, high)
    if isinstance(schema.get("pattern"), str):
        yield matches(schema["pattern"])


def _bound(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _numeric(low: float | None, high: float | None) -> Judge:
    """Bounds, for numbers only: a text may stand in the same place."""
    judge = within(low, high)
    return lambda value, path: judge(value, path) if isinstance(value, int | float) else None
