"""Checks the types of an expression, as the API server does before it stores a policy.

A type is a word, or a tuple: `("list", T)`, `("map", K, V)`, `("optional", T)`. `dyn` is any value. An object's own fields are
`dyn`, because policies read custom resources without their schema. `request` and `namespaceObject` have fields of their own.
"""

from __future__ import annotations

from krm_fn.policies.errors import RefusedError, Unsupported
from krm_fn.policies.relations import (
    ANY,
    DYN,
    FREE,
    NULLABLE,
    ORDERED,
    filled,
    fits,
    joined,
    matches,
    one,
    ordered,
    ranges,
    single,
)
from krm_fn.policies.signatures import ELSEWHERE, SIGNATURES
from krm_fn.policies.values import UInt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from krm_fn.policies.syntax import Node

    Kind = Any  # a word or a tuple of words and types
    Names = Mapping[str, Kind]

TYPE_NAMES = frozenset(
    ("bool", "int", "uint", "double", "string", "bytes", "null_type", "list", "map", "type", "optional_type")
)
TEXTS = ("map", "string", "string")
GROUP_VERSION = {"group": "string", "version": "string"}
# The fields of the typed names; those that this machine can't know are Unsupported.
STRUCTURES: dict[str, dict[str, Kind]] = {
    "request": {
        "kind": "gvk",
        "resource": "gvr",
        "requestKind": "gvk",
        "requestResource": "gvr",
        "subResource": "string",
        "requestSubResource": "string",
        "name": "string",
        "namespace": "string",
        "operation": "string",
    },
    "gvk": {**GROUP_VERSION, "kind": "string"},
    "gvr": {**GROUP_VERSION, "resource": "string"},
    "namespace": {"metadata": "nsMeta", "spec": "nsSpec", "status": "nsStatus"},
    "nsMeta": {
        "name": "string",
        "generateName": "string",
        "labels": TEXTS,
        "annotations": TEXTS,
        "finalizers": ("list", "string"),
    },
    "nsSpec": {"finalizers": ("list", "string")},
    "nsStatus": {"phase": "string"},
}
UNKNOWN = {
    "request": ("userInfo", "dryRun", "options"),
    "nsMeta": ("UID", "creationTimestamp", "deletionTimestamp"),
    "nsStatus": ("conditions",),
}


def declared(kind: Kind) -> Kind:
    """The type of a variable whose expression has a type: values of Kubernetes' own types are declared as dynamic.

    upstream: k8s.io/apiserver/pkg/admission/plugin/cel/composition.go
    """
    return DYN if kind in NULLABLE - {"timestamp", "duration"} or kind in (FREE, "type") or kind[0] == "optional" else kind


def checked(node: Node, names: Names) -> Kind:
    """The type of an expression. Raises: RefusedError, Unsupported."""
    return _Checker().of(node, dict(names))


