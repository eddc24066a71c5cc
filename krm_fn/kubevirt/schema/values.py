"""The judges and checks of a CustomResourceDefinition, from the keywords of its schema.

Faults of the definition itself, such as a text as a limit, are skipped: the API server would not accept it.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_list, as_map
from krm_fn.kubevirt.schema.constraints import JUDGES, obeys, of_form, within
from krm_fn.kubevirt.schema.flaws import VALUE, Flaw, Judge
from krm_fn.kubevirt.schema.lists import Check, keyed, numbered, unique

Made = dict[int, list[Judge]]  # by the id of a schema, which the definition keeps alive


NUMBERS = (int, float)
# The type of each keyword in a valid definition.
KEYWORDS: dict[str, type | tuple[type, ...]] = {
    "enum": list,
    "multipleOf": NUMBERS,
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
    "number": NUMBERS,
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
    return value if isinstance(value, NUMBERS) and not isinstance(value, bool) else None
