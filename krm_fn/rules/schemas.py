"""How messages name a schema, and what it has in a place."""

from __future__ import annotations

from krm_fn.rules import nearest, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.releases import Version
    from krm_fn.schema import ObjectFacts
    from krm_fn.schema.flaws import Flaw

# More names than this are no help in a message.
MOST_LISTED = 8
# Of longer words nobody knows what was meant.
LONGEST = 100
REMEMBERED = 10_000

_alike: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}


def the_schema(facts: ObjectFacts, flaw: Flaw) -> str:
    """`KubeVirt 1.9.0`, or the CustomResourceDefinition that was read in its place."""
    return f"the CustomResourceDefinition {flaw.schema}" if flaw.schema else f"KubeVirt {facts.release}"


def field_of(flaw: Flaw) -> str:
    """The name of the field that a flaw is about; of an item of a list, the list's."""
    return next((step for step in reversed(flaw.path) if isinstance(step, str)), "")


def shown(flaw: Flaw, value: object) -> str:
    """A value in the flaw's place as messages show it; in a secret place none is shown."""
    return show(value, flaw.path)


def alike(word: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """As `nearest`; the same slip, which stands in many objects, is looked at once."""
    if len(word) > LONGEST:
        return ()
    key = word, known
    if key not in _alike:
        if len(_alike) >= REMEMBERED:
            _alike.clear()
        _alike[key] = nearest(word, [each for each in known if _may_be_alike(word.lower(), each.lower())])
    return _alike[key]


def _may_be_alike(one: str, other: str) -> bool:
    """False where too few letters are in both for what `nearest` asks, which takes much longer to find out."""
    shared = sum(min(one.count(letter), other.count(letter)) for letter in set(one) & set(other))
    return 10 * shared >= 3 * (len(one) + len(other))


def advice(word: str, known: tuple[str, ...]) -> str:
    """`did you mean a`, else `expected one of a, b`; "" where there are too many for that."""
    likely = alike(word, known)
    if likely:
        return f"did you mean {likely[0]}"
    return f"expected one of {', '.join(known)}" if 0 < len(known) <= MOST_LISTED else ""


def minor(version: Version) -> str:
    """`1.9`."""
    return ".".join(map(str, version[:2]))
