"""Which policies could not be evaluated."""

from __future__ import annotations

from krm_fn.base.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.base.bundle import Entry


class Unevaluated(Value):
    """A policy or rule that was not evaluated.

    `policy` is what it is and its name (`policy small`), `place` the part that can't be evaluated, `why` the reason. `entry` is
    the policy's object, None for a policy of the config. `refused`: the API server would not store the policy.
    `is_note`: it was evaluated, but the reason may make its verdicts void. `is_unbound`: no binding is known.
    """

    policy: str
    place: str
    why: str
    entry: Entry | None = None
    refused: bool = False
    is_note: bool = False
    is_unbound: bool = False
