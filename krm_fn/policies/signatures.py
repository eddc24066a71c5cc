"""The types that the functions of CEL take and give.

A row is: whether it is a method, the types of receiver and arguments, and that of the answer; one letter is any type.
"""

from __future__ import annotations

from krm_fn.policies import named_formats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Signature = tuple[bool, tuple[Any, ...], Any]

LIST, MAP, OPTIONAL = ("list", "A"), ("map", "A", "B"), ("optional", "A")
TEXTS = ("list", "string")
ARITHMETIC = tuple((False, (kind, kind), kind) for kind in ("int", "uint", "double"))
SIGNATURES: dict[str, tuple[Signature, ...]] = {
    "&&": ((False, ("bool", "bool"), "bool"),),
    "||": ((False, ("bool", "bool"), "bool"),),
    "!_": ((False, ("bool",), "bool"),),
    "-_": ((False, ("int",), "int"), (False, ("double",), "double")),
    "+": (
        *ARITHMETIC,
        (False, ("string", "string"), "string"),
        (False, (LIST, LIST), LIST),
        (False, ("timestamp", "duration"), "timestamp"),
        (False, ("duration", "timestamp"), "timestamp"),
        (False, ("duration", "duration"), "duration"),
    ),
    "-": (
        *ARITHMETIC,
        (False, ("timestamp", "timestamp"), "duration"),
        (False, ("timestamp", "duration"), "timestamp"),
        (False, ("duration", "duration"), "duration"),
    ),
    "*": ARITHMETIC,
    "/": ARITHMETIC,
    "%": ARITHMETIC[:2],
    "in": ((False, ("A", LIST), "bool"), (False, ("A", MAP), "bool")),
    "size": tuple((method, (kind,), "int") for method in (False, True) for kind in ("string", LIST, MAP)),
    "type": ((False, ("A",), "type"),),
    "int": tuple((False, (kind,), "int") for kind in ("int", "uint", "double", "string", "timestamp")),
    "uint": tuple((False, (kind,), "uint") for kind in ("uint", "int", "double", "string")),
    "double": tuple((False, (kind,), "double") for kind in ("double", "int", "uint", "string")),
    "bool": tuple((False, (kind,), "bool") for kind in ("bool", "string")),
    "string": tuple(
        (False, (kind,), "string")
        for kind in ("string", "bool", "int", "uint", "double", "timestamp", "duration", "ip", "cidr")
    ),
    "timestamp": tuple((False, (kind,), "timestamp") for kind in ("timestamp", "string", "int")),
    "duration": tuple((False, (kind,), "duration") for kind in ("duration", "string")),
    "startsWith": ((True, ("string", "string"), "bool"),),
    "endsWith": ((True, ("string", "string"), "bool"),),
    "contains": ((True, ("string", "string"), "bool"),),
    "matches": ((True, ("string", "string"), "bool"), (False, ("string", "string"), "bool")),
    "charAt": ((True, ("string", "int"), "string"),),
    "indexOf": (
        (True, ("string", "string"), "int"),
        (True, ("string", "string", "int"), "int"),
        (True, (LIST, "A"), "int"),
    ),
    "lastIndexOf": (
        (True, ("string", "string"), "int"),
        (True, ("string", "string", "int"), "int"),
        (True, (LIST, "A"), "int"),
    ),
    "lowerAscii": ((True, ("string",), "string"),),
    "upperAscii": ((True, ("string",), "string"),),
    "trim": ((True, ("string",), "string"),),
    "replace": ((True, ("string", "string", "string"), "string"), (True, ("string", "string", "string", "int"), "string")),
    "split": ((True, ("string", "string"), TEXTS), (True, ("string", "string", "int"), TEXTS)),
    "substring": ((True, ("string", "int"), "string"), (True, ("string", "int", "int"), "string")),
    "join": ((True, (TEXTS,), "string"), (True, (TEXTS, "string"), "string")),
    "format": ((True, ("string", LIST), "string"),),
    "strings.quote": ((False, ("string",), "string"),),
    "validate": ((True, ("format", "string"), ("optional", TEXTS)),),
    "format.named": ((False, ("string",), ("optional", "format")),),
    **{f"format.{name}": ((False, (), "format"),) for name in named_formats.NAMES},
    "lists.range": ((False, ("int",), ("list", "int")),),
    "distinct": ((True, (LIST,), LIST),),
    "reverse": ((True, (LIST,), LIST),),
    "slice": ((True, (LIST, "int", "int"), LIST),),
    "first": ((True, (LIST,), OPTIONAL),),
    "last": ((True, (LIST,), OPTIONAL),),
    "flatten": (
        (True, (("list", LIST),), LIST),
        (True, (("list", "dyn"),), ("list", "dyn")),
        (True, (("list", "dyn"), "int"), ("list", "dyn")),
    ),
    "sort": tuple(
        (True, (("list", kind),), ("list", kind))
        for kind in ("int", "uint", "double", "bool", "string", "timestamp", "duration")
    ),
    "find": ((True, ("string", "string"), "string"),),
    "findAll": ((True, ("string", "string"), TEXTS), (True, ("string", "string", "int"), TEXTS)),
    "isSorted": tuple(
        (True, (("list", kind),), "bool") for kind in ("int", "uint", "double", "bool", "string", "timestamp", "duration")
    ),
    "sum": tuple((True, (("list", kind),), kind) for kind in ("int", "uint", "double", "duration")),
    **{
        name: tuple(
            (True, (("list", kind),), kind) for kind in ("int", "uint", "double", "bool", "string", "timestamp", "duration")
        )
        for name in ("min", "max")
    },
    **dict.fromkeys(("sets.contains", "sets.equivalent", "sets.intersects"), ((False, (LIST, LIST), "bool"),)),
    "optional.of": ((False, ("A",), OPTIONAL),),
    "optional.ofNonZeroValue": ((False, ("A",), OPTIONAL),),
    "optional.none": ((False, (), ("optional", "A")),),
    "hasValue": ((True, (OPTIONAL,), "bool"),),
    "value": ((True, (OPTIONAL,), "A"),),
    "orValue": ((True, (OPTIONAL, "A"), "A"),),
    "or": ((True, (OPTIONAL, OPTIONAL), OPTIONAL),),
    "quantity": ((False, ("string",), "quantity"),),
    "isQuantity": ((False, ("string",), "bool"),),
    "isInteger": ((True, ("quantity",), "bool"),),
    "asInteger": ((True, ("quantity",), "int"),),
    "asApproximateFloat": ((True, ("quantity",), "double"),),
    "sign": ((False, ("quantity",), "int"),),
    "add": ((True, ("quantity", "quantity"), "quantity"), (True, ("quantity", "int"), "quantity")),
    "sub": ((True, ("quantity", "quantity"), "quantity"), (True, ("quantity", "int"), "quantity")),
    "compareTo": ((True, ("quantity", "quantity"), "int"), (True, ("semver", "semver"), "int")),
    "isLessThan": ((True, ("quantity", "quantity"), "bool"), (True, ("semver", "semver"), "bool")),
    "isGreaterThan": ((True, ("quantity", "quantity"), "bool"), (True, ("semver", "semver"), "bool")),
    "ip": ((False, ("string",), "ip"), (True, ("cidr",), "ip")),
    "isIP": ((False, ("string",), "bool"),),
    "ip.isCanonical": ((False, ("string",), "bool"),),
    "family": ((True, ("ip",), "int"),),
    **dict.fromkeys(
        ("isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast"),
        ((True, ("ip",), "bool"),),
    ),
    "cidr": ((False, ("string",), "cidr"),),
    "isCIDR": ((False, ("string",), "bool"),),
    "containsIP": ((True, ("cidr", "string"), "bool"), (True, ("cidr", "ip"), "bool")),
    "containsCIDR": ((True, ("cidr", "string"), "bool"), (True, ("cidr", "cidr"), "bool")),
    "masked": ((True, ("cidr",), "cidr"),),
    "prefixLength": ((True, ("cidr",), "int"),),
    "semver": ((False, ("string",), "semver"), (False, ("string", "bool"), "semver")),
    "isSemver": ((False, ("string",), "bool"), (False, ("string", "bool"), "bool")),
    **dict.fromkeys(("major", "minor", "patch"), ((True, ("semver",), "int"),)),
    **dict.fromkeys(
        ("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear"),
        ((True, ("timestamp",), "int"), (True, ("timestamp", "string"), "int")),
    ),
    **dict.fromkeys(
        ("getHours", "getMinutes", "getSeconds", "getMilliseconds"),
        ((True, ("timestamp",), "int"), (True, ("timestamp", "string"), "int"), (True, ("duration",), "int")),
    ),
}
# Functions that Kubernetes has, and that are not available here.
ELSEWHERE = frozenset(
    """url isURL getScheme getHost getHostname getPort getEscapedPath getQuery bytes path group serviceAccount resource
    subresource namespace name check allowed reason errored error fieldSelector labelSelector unwrap unwrapOpt""".split()  # noqa: SIM905
)
