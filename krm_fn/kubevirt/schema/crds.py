"""CustomResourceDefinitions as schemas. They replace the release's own API for the kinds that they define."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterable, Sequence
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object, group_of, kind_of, name_of, text
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.base.patterns import OF_DEFINITIONS
from krm_fn.base.value import Value
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.schema import table
from krm_fn.kubevirt.schema.constraints import every, within
from krm_fn.kubevirt.schema.kinds import KINDS
from krm_fn.kubevirt.schema.node import ANY, INTEGER, TEXT, TRUTH, Fields, SchemaNode, list_of, structure
from krm_fn.kubevirt.schema.scalars import INTEGERS, NUMBERS, QUANTITIES, QUANTITY, QUANTITY_FORM, judge_quantity
from krm_fn.kubevirt.schema.values import checks, judges

GROUP = "apiextensions.k8s.io"
KIND = "CustomResourceDefinition"


def defines_known_kind(crd: Object) -> bool:
    """True if a release's own API knows the defined kind."""
    spec = as_map(crd.get("spec"))
    return (text(spec.get("group")), text(get(spec, ("names", "kind")))) in {(row.group, row.kind) for row in KINDS}


class Definition(Value):
    """One version of a kind in a CustomResourceDefinition.

    `name` is that of the definition; `status` is True if the status is a subresource, `replicas` is the path of those of a
    scale subresource.
    """

    schema: Object
    name: str
    status: bool = False
    replicas: Path = ()


