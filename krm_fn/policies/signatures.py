"""The types that the functions of CEL take and give, as the API server declares them.

In the table, a line is a function and its overloads. `list(A).first optional(A)` is a method, `size(string) int` is not.
One capital letter is any type.

upstream: github.com/google/cel-go/common/stdlib/standard.go, cel/library.go, ext/; k8s.io/apiserver/pkg/cel/library
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.expressions import expression
from krm_fn.policies.named_formats import NAMES

Kind = Any


class Overload(tuple):  # type: ignore[type-arg]
    """An overload: whether it is a method, the types of receiver and arguments, the type of the answer."""

    __slots__ = ()

    @property
    def is_method(self) -> bool:
        return bool(self[0])

    @property
    def takes(self) -> tuple[Kind, ...]:
        return self[1]  # type: ignore[no-any-return]

    @property
    def gives(self) -> Kind:
        return self[2]


NUMBERS = ("int", "uint", "double")
ORDERED = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
PATTERN = expression(r"[\w.]+|\S")
TABLE = """
!_: (bool) bool
-_: (int) int | (double) double
&&: (bool, bool) bool
||: (bool, bool) bool
?:: (bool, A, A) A
==: (A, A) bool
!=: (A, A) bool
+: (bytes, bytes) bytes | (double, double) double | (duration, duration) duration | (duration, timestamp) timestamp
 | (timestamp, duration) timestamp | (int, int) int | (list(A), list(A)) list(A) | (string, string) string | (uint, uint) uint
-: (double, double) double | (duration, duration) duration | (int, int) int | (timestamp, duration) timestamp
 | (timestamp, timestamp) duration | (uint, uint) uint
*: (double, double) double | (int, int) int | (uint, uint) uint
/: (double, double) double | (int, int) int | (uint, uint) uint
%: (int, int) int | (uint, uint) uint
[]: (list(A), int) A | (map(A, B), A) B | (optional(list(A)), int) optional(A) | (optional(map(A, B)), A) optional(B)
[?]: (list(A), int) optional(A) | (optional(list(A)), int) optional(A) | (map(A, B), A) optional(B)
 | (optional(map(A, B)), A) optional(B)
in: (A, list(A)) bool | (A, map(A, B)) bool
size: (bytes) int | bytes.() int | (list(A)) int | list(A).() int | (map(A, B)) int | map(A, B).() int | (string) int
 | string.() int
type: (A) type(A)
dyn: (A) dyn
int: (int) int | (double) int | (duration) int | (string) int | (timestamp) int | (uint) int
uint: (uint) uint | (double) uint | (int) uint | (string) uint
double: (double) double | (int) double | (string) double | (uint) double
bool: (bool) bool | (string) bool
bytes: (bytes) bytes | (string) bytes
string: (string) string | (bool) string | (bytes) string | (double) string | (duration) string | (int) string
 | (timestamp) string | (uint) string | (ip) string | (cidr) string