class _Checker:
    def __init__(self) -> None:
        self._mixed = 0  # inside of the values of format(), elements may have different types

    def of(self, node: Node, names: dict[str, Kind]) -> Kind:
        return getattr(self, node[0])(node, names)

    def literal(self, node: Node, _: dict[str, Kind]) -> Kind:
        value = node[2]
        if value is None:
            return "null"
        for kind, name in ((bool, "bool"), (UInt, "uint"), (int, "int"), (float, "double"), (str, "string")):
            if isinstance(value, kind):
                return name
        raise Unsupported("a literal of an unknown type")

    def name(self, node: Node, names: dict[str, Kind]) -> Kind:
        name = node[2]
        if name in names:
            if name == "authorizer" or names[name] == "unknown":
                raise Unsupported(f"{name} is known to the cluster only")
            return names[name]
        if name in TYPE_NAMES:
            return "type"
        if name == "google":
            raise Unsupported("a type of protocol buffers")
        raise RefusedError(f"{name} is not declared")

    def select(self, node: Node, names: dict[str, Kind]) -> Kind:
        _, _, operand, field, optional, test = node
        if operand[0] == "name" and operand[2] == "variables" and "variables" in names:
            return self._variable(field, names, optional=optional, test=test)
        held = self.of(operand, names)
        within = isinstance(held, tuple) and held[0] == "optional"
        found = self._field(held[1] if within else held, field)
        if test:
            if within:
                raise Unsupported("has() of an optional value")
            return "bool"
        return ("optional", found) if optional or within else found

    def _variable(self, field: str, names: dict[str, Kind], *, optional: bool, test: bool) -> Kind:
        known = names["variables"]
        if field not in known:
            raise RefusedError(f"variables.{field} is not declared")
        if test:
            return "bool"
        return ("optional", known[field]) if optional else known[field]

    def _field(self, held: Kind, field: str) -> Kind:
        if held in ANY:
            return DYN
        if isinstance(held, tuple) and held[0] == "map":
            if held[1] not in ("string", DYN):
                raise RefusedError("a field of a map without text keys")
            return held[2]
        if isinstance(held, str) and held in STRUCTURES:
            if field in UNKNOWN.get(held, ()):
                raise Unsupported(f"{field} is known to the cluster only")
            if field not in STRUCTURES[held]:
                raise RefusedError(f"there is no field {field}")
            return STRUCTURES[held][field]
        raise RefusedError(f"a value without fields has no {field}")

    def index(self, node: Node, names: dict[str, Kind]) -> Kind:
        _, _, operand, key, optional = node
        held, by = self.of(operand, names), self.of(key, names)
        within = isinstance(held, tuple) and held[0] == "optional"
        held = held[1] if within else held
        if held in ANY:
            found = FREE
        elif isinstance(held, tuple) and held[0] == "list":
            found = held[1] if fits("int", by) else self._refuse("an index that is no integer")
        elif isinstance(held, tuple) and held[0] == "map":
            found = held[2] if fits(held[1], by) else self._refuse("a key of another type")
        else:
            found = self._refuse("a value without elements")
        if within and held in ANY and optional:
            return ("optional", FREE)
        return ("optional", found) if optional or within else found

    def _refuse(self, why: str) -> Kind:
        raise RefusedError(why)

    def list(self, node: Node, names: dict[str, Kind]) -> Kind:
        kinds = [self._element(item, names, optional=optional) for item, optional in node[2]]
        return ("list", DYN if self._mixed else one(kinds))

    def _element(self, item: Node, names: dict[str, Kind], *, optional: bool) -> Kind:
        kind = self.of(item, names)
        if not optional:
            return kind
        if isinstance(kind, tuple) and kind[0] == "optional":
            return kind[1]
        if kind in ANY:
            return DYN
        raise RefusedError("an optional element that is no optional value")

    def map(self, node: Node, names: dict[str, Kind]) -> Kind:
        keys = [self.of(key, names) for key, _, _ in node[2]]
        values = [self._element(value, names, optional=optional) for _, value, optional in node[2]]
        for key in keys:
            if key not in ("string", "int", "uint", "bool", *ANY):
                raise RefusedError("a map with a key of this type")
        return ("map", DYN, DYN) if self._mixed else ("map", one(keys), one(values))

    def fold(self, node: Node, names: dict[str, Kind]) -> Kind:  # noqa: C901, PLR0911  one answer for each macro
        _, _, macro, operand, variables, args = node
        held = self.of(operand, names)
        if macro in ("optMap", "optFlatMap"):
            return self._opt_map(macro, held, variables[0], args[0], names)
        first, second = ranges(held)
        kinds = (first, second) if len(variables) == 2 else (single(held),)
        inner = {**names, **dict(zip(variables, kinds, strict=True))}
        found = [self.of(arg, inner) for arg in args]
        filters = found[:-1] if macro in ("map", "sortBy", "transformList", "transformMap", "transformMapEntry") else found
        for each in filters:
            if not fits("bool", each):
                raise RefusedError("a condition that is no bool")
        match macro:
            case "all" | "exists" | "exists_one" | "existsOne":
                return "bool"
            case "filter":
                return ("list", single(held))
            case "sortBy":
                if found[0] not in (*ORDERED, *ANY):
                    raise RefusedError("sortBy() with a key that has no order")
                return held
            case "map" | "transformList":
                return ("list", found[-1])
            case "transformMap":
                return ("map", first, found[-1])
        if found[-1] not in ANY and not (isinstance(found[-1], tuple) and found[-1][0] == "map"):
            raise RefusedError("transformMapEntry() needs a map")
        return found[-1]

    def _opt_map(self, macro: str, held: Kind, variable: str, arg: Node, names: dict[str, Kind]) -> Kind:
        if held not in ANY and not (isinstance(held, tuple) and held[0] == "optional"):
            raise RefusedError(f"{macro}() of a value that is not optional")
        kind = self.of(arg, {**names, variable: DYN if held in ANY else held[1]})
        if macro == "optMap":
            return ("optional", kind)
        if kind not in ANY and not (isinstance(kind, tuple) and kind[0] == "optional"):
            raise RefusedError("optFlatMap() needs an optional value")
        return kind

    def call(self, node: Node, names: dict[str, Kind]) -> Kind:
        _, _, name, receiver, args = node
        full = namespaced(name, receiver, names)
        if full:
            name, receiver = full, None
        self._mixed += name == "format"
        kinds = [self.of(arg, names) for arg in ((receiver,) if receiver else ()) + args]
        self._mixed -= name == "format"
        if name == "?:":
            if not fits("bool", kinds[0]):
                raise RefusedError("the condition of ?: is no bool")
            return joined(kinds[1], kinds[2])
        if name == "dyn" and not receiver and len(kinds) == 1:
            return DYN
        if name in ("==", "!="):
            joined(kinds[0], kinds[1])
            return "bool"
        if name in ("<", "<=", ">", ">="):
            return ordered(kinds)
        return overload(name, kinds, method=receiver is not None)


def namespaced(name: str, receiver: Node | None, names: dict[str, Kind]) -> str:
    """The full name of a function in a namespace such as `sets.contains`; "" for a method."""
    if receiver is None or receiver[0] != "name" or receiver[2] in names:
        return ""
    full = f"{receiver[2]}.{name}"
    if (
        full in SIGNATURES
        or full in ELSEWHERE
        or receiver[2] in ("sets", "optional", "ip", "cidr", "format", "math", "base64", "cel", "lists", "strings")
    ):
        return full
    return ""


def overload(name: str, kinds: Sequence[Kind], *, method: bool) -> Kind:
    """The type of what a function answers. Raises: RefusedError if it does not take values of these types; Unsupported."""
    rows = [row for row in SIGNATURES.get(name, ()) if row[0] == method]
    if not rows:
        if name in ELSEWHERE:
            raise Unsupported(f"{name}() is not available here")
        raise RefusedError(f"there is no function {name}()")
    found: list[Kind] = []
    for _, wanted, answer in rows:
        bound: dict[str, Kind] = {}
        if len(wanted) == len(kinds) and all(matches(want, kind, bound) for want, kind in zip(wanted, kinds, strict=True)):
            found.append(filled(answer, bound))
    if not found:
        raise RefusedError(f"{name}() does not take values of these types")
    return found[0] if all(each == found[0] for each in found) else DYN