class Crds:
    """The schemas of some CustomResourceDefinitions, by API group, version and kind; the first of a kind counts."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self._found: dict[tuple[str, str, str], Definition] = {}
        self._nodes: dict[tuple[str, str, str], SchemaNode] = {}
        OF_DEFINITIONS.renew()
        for obj in objects:
            if kind_of(obj) == KIND and group_of(obj) == GROUP:
                self._add(obj)

    def __bool__(self) -> bool:
        return bool(self._found)

    def definition(self, group: str, version: str, kind: str) -> Definition | None:
        """The definition of a kind; None if there is none."""
        return self._found.get((group, version, kind))

    def node(self, group: str, version: str, kind: str, release: Release) -> SchemaNode | None:
        """The schema of a kind; None if there is no definition."""
        key = group, version, kind
        if key not in self._found:
            return None
        if key not in self._nodes:
            self._nodes[key] = _root(self._found[key], release)
        return self._nodes[key]

    def _add(self, crd: Object) -> None:
        spec = as_map(crd.get("spec"))
        group, kind = text(spec.get("group")), text(get(spec, ("names", "kind")))
        for version in as_list(spec.get("versions")):
            schema = get(version, ("schema", "openAPIV3Schema"))
            if isinstance(schema, dict) and get(version, ("served",)) is not False:
                lax = {"x-kubernetes-preserve-unknown-fields": True} if spec.get("preserveUnknownFields") is True else {}
                subresources = as_map(version.get("subresources"))
                found = Definition(
                    schema={**schema, **lax},
                    name=name_of(crd),
                    status=isinstance(subresources.get("status"), dict),
                    replicas=tuple(text(get(subresources, ("scale", "specReplicasPath"))).split(".")[1:]),
                )
                self._found.setdefault((group, text(version.get("name")), kind), found)


def chosen(
    schemas: Sequence[Object], own: Sequence[Entry], units: Callable[[int], frozenset[str]]
) -> Callable[[Entry], Crds | None]:
    """What gives the definitions that count for an object: `schemas`, then `own`.

    `units` says what applies an item to a cluster. A repository may have a kind's definitions of several releases, each in a
    folder of its own. If they differ, only the definition that is applied with an object counts for it.
    """
    disputed = _disputed(own, units)
    common = Crds((*schemas, *(entry.obj for entry in own if name_of(entry.obj) not in disputed)))
    if not disputed:
        return lambda _: common
    found: dict[frozenset[str], Crds] = {}

    def of(entry: Entry) -> Crds:
        unit = units(entry.item)
        if unit not in found:
            beside = (each.obj for each in own if not unit.isdisjoint(units(each.item)) or name_of(each.obj) not in disputed)
            found[unit] = Crds((*schemas, *beside))
        return found[unit]

    return of


def _disputed(own: Iterable[Entry], units: Callable[[int], frozenset[str]]) -> set[str]:
    """The names of the definitions that differ between units. A patch, which has no versions, is no definition."""
    firsts: dict[str, tuple[frozenset[str], object]] = {}
    found = set()
    for entry in own:
        name, unit, spec = name_of(entry.obj), units(entry.item), as_map(entry.obj.get("spec"))
        if spec.get("versions") or spec.get("version"):
            first, other = firsts.setdefault(name, (unit, spec))
            if first.isdisjoint(unit) and first and unit and other != spec:
                found.add(name)
    return found


def _root(found: Definition, release: Release) -> SchemaNode:
    """The schema of a complete object: the API server itself checks apiVersion, kind and metadata."""
    return _structure({**found.schema, "x-kubernetes-embedded-resource": True}, found.name, release)


def _node(schema: Any, name: str, release: Release) -> SchemaNode:
    """The node of a schema, with the parts of the schema that a node can hold."""
    if not isinstance(schema, dict):
        return ANY
    match schema.get("type"):
        case "object":
            return _structure(schema, name, release)
        case "array":
            node = list_of(_node(schema.get("items"), name, release), checks(schema))
        case _:
            node = _scalar(schema)
            if node is ANY:
                return node
    node.nullable, node.schema = schema.get("nullable") is True, name
    node.listed = tuple(as_list(schema.get("enum")))
    return node


# The types of a schema: the words for each, and Python's types.
SCALARS = {
    "string": ("a string", TEXT),
    "boolean": ("true or false", TRUTH),
    "integer": ("an integer", INTEGER),
    "number": ("a number", NUMBERS),
}


def _scalar(schema: Object) -> SchemaNode:
    """The node of a schema of a scalar; one without a type accepts every value."""
    either = schema.get("x-kubernetes-int-or-string") is True
    if either and text(schema.get("pattern")).strip("^$") == QUANTITY_FORM:
        return SchemaNode(QUANTITY, accepts=QUANTITIES, judge=every((judge_quantity, *judges({**schema, "pattern": None}))))
    found = ("an integer or a string", TEXT | INTEGER) if either else SCALARS.get(text(schema.get("type")))
    if found is None:
        return ANY
    expected, types = found
    bounds = INTEGERS["int32" if schema.get("format") == "int32" else "int64"]
    judge = every((within(*bounds) if int in types and float not in types else None, *judges(schema)))
    return SchemaNode(expected, accepts=types, judge=judge) if judge else SchemaNode(expected, plain=types)


def _structure(schema: Object, name: str, release: Release) -> SchemaNode:
    def opened() -> tuple[Fields, tuple[str, ...], SchemaNode | None]:
        fields = {key: _node(below, name, release) for key, below in as_map(schema.get("properties")).items()}
        if schema.get("x-kubernetes-embedded-resource") is True:
            known = table.of(release)
            fields |= {"apiVersion": known.node("string"), "kind": known.node("string")}
            fields["metadata"] = known.node("meta.ObjectMeta")
        required = tuple(key for key in as_list(schema.get("required")) if isinstance(key, str))
        return fields, required, _others(schema, name, release)

    node = structure(opened, schema=name)
    node.nullable, node.checks = schema.get("nullable") is True, tuple(checks(schema))
    return node


def _others(schema: Object, name: str, release: Release) -> SchemaNode | None:
    """The schema of keys that are not properties; None if there may be none."""
    if schema.get("x-kubernetes-preserve-unknown-fields") is True:
        return ANY
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        return _node(more, name, release)
    return ANY if more is True else None
