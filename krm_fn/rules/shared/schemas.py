"""How messages name a schema, and what it has in a place."""

from __future__ import annotations

from krm_fn.base.suggestions import meant
from krm_fn.base.wording import show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.releases import Version
    from krm_fn.kubevirt.schema import ObjectFacts
    from krm_fn.kubevirt.schema.flaws import Flaw

# More names than this are no help in a message.
MOST_LISTED = 8


def the_schema(facts: ObjectFacts, flaw: Flaw) -> str:
    """`KubeVirt 1.9.0`, or the CustomResourceDefinition that was read in its place."""
    return f"the CustomResourceDefinition {flaw.schema}" if flaw.schema else f"KubeVirt {facts.release}"


def field_of(flaw: Flaw) -> str:
    """The name of the field that a flaw is about; of an item of a list, the list's."""
    return next((step for step in reversed(flaw.path) if isinstance(step, str)), "")


def shown(flaw: Flaw, value: object) -> str:
    """A value in the flaw's place as messages show it; in a secret place none is shown."""
    return show(value, flaw.path)


def advice(word: str, known: tuple[str, ...]) -> str:
    """`did you mean a`, else `expected one of a, b`; "" where there are too many for that."""
    likely = meant(word, known)
    if likely:
        return f"did you mean {likely}"
    return f"expected one of {', '.join(known)}" if 0 < len(known) <= MOST_LISTED else ""


def short(version: Version) -> str:
    """`1.9`, or `1.5.1` where it came with that patch release."""
    return ".".join(map(str, version))
