"""CustomResourceDefinitions as schemas. They replace the release's own API for the kinds that they define.

Judges and checks are made from the keywords of the schema. Faults of the definition itself, such as a text as a limit, are
skipped: the API server would not accept it.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterable, Iterator, Sequence
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object, group_of, kind_of, name_of, text
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.base.regex import OF_DEFINITIONS
from krm_fn.base.value import Value
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.schema import table
from krm_fn.kubevirt.schema.constraints import JUDGES, Check, every, keyed, numbered, obeys, of_form, unique, within
from krm_fn.kubevirt.schema.flaws import VALUE, Flaw, Judge
from krm_fn.kubevirt.schema.kinds import KINDS
from krm_fn.kubevirt.schema.node import ANY, INTEGER, TEXT, TRUTH, Fields, SchemaNode, list_of, structure
from krm_fn.kubevirt.schema.scalars import INTEGERS, NUMBERS, QUANTITIES, QUANTITY, QUANTITY_FORM, judge_quantity

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


Made = dict[int, list[Judge]]  # by the id of a schema, which the definition keeps alive


NUMERIC = (int, float)
# The type of each keyword in a valid definition.
KEYWORDS: dict[str, type | tuple[type, ...]] = {
    "enum": list,
    "multipleOf": NUMERIC,
    "minLength": int,
    "maxLength": int,
    "pattern": str,
}
JOINED = ("allOf", "anyOf", "oneOf", "not")
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": NUMERIC,
}


def judges(schema: Object) -> Iterator[Judge | None]:
    """The judges of a scalar."""
    for key, kind in KEYWORDS.items():
        if isinstance(schema.get(key), kind) and schema[key] not in (0, False):
            yield JUDGES[key](schema[key])
    for low, high, exclusive in ((True, False, "exclusiveMinimum"), (False, True, "exclusiveMaximum")):
        bound = _number(schema.get("minimum" if low else "maximum"))
        if bound is not None:
            yield within(bound if low else None, bound if high else None, exclusive=schema.get(exclusive) is True)
    if isinstance(schema.get("format"), str) and schema.get("type") in ("string", None):
        yield of_form(schema["format"])
    yield from of_any_type(schema)


def of_any_type(schema: Object) -> Iterator[Judge | None]:
    """The judges of CEL rules, and of schemas that are joined."""
    for rule in as_list(schema.get("x-kubernetes-validations")):
        yield obeys(as_map(rule).get("rule"))
    for key in JOINED:
        if key in schema:
            yield _joined(key, schema)


def checks(schema: Object) -> Iterator[Check]:
    """The checks of a complete map or list."""
    for low, high, *words in (("minItems", "maxItems", "entry", "entries"), ("minProperties", "maxProperties", "key", "keys")):
        least, most = schema.get(low), schema.get(high)
        if isinstance(least, int) or isinstance(most, int):
            yield numbered(least if isinstance(least, int) else 0, most if isinstance(most, int) else None, *words)
    if schema.get("uniqueItems") is True or schema.get("x-kubernetes-list-type") == "set":
        yield unique
    if schema.get("x-kubernetes-list-type") == "map":
        keys = [key for key in as_list(schema.get("x-kubernetes-list-map-keys")) if isinstance(key, str)]
        below = as_map(as_map(schema.get("items")).get("properties"))
        yield keyed(keys, {key: below[key]["default"] for key in keys if "default" in as_map(below.get(key))})
    for judge in of_any_type(schema):
        if judge is not None:
            yield _as_check(judge)


def _as_check(judge: Judge) -> Check:
    def check(value: Any, path: Path) -> Iterator[Flaw]:
        flaw = judge(value, path)
        if flaw is not None:
            yield flaw

    return check


def _joined(key: str, schema: Object) -> Judge:
    """Refuses values that do not match the schemas below `allOf`, `anyOf`, `oneOf` or `not`. Maps and lists are not shown."""

    made: Made = {}

    def judge(value: Any, path: Path) -> Flaw | None:
        if _joins(key, schema[key], value, made):
            return None
        shown = {} if isinstance(value, dict | list) else {"current": value}
        return Flaw(kind=VALUE, path=path, expected=f"a value that fits what the definition has under {key}", **shown)

    return judge


def _joins(key: str, below: Any, value: Any, made: Made) -> bool:
    if key == "not":
        return not holds(as_map(below), value, made)
    fitting = sum(holds(as_map(each), value, made) for each in as_list(below))
    return fitting == 1 if key == "oneOf" else fitting == len(as_list(below)) if key == "allOf" else fitting > 0


def holds(schema: Object, value: Any, made: Made) -> bool:
    """True if a value matches a schema that is below another one. Types, fields and entries count here, too.

    `made` keeps the judges of these schemas for other values.
    """
    if not _is_of_type(schema.get("type"), value):
        return False
    if id(schema) not in made:
        made[id(schema)] = [judge for judge in judges(schema) if judge is not None]
    if any(judge(value, ()) for judge in made[id(schema)]):
        return False
    if isinstance(value, dict):
        return _map_holds(schema, value, made)
    if isinstance(value, list):
        entries = all(holds(as_map(schema.get("items")), each, made) for each in value)
        return entries and not any(True for check in checks(schema) for _ in check(value, ()))
    return True


def _is_of_type(kind: object, value: Any) -> bool:
    if not isinstance(kind, str):
        return True
    if isinstance(value, float) and kind == "integer":
        return value.is_integer()
    return isinstance(value, TYPES.get(kind, (object,))) and (kind == "boolean") == isinstance(value, bool)


def _map_holds(schema: Object, value: Object, made: Made) -> bool:
    properties = as_map(schema.get("properties"))
    if any(value.get(key) is None for key in as_list(schema.get("required")) if isinstance(key, str)):
        return False
    return all(holds(as_map(properties[key]), below, made) for key, below in value.items() if key in properties)


def _number(value: object) -> float | None:
    return value if isinstance(value, NUMERIC) and not isinstance(value, bool) else None
