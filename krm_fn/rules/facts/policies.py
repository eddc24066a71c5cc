"""Which policies could not be evaluated."""

from __future__ import annotations

from krm_fn.base.annotations import Iterable, Iterator
from krm_fn.base.bundle import Entry
from krm_fn.base.value import Value
from krm_fn.base.wording import listed

FIX = "write simpler expressions, or judge fewer objects at a time"


class Unevaluated(Value):
    """A policy or rule that was not evaluated.

    `policy` is what it is and its name (`policy small`), `place` the part that can't be evaluated, `why` the reason. `entry` is
    the policy's object, None for a policy of the config. `refused`: the API server would not store the policy.
    `is_note`: it was evaluated, but the reason may make its verdicts void. `is_unbound`: no binding is known.
    `is_spent`: it takes too much work; `fails_closed`: it refuses objects where it fails.
    """

    policy: str
    place: str
    why: str
    entry: Entry | None = None
    refused: bool = False
    is_note: bool = False
    is_unbound: bool = False
    is_spent: bool = False
    fails_closed: bool = False


def together(found: Iterable[Unevaluated]) -> Iterator[Unevaluated]:
    """The same, with one for all policies that take too much work, and one for those of them that fail open."""
    spent: dict[bool, dict[str, Unevaluated]] = {True: {}, False: {}}
    for each in found:
        if each.is_spent:
            spent[each.fails_closed].setdefault(each.policy, each)
        else:
            yield each
    for first, *others in (tuple(those.values()) for those in spent.values() if those):
        names = [each.policy.partition(" ")[2] for each in others]
        do = "do" if len(names) > 1 else "does"
        more = f", and so {do} {listed(names, 'and')}" if names else ""
        yield first.but(place="", why=f"{first.why}{more}; {FIX}")
