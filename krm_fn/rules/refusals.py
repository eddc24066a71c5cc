"""What a rule says of the refusals in its part of an object."""

from __future__ import annotations

from krm_fn.limits import COUNTED, MOST, counted
from krm_fn.rules import Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.facts import AdmissionFacts


def hits(facts: AdmissionFacts, part: str) -> Iterator[Hit]:
    """A hit for each cause whose path is in that part of the object, but no more than are told of one rule."""
    causes = facts.parts.get(part, ())
    more = max(len(causes) - MOST, 0) + sum(cause.more for cause in causes)
    at_least = any(cause.more >= COUNTED - MOST for cause in causes)
    for number, cause in enumerate(causes[:MOST], 1):
        last = number in (MOST, len(causes))
        yield Hit(
            message=counted(cause.message, more if last else 0, at_least=at_least),
            path=cause.path,
            current=cause.current,
            upstream="admission",
            upstream_path=cause.upstream_path,
        )
