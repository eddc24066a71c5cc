"""Flaws: where an object leaves the schema of its kind. Rules word them."""

from __future__ import annotations

from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.releases import Version

    Span = tuple[Version, Version]
    Judge = Callable[[Any, Path], "Flaw | None"]

# What is wrong.
UNKNOWN = "unknown"  # no release knows the field here
ELSEWHERE = "elsewhere"  # another release knows it, the chosen one does not
TYPE = "type"  # a value of another type than the field's
NULL = "null"  # nothing, in the place of a map that says something even when it is empty
UNQUOTED = "unquoted"  # a quantity that Go reads and the CustomResourceDefinition refuses: a fraction, or blanks around it
NUMBER = "number"  # a number as a quantity, where the webhooks of a release take text only
MISSING = "missing"  # a required field is not there
RANGE = "range"  # a number beyond what the field holds
COUNT = "count"  # too many or too few entries
LENGTH = "length"  # a text that is too long or too short
VALUE = "value"  # a text that is none of the field's
DUPLICATE = "duplicate"  # an entry of a list that must be there once

# Who refuses it alone. "" is both: the API server by the CustomResourceDefinition, and the kind's webhooks if they look there.
SERVER = "server"
WEBHOOKS = "webhooks"

# Of more names or values at one place, as a large definition has them, none is named or proposed: as many objects may be wrong
# there.
MOST_KNOWN = 200


class Flaw(Value):
    """One place that is wrong: `path` from the object's root, `current` the value there, UNSET where there is none.

    Not every flaw names its value: what stands under an unknown field, or in the place of a map, may be secret. `proposed` is
    a value that would do. `found` and `expected` are the types in a few words (TYPE, MISSING), or `expected` the bounds or the
    form (RANGE, COUNT, LENGTH, VALUE); `known` the names or values that the schema has in that place; `spans` the releases,
    first and last, that know the field (ELSEWHERE). `by` is who refuses it: SERVER, WEBHOOKS, or "" for both; `taken` is True
    where the object is admitted all the same. `schema` names the CustomResourceDefinition, "" where it is the release's own
    API; `upstream` is "admission" where the object is refused at admission, else "". `more` is how many of its sort were left
    out after it.
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
    """What is told a limited number of times: flaws of one kind in one part of the object, such as its spec, weigh the same."""
    return kind, path[0] if len(path) > 1 else ""
