"""Flaws: places of an object that do not match the schema of its kind. Rules have the messages."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable
from krm_fn.base.paths import Path
from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.releases import Version

Span = tuple[Version, Version]
Judge = Callable[[Any, Path], "Flaw | None"]


# The kinds of flaws.
UNKNOWN = "unknown"  # no release knows the field here
ELSEWHERE = "elsewhere"  # another release knows it, the chosen one does not
TYPE = "type"  # a value of another type than the field's
NULL = "null"  # null instead of a map that has a meaning even if it is empty
UNQUOTED = "unquoted"  # a quantity that Go reads and the CustomResourceDefinition refuses: a fraction, or blanks around it
NUMBER = "number"  # a number as a quantity, where the webhooks of a release accept text only
MISSING = "missing"  # a required field is missing
RANGE = "range"  # a number outside of the field's range
COUNT = "count"  # too many or too few entries
LENGTH = "length"  # a text that is too long or too short
VALUE = "value"  # a text that is not one of the field's values
DUPLICATE = "duplicate"  # an entry of a list that may occur only once

# Who refuses the object. "" is both: the API server by the CustomResourceDefinition, and the kind's webhooks if they check.
SERVER = "server"
WEBHOOKS = "webhooks"

# If a large definition has more names or values than this at one place, none is named or proposed, because as many objects
# may be wrong there.
MOST_KNOWN = 200


class Flaw(Value):
    """One wrong place: `path` from the object's root, `current` the value there, or UNSET.

    Not every flaw has its value: the value of an unknown field, or in place of a map, may be secret. `proposed` is a valid
    value. `found` and `expected` are the types in a few words (TYPE, MISSING), or `expected` is the range or the form (RANGE,
    COUNT, LENGTH, VALUE); `known` are the names or values that the schema has in that place; `spans` the releases, first and
    last, that know the field (ELSEWHERE). `by` is who refuses it: SERVER, WEBHOOKS, or "" for both; `taken` is True if the
    object is admitted in spite of the flaw. `schema` names the CustomResourceDefinition, "" for the release's own API;
    `upstream` is "admission" if the object is refused at admission, otherwise "". `more` is the number of flaws of its sort
    that are left out after it.
    """

    kind: str
    path: Path
    current: Any = UNSET
    proposed: Any = UNSET
    found: str = ""
    expected: str = ""
    known: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    by: str = ""
    taken: bool = False
    schema: str = ""
    upstream: str = ""
    more: int = 0


def sort(kind: str, path: Path) -> tuple[str, str | int]:
    """The sort of a flaw, of which only some are reported: flaws of one kind in one part of the object, such as its spec."""
    return kind, path[0] if len(path) > 1 else ""
