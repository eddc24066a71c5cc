"""How types of CEL relate: which value may stand where, and which type two values have together."""

from __future__ import annotations

from krm_fn.policies.errors import RefusedError, Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Kind = Any  # a word or a tuple of words and types

DYN = "dyn"
FREE = "free"  # any type, which becomes that of what it is compared with
ANY = (DYN, FREE)
NULLABLE = frozenset(("timestamp", "duration", "quantity", "url", "ip", "cidr", "semver", "format", "request", "namespace"))
NUMBERS = ("int", "uint", "double")
ORDERED = frozenset((*NUMBERS, "bool", "string", "bytes", "timestamp", "duration"))


def fits(want: Kind, kind: Kind) -> bool:
    """True if a value of a type may stand where another type is wanted."""
    return matches(want, kind, {})


def matches(want: Kind, kind: Kind, bound: dict[str, Kind]) -> bool:  # noqa: PLR0911  one answer for each case
    if isinstance(want, str) and len(want) == 1:  # a variable
        if want not in bound or bound[want] == FREE:
            bound[want] = kind
            return True
        if kind == DYN:
            bound[want] = DYN
            return True
        if bound[want] in (kind, DYN) or kind == FREE or matches(bound[want], kind, {}):
            return True
        return matches(kind, bound[want], {})
    if want in ANY or kind in ANY:
        return True
    if kind == "null":
        return want == "null" or want in NULLABLE or (isinstance(want, tuple) and want[0] == "optional")
    if isinstance(want, tuple) and isinstance(kind, tuple):
        pairs = zip(want[1:], kind[1:], strict=True)
        return want[0] == kind[0] and len(want) == len(kind) and all(matches(each, of, bound) for each, of in pairs)
    return bool(want == kind)


def filled(kind: Kind, bound: dict[str, Kind]) -> Kind:
    if isinstance(kind, tuple):
        return (kind[0], *(filled(each, bound) for each in kind[1:]))
    return bound.get(kind, DYN) if isinstance(kind, str) and len(kind) == 1 else kind


def joined(one: Kind, other: Kind) -> Kind:
    """The type of either of two values. Raises: RefusedError if there is none."""
    if other in (one, FREE):
        return one
    if one == FREE:
        return other
    if DYN in (one, other):
        return DYN
    if fits(one, other):
        return one
    if fits(other, one):
        return other
    raise RefusedError("both values have different types")


def one(kinds: Sequence[Kind]) -> Kind:
    """The type of all elements of a literal, which must have one."""
    if not kinds:
        return DYN
    known = [kind for kind in kinds if kind != FREE]
    first = known[0] if known else FREE
    for kind in known:
        if kind != first:
            if _has_dyn_inside(kind) or _has_dyn_inside(first) or "null" in (kind, first):
                raise Unsupported("a list or map with elements of types that are not certain")
            raise RefusedError("the elements of a list or a map have different types")
    return first


def _has_dyn_inside(kind: Kind) -> bool:
    return isinstance(kind, tuple) and any(each in ANY or _has_dyn_inside(each) for each in kind[1:])


def ordered(kinds: Sequence[Kind]) -> Kind:
    one, other = kinds
    for kind in kinds:
        if kind not in ANY and kind not in ORDERED:
            raise RefusedError("values of this type have no order")
    if one in ANY or other in ANY or one == other or (one in NUMBERS and other in NUMBERS):
        return "bool"
    raise RefusedError("values of different types have no order")


def single(held: Kind) -> Kind:
    if held in ANY:
        return DYN
    if isinstance(held, tuple) and held[0] in ("list", "map"):
        return held[1]
    raise RefusedError("a macro needs a list or a map")


def ranges(held: Kind) -> tuple[Kind, Kind]:
    if held in ANY:
        return DYN, DYN
    if isinstance(held, tuple) and held[0] == "list":
        return "int", held[1]
    if isinstance(held, tuple) and held[0] == "map":
        return held[1], held[2]
    raise RefusedError("a macro needs a list or a map")
