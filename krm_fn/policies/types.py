"""Checks the types of an expression, as the API server does before it stores a policy.

An object's own fields are `dyn`, because policies read custom resources without their schema. `request`, `namespaceObject` and
`authorizer` have fields of their own.

upstream: github.com/google/cel-go/checker/checker.go; k8s.io/apiserver/pkg/admission/plugin/cel/compile.go
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Mapping, Sequence
from krm_fn.base.value import Value
from krm_fn.base.work import WORK
from krm_fn.policies.errors import RefusedError, Unsupported
from krm_fn.policies.signatures import SIGNATURES, Overload
from krm_fn.policies.unification import (
    DYN,
    NULLABLE,
    REQUEST_RESOURCE,
    STRUCTURES,
    TYPE_NAMES,
    VARIABLES,
    assignable,
    is_var,
    most_general,
    of_shape,
    spend_on,
    substituted,
)
from krm_fn.policies.values import UInt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.policies.syntax import Node
Kind = Any  # a word or a tuple of words and types
Names = Mapping[str, Kind]


LITERALS: tuple[tuple[Any, str], ...] = (
    (bool, "bool"),
    (UInt, "uint"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (bytes, "bytes"),
)


class Checked(Value):
    """An expression whose types agree: its tree and type, and by the identity of a node its type, and its overloads if it is a
    call.
    """

    node: Node
    kind: Kind
    kinds: dict[int, Kind]
    overloads: dict[int, tuple[Overload, ...]]


def declared(kind: Kind) -> Kind:
    """The type of a variable whose expression has a type: values of Kubernetes' own types are declared as dynamic.

    upstream: k8s.io/apiserver/pkg/admission/plugin/cel/composition.go
    """
    return DYN if kind in NULLABLE - {"timestamp", "duration"} or of_shape(kind, "optional", "type") else kind


def checked(node: Node, names: Names, variables: Names | None = None) -> Checked:
    """The expression with its types, which sees these names, and these variables of a policy.

    Raises: RefusedError, Unsupported.
    """
    return _Checker({**STRUCTURES, VARIABLES: variables or {}}).whole(node, names)


def function_name(name: str, receiver: Node | None) -> str:
    """The full name of a function in a namespace such as `sets.contains`; "" for a method or a plain function."""
    if receiver is None or receiver[0] != "name":
        return ""
    full = f"{receiver[2]}.{name}"
    return full if full in SIGNATURES else ""


class _Checker:
    def __init__(self, structures: Mapping[Kind, Names]) -> None:
        self._structures = structures
        self._found: dict[Kind, Kind] = {}  # what type parameters became
        self._count = 0
        self._kinds: dict[int, Kind] = {}
        self._overloads: dict[int, tuple[Overload, ...]] = {}

    def whole(self, node: Node, names: Names) -> Checked:
        self.of(node, names)
        kinds = {key: substituted(self._found, kind, rest=DYN) for key, kind in self._kinds.items()}
        return Checked(node=node, kind=kinds[id(node)], kinds=kinds, overloads=self._overloads)

    def of(self, node: Node, names: Names) -> Kind:
        kind = getattr(self, f"of_{node[0]}")(node, names)
        spend_on(kind)
        self._kinds[id(node)] = kind
        return kind

    def of_literal(self, node: Node, _: Names) -> Kind:
        value = node[2]
        return next((name for kind, name in LITERALS if isinstance(value, kind)), "null")

    def of_name(self, node: Node, names: Names) -> Kind:
        name = node[2]
        if name in names:
            return names[name]
        if name in TYPE_NAMES:
            return ("type", name)
        if name in ("google", "net", "kubernetes"):
            raise Unsupported("a type in a namespace")
        raise RefusedError(f"{name} is not declared")

    def of_select(self, node: Node, names: Names) -> Kind:
        _, _, operand, field, optional, test = node
        if (operand[0], operand[2], field, test) == ("name", "authorizer", REQUEST_RESOURCE, False) and "authorizer" in names:
            return "resourceCheck"
        held = substituted(self._found, self.of(operand, names))
        within = of_shape(held, "optional")
        found = self._field(held[1] if within else held, field)
        if test:
            return "bool"
        return ("optional", found) if optional or within else found

    def _field(self, held: Kind, field: str) -> Kind:
        if of_shape(held, "map"):
            return held[2]
        if held in self._structures:
            fields = self._structures[held]
        elif held == DYN or is_var(held):
            assignable(self._found, DYN, held)
            return DYN
        else:
            raise RefusedError(f"a value without fields has no {field}")
        if field not in fields:
            raise RefusedError(f"there is no field {field}")
        return fields[field]

    def of_index(self, node: Node, names: Names) -> Kind:
        _, _, operand, key, optional = node
        return self._resolved(node, "[?]" if optional else "[]", [self.of(operand, names), self.of(key, names)], method=False)

    def of_list(self, node: Node, names: Names) -> Kind:
        return ("list", self._joined([self._element(item, names, optional=optional) for item, optional in node[2]]))

    def of_map(self, node: Node, names: Names) -> Kind:
        keys = [self.of(key, names) for key, _, _ in node[2]]
        return (
            "map",
            self._joined(keys),
            self._joined([self._element(value, names, optional=opt) for _, value, opt in node[2]]),
        )

    def _element(self, item: Node, names: Names, *, optional: bool) -> Kind:
        kind = self.of(item, names)
        if not optional:
            return kind
        if of_shape(kind, "optional"):
            return kind[1]
        if kind == DYN:
            return DYN
        raise RefusedError("an optional element that is no optional value")

    def _joined(self, kinds: Sequence[Kind]) -> Kind:
        """The type of all elements of a literal; where they have different ones, `compiled` refuses it."""
        found = kinds[0] if kinds else self._var()
        for kind in kinds[1:]:
            found = most_general(found, kind) if self._fits(found, kind) else DYN
        return found

    def of_fold(self, node: Node, names: Names) -> Kind:
        _, _, macro, operand, variables, args = node
        held = substituted(self._found, self.of(operand, names))
        if macro in ("optMap", "optFlatMap"):
            return self._opt_map(macro, held, variables[0], args[0], names)
        kinds = self._rows(held, 2 if len(variables) == 2 else 1)
        if macro == "sortBy" and not self._fits(held, ("list", self._var())):
            raise RefusedError("sortBy() needs a list")
        inner = {**names, **dict(zip(variables, kinds, strict=True))}
        found = [self.of(arg, inner) for arg in args]
        makes = macro in ("map", "sortBy", "transformList", "transformMap", "transformMapEntry")
        if not all(self._fits(each, "bool") for each in (found[:-1] if makes else found)):
            raise RefusedError("a condition that is no bool")
        return self._made(node, macro, kinds, held, found[-1])

    def _made(self, node: Node, macro: str, kinds: tuple[Kind, ...], held: Kind, last: Kind) -> Kind:
        """The type of what a macro gives."""
        match macro:
            case "filter":
                return ("list", kinds[0])
            case "map" | "transformList":
                return ("list", last)
            case "sortBy":
                return self._resolved(node, "@sortByAssociatedKeys", [held, ("list", last)], method=True)
            case "transformMap":
                return ("map", kinds[0], last)
            case "transformMapEntry":
                empty = ("map", self._var(), self._var())
                return self._resolved(node, "@mapInsert", [empty, last], method=False)
        return "bool"

    def _rows(self, held: Kind, count: int) -> tuple[Kind, ...]:
        """The types of the variables of a macro."""
        if of_shape(held, "list"):
            return ("int", held[1]) if count == 2 else (held[1],)
        if of_shape(held, "map"):
            return (held[1], held[2]) if count == 2 else (held[1],)
        if held != DYN and not is_var(held):
            raise RefusedError("a macro needs a list or a map")
        assignable(self._found, DYN, held)
        return (DYN,) * count

    def _opt_map(self, macro: str, held: Kind, variable: str, arg: Node, names: Names) -> Kind:
        value = self._var()
        if not self._fits(held, ("optional", value)):
            raise RefusedError(f"{macro}() of a value that is not optional")
        kind = self.of(arg, {**names, variable: substituted(self._found, value)})
        found = ("optional", kind) if macro == "optMap" else kind
        if not self._fits(found, ("optional", self._var())):
            raise RefusedError("optFlatMap() needs an optional value")
        return found

    def of_call(self, node: Node, names: Names) -> Kind:
        _, _, name, receiver, args = node
        full = function_name(name, receiver)
        kinds = [self.of(arg, names) for arg in ((receiver,) if receiver and not full else ()) + args]
        return self._resolved(node, full or name, kinds, method=receiver is not None and not full)

    def _resolved(self, node: Node, name: str, kinds: list[Kind], *, method: bool) -> Kind:
        """The type of what a function answers. Raises: RefusedError if it does not take values of these types."""
        if name in ("&&", "||"):
            return self._both(name, kinds)
        if name == "duration" and kinds[:1] == ["int"]:
            raise Unsupported("the duration of an integer, which releases read differently")
        gives: Kind = None
        chosen = []
        for overload in SIGNATURES.get(name, ()):
            fresh: dict[str, Kind] = {}
            takes = [self._fresh(kind, fresh) for kind in overload.takes]
            if overload.is_method is method and len(takes) == len(kinds) and self._all_fit(kinds, takes):
                answer = substituted(self._found, self._fresh(overload.gives, fresh))
                gives = answer if gives is None or gives == answer else DYN
                chosen.append(overload)
        if not chosen:
            known = any(overload.is_method is method for overload in SIGNATURES.get(name, ()))
            raise RefusedError(f"{name}() does not take values of these types" if known else f"there is no function {name}()")
        self._overloads[id(node)] = tuple(chosen)
        return gives

    def _both(self, name: str, kinds: Sequence[Kind]) -> Kind:
        if not all(self._fits(kind, "bool") for kind in kinds):
            raise RefusedError(f"{name} of a value that is no bool")
        return "bool"

    def _fits(self, one: Kind, other: Kind) -> bool:
        return self._all_fit([one], [other])

    def _all_fit(self, kinds: Sequence[Kind], takes: Sequence[Kind]) -> bool:
        WORK.spend(4 + len(self._found) // 32)
        trial = dict(self._found)
        if not all(assignable(trial, *pair) for pair in zip(kinds, takes, strict=True)):
            return False
        self._found = trial
        return True

    def _var(self) -> Kind:
        self._count += 1
        return ("var", self._count)

    def _fresh(self, kind: Kind, fresh: dict[str, Kind]) -> Kind:
        """The type with new type parameters for its letters."""
        if isinstance(kind, tuple):
            return (kind[0], *(self._fresh(each, fresh) for each in kind[1:]))
        if len(kind) == 1:
            if kind not in fresh:
                fresh[kind] = self._var()
            return fresh[kind]
        return kind
