"""How messages name a schema, a field, and what the schema has in its place."""

from __future__ import annotations

from krm_fn.base.objects import group_of
from krm_fn.base.suggestions import meant
from krm_fn.base.wording import show
from krm_fn.kubevirt.releases import Version
from krm_fn.kubevirt.schema import ObjectFacts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.schema.flaws import Flaw


# A message lists at most this many names.
MOST_LISTED = 8


def the_schema(facts: ObjectFacts, flaw: Flaw) -> str:
    """`KubeVirt 1.9.0`, `CDI` for a kind of its own, or the CustomResourceDefinition that was read in its place."""
    if flaw.schema:
        return f"the CustomResourceDefinition {flaw.schema}"
    return "CDI" if group_of(facts.entry.obj) == "cdi.kubevirt.io" else f"KubeVirt {facts.release}"


def field_of(flaw: Flaw) -> str:
    """The name of the field that a flaw is about; for an item of a list, the list's name."""
    return next((step for step in reversed(flaw.path) if isinstance(step, str)), "")


def place_of(flaw: Flaw) -> str:
    """`cores`, or `an item of disks`."""
    of_list = flaw.path and isinstance(flaw.path[-1], int)
    return f"an item of {field_of(flaw)}" if of_list else field_of(flaw)


def shown(flaw: Flaw, value: object) -> str:
    """A value at the flaw's path as messages show it; a secret one is redacted."""
    return show(value, flaw.path)


def advice(word: str, known: tuple[str, ...]) -> str:
    """`did you mean a`, else `expected one of a, b`; "" where there are too many for that."""
    likely = meant(word, known)
    if likely:
        return f"did you mean {likely}"
    return f"expected one of {', '.join(known)}" if 0 < len(known) <= MOST_LISTED else ""


def short(version: Version) -> str:
    """`1.9`, or `1.5.1` for a patch release."""
    return ".".join(map(str, version))
