"""How types of CEL relate: which value may stand where another type is wanted, and what type parameters become by that.

A type is a word, or a tuple: `("list", T)`, `("map", K, V)`, `("optional", T)`, `("type", T)`, and `("var", N)` for a type that
is not yet known. `Found` has what became of the latter.

upstream: github.com/google/cel-go/checker/types.go
"""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.work import WORK

Kind = Any  # a word or a tuple of words and types
Found = dict[Kind, Kind]


DYN = "dyn"
# Structures and opaque types, for which null may stand.
OPAQUE = frozenset(
    (
        "quantity",
        "url",
        "ip",
        "cidr",
        "semver",
        "format",
        "timestamp",
        "duration",
        "request",
        "gvk",
        "gvr",
        "userInfo",
        "variables",
    )
)
NAMESPACE = frozenset(("namespace", "nsMeta", "nsSpec", "nsStatus", "nsCondition"))
AUTHORIZER = frozenset(("authorizer", "pathCheck", "groupCheck", "resourceCheck", "decision"))
NULLABLE = OPAQUE | NAMESPACE | AUTHORIZER


def is_var(kind: Kind) -> bool:
    return isinstance(kind, tuple) and kind[0] == "var"


def spend_on(kind: Kind) -> None:
    """Spends work for each part of a type: types that are parts of one another grow very fast."""
    WORK.spend(2)
    if isinstance(kind, tuple):
        for each in kind[1:]:
            spend_on(each)


def of_shape(kind: Kind, *shapes: str) -> bool:
    """True for a list, map, optional value … of whatever type."""
    return isinstance(kind, tuple) and kind[0] in shapes


def assignable(found: Found, one: Kind, other: Kind) -> bool:  # noqa: PLR0911  one answer for each case
    """True if a value of either type may stand for the other; notes in `found` what type parameters become."""
    WORK.spend(4)
    if is_var(other):
        fits, known = _becomes(found, one, other)
        if fits or known:
            return fits
    if is_var(one):
        return _becomes(found, other, one)[0]
    if DYN in (one, other):
        return True
    if "null" in (one, other):
        kind = other if one == "null" else one
        return kind == "null" or kind in NULLABLE or of_shape(kind, "optional")
    if isinstance(one, tuple) and isinstance(other, tuple):
        if one[0] == other[0] == "type":
            return True
        pairs = zip(one[1:], other[1:], strict=False)
        return one[0] == other[0] and len(one) == len(other) and all(assignable(found, *pair) for pair in pairs)
    return bool(one == other)


def _becomes(found: Found, kind: Kind, var: Kind) -> tuple[bool, bool]:
    """Whether a type parameter can be a type, and whether it was known before."""
    if kind == var:
        return True, True
    if var in found:
        known = found[var]
        if kind == known:
            return True, True
        if not assignable(found, kind, known):
            return False, True
        general = most_general(kind, known)
        if not _is_within(found, var, general):
            found[var] = general
        return True, True
    if _is_within(found, var, kind):
        return False, False
    found[var] = kind
    return True, False


def _is_within(found: Found, var: Kind, kind: Kind) -> bool:
    WORK.spend(4)
    if kind == var:
        return True
    if is_var(kind):
        return kind in found and _is_within(found, var, found[kind])
    return isinstance(kind, tuple) and any(_is_within(found, var, each) for each in kind[1:])


def most_general(one: Kind, other: Kind) -> Kind:
    """The type of two that may stand for each other that says less."""
    return one if _says_less(one, other) else other


def _says_less(one: Kind, other: Kind) -> bool:
    if one == DYN or is_var(one):
        return True
    if other == DYN or is_var(other):
        return False
    if isinstance(one, tuple) and isinstance(other, tuple):
        if one[0] == other[0] == "type":
            return True
        pairs = zip(one[1:], other[1:], strict=False)
        return one[0] == other[0] and len(one) == len(other) and all(_says_less(*pair) for pair in pairs)
    return bool(one == other)


def substituted(found: Found, kind: Kind, *, rest: Kind = None) -> Kind:
    """The type with what its parameters became; `rest` is what the others become, None for themselves."""
    WORK.spend(4)
    if kind in found:
        return substituted(found, found[kind], rest=rest)
    if is_var(kind):
        return kind if rest is None else rest
    if isinstance(kind, tuple):
        return (kind[0], *(substituted(found, each, rest=rest) for each in kind[1:]))
    return kind


def is_same(one: Kind, other: Kind) -> bool:
    """True for equal types; type parameters are equal to one another."""
    if is_var(one) and is_var(other):
        return True
    if isinstance(one, tuple) and isinstance(other, tuple):
        return one[0] == other[0] and len(one) == len(other) and all(map(is_same, one[1:], other[1:]))
    return bool(one == other)


# The names that an expression may use, and the fields of those that are no plain data.
# upstream: k8s.io/apiserver/pkg/admission/plugin/cel/compile.go
TYPE_NAMES = frozenset(
    ("bool", "int", "uint", "double", "string", "bytes", "null_type", "list", "map", "type", "optional_type")
)
REQUEST_RESOURCE = "requestResource"  # of the authorizer
VARIABLES = "variables"  # the type of the variables of a policy, whose fields are its own
NAMES: dict[str, Kind] = {
    "object": DYN,
    "oldObject": DYN,
    "params": DYN,
    "request": "request",
    "namespaceObject": "namespace",
    "authorizer": "authorizer",
}
_TEXTS = ("map", "string", "string")
_GROUP_VERSION = {"group": "string", "version": "string"}
STRUCTURES: dict[Kind, dict[str, Kind]] = {
    "request": {
        "kind": "gvk",
        "resource": "gvr",
        "subResource": "string",
        "requestKind": "gvk",
        "requestResource": "gvr",
        "requestSubResource": "string",
        "name": "string",
        "namespace": "string",
        "operation": "string",
        "userInfo": "userInfo",
        "dryRun": "bool",
        "options": DYN,
    },
    "gvk": {**_GROUP_VERSION, "kind": "string"},
    "gvr": {**_GROUP_VERSION, "resource": "string"},
    "userInfo": {
        "username": "string",
        "uid": "string",
        "groups": ("list", "string"),
        "extra": ("map", "string", ("list", "string")),
    },
    "namespace": {"metadata": "nsMeta", "spec": "nsSpec", "status": "nsStatus"},
    "nsMeta": {
        "name": "string",
        "generateName": "string",
        "namespace": "string",
        "labels": _TEXTS,
        "annotations": _TEXTS,
        "UID": "string",
        "creationTimestamp": "timestamp",
        "deletionGracePeriodSeconds": "int",
        "deletionTimestamp": "timestamp",
        "generation": "int",
        "resourceVersion": "string",
        "finalizers": ("list", "string"),
    },
    "nsSpec": {"finalizers": ("list", "string")},
    "nsStatus": {"conditions": ("list", "nsCondition"), "phase": "string"},
    "nsCondition": {
        "status": "string",
        "type": "string",
        "lastTransitionTime": "timestamp",
        "message": "string",
        "reason": "string",
    },
}