duration: (duration) duration | (string) duration
timestamp: (timestamp) timestamp | (int) timestamp | (string) timestamp
contains: string.(string) bool
endsWith: string.(string) bool
startsWith: string.(string) bool
matches: (string, string) bool | string.(string) bool
charAt: string.(int) string
indexOf: string.(string) int | string.(string, int) int | list(A).(A) int
lastIndexOf: string.(string) int | string.(string, int) int | list(A).(A) int
lowerAscii: string.() string
upperAscii: string.() string
trim: string.() string
replace: string.(string, string) string | string.(string, string, int) string
split: string.(string) list(string) | string.(string, int) list(string)
substring: string.(int) string | string.(int, int) string
join: list(string).() string | list(string).(string) string
format: string.(list(dyn)) string
strings.quote: (string) string
lists.range: (int) list(int)
slice: list(A).(int, int) list(A)
flatten: list(list(A)).() list(A) | list(dyn).(int) list(dyn)
distinct: list(A).() list(A)
reverse: list(A).() list(A)
first: list(A).() optional(A)
last: list(A).() optional(A)
find: string.(string) string
findAll: string.(string) list(string) | string.(string, int) list(string)
sets.contains: (list(A), list(A)) bool
sets.equivalent: (list(A), list(A)) bool
sets.intersects: (list(A), list(A)) bool
optional.of: (A) optional(A)
optional.ofNonZeroValue: (A) optional(A)
optional.none: () optional(A)
optional.unwrap: (list(optional(A))) list(A)
unwrapOpt: list(optional(A)).() list(A)
hasValue: optional(A).() bool
value: optional(A).() A
orValue: optional(A).(A) A
or: optional(A).(optional(A)) optional(A)
@mapInsert: (map(A, B), A, B) map(A, B) | (map(A, B), map(A, B)) map(A, B)
quantity: (string) quantity
isQuantity: (string) bool
isInteger: quantity.() bool
asInteger: quantity.() int
asApproximateFloat: quantity.() double
sign: (quantity) int
add: quantity.(quantity) quantity | quantity.(int) quantity
sub: quantity.(quantity) quantity | quantity.(int) quantity
compareTo: quantity.(quantity) int | semver.(semver) int
isLessThan: quantity.(quantity) bool | semver.(semver) bool
isGreaterThan: quantity.(quantity) bool | semver.(semver) bool
url: (string) url
isURL: (string) bool
getScheme: url.() string
getHost: url.() string
getHostname: url.() string
getPort: url.() string
getEscapedPath: url.() string
getQuery: url.() map(string, list(string))
ip: (string) ip | cidr.() ip
isIP: (string) bool
ip.isCanonical: (string) bool
family: ip.() int
isUnspecified: ip.() bool
isLoopback: ip.() bool
isLinkLocalMulticast: ip.() bool
isLinkLocalUnicast: ip.() bool
isGlobalUnicast: ip.() bool
cidr: (string) cidr
isCIDR: (string) bool
containsIP: cidr.(string) bool | cidr.(ip) bool
containsCIDR: cidr.(string) bool | cidr.(cidr) bool
masked: cidr.() cidr
prefixLength: cidr.() int
semver: (string) semver | (string, bool) semver
isSemver: (string) bool | (string, bool) bool
major: semver.() int
minor: semver.() int
patch: semver.() int
validate: format.(string) optional(list(string))
format.named: (string) optional(format)
path: authorizer.(string) pathCheck
group: authorizer.(string) groupCheck
serviceAccount: authorizer.(string, string) authorizer
resource: groupCheck.(string) resourceCheck
subresource: resourceCheck.(string) resourceCheck
namespace: resourceCheck.(string) resourceCheck
name: resourceCheck.(string) resourceCheck
fieldSelector: resourceCheck.(string) resourceCheck
labelSelector: resourceCheck.(string) resourceCheck
check: pathCheck.(string) decision | resourceCheck.(string) decision
allowed: decision.() bool
reason: decision.() string
error: decision.() string
errored: decision.() bool
"""


def _read() -> dict[str, tuple[Overload, ...]]:
    lines = TABLE.replace("\n |", " |").strip().splitlines()
    return {name: tuple(_overloads(rows)) for name, rows in (line.rsplit(": ", 1) for line in lines)}


def _overloads(rows: str) -> Iterator[Overload]:
    for row in rows.split(" | "):
        tokens = PATTERN.findall(row.replace(".(", " . ("))
        receiver = [] if tokens[0] == "(" else [_kind(tokens)]
        if receiver:
            tokens.pop(0)
        yield Overload((bool(receiver), (*receiver, *_kinds(tokens)), _kind(tokens)))


def _kinds(tokens: list[str]) -> Iterator[Kind]:
    """The types between brackets."""
    tokens.pop(0)
    while tokens[0] != ")":
        if tokens[0] == ",":
            tokens.pop(0)
        yield _kind(tokens)
    tokens.pop(0)


def _kind(tokens: list[str]) -> Kind:
    word = tokens.pop(0)
    shape = tokens[0] == "(" if tokens else False
    return (word, *_kinds(tokens)) if shape and word in ("list", "map", "optional", "type") else word


def _listed(give: str, kinds: tuple[str, ...]) -> tuple[Overload, ...]:
    """The overloads of a method of lists, by the type of their elements; what it gives has it in place of `T`."""
    gives = {kind: kind if give == "T" else ("list", kind) if give == "list" else give for kind in kinds}
    return tuple(Overload((True, (("list", kind),), gives[kind])) for kind in kinds)


def _ordering() -> tuple[Overload, ...]:
    """The overloads of `<`: values of one type, and numbers of any."""
    pairs = [(kind, kind) for kind in ORDERED if kind not in NUMBERS]
    pairs += [(one, other) for one in NUMBERS for other in NUMBERS]
    return tuple(Overload((False, pair, "bool")) for pair in pairs)


def _time() -> dict[str, tuple[Overload, ...]]:
    """The overloads of the parts of a time, in UTC and in a time zone; some are parts of durations, too."""
    of_time = Overload((True, ("timestamp",), "int")), Overload((True, ("timestamp", "string"), "int"))
    names = ("FullYear", "Month", "DayOfYear", "DayOfMonth", "Date", "DayOfWeek")
    both = (*of_time, Overload((True, ("duration",), "int")))
    return {f"get{name}": of_time for name in names} | {
        f"get{name}": both for name in ("Hours", "Minutes", "Seconds", "Milliseconds")
    }


SIGNATURES: dict[str, tuple[Overload, ...]] = {
    **_read(),
    **_time(),
    **dict.fromkeys(("<", "<=", ">", ">="), _ordering()),
    **{name: _listed("T", ORDERED) for name in ("min", "max")},
    "isSorted": _listed("bool", ORDERED),
    "sum": _listed("T", (*NUMBERS, "duration")),
    "sort": _listed("list", ORDERED),
    "@sortByAssociatedKeys": tuple(Overload((True, (("list", "A"), ("list", kind)), ("list", "A"))) for kind in ORDERED),
    **{f"format.{name}": (Overload((False, (), "format")),) for name in NAMES},
}
