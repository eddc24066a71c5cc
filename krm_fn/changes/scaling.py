"""How many machines pools and replica sets create, and the effects that only they have."""

from __future__ import annotations

from krm_fn.base.objects import Object
from krm_fn.kubevirt.updates.pools import replicas

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.changes.pairs import Pair


SCALED_IN, SCALED_OUT = "scaledIn", "scaledOut"
RESTARTED, RECREATED, RELEASED = "restarted", "recreated", "released"


def scaled(pair: Pair) -> str:
    """The effect of another number of replicas on what exists, "" for none."""
    before, after = replicas(pair.old.obj), replicas(pair.new.obj)
    if before == after or pair.how.new:
        return ""
    return SCALED_IN if after < before else SCALED_OUT


def counts(pair: Pair) -> Object:
    """Both numbers of replicas, if they differ."""
    before, after = replicas(pair.old.obj), replicas(pair.new.obj)
    return {"replicas": {"old": before, "new": after}} if before != after else {}
