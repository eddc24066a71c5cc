"""How much work is left: for a policy on one object, and for all policies on all objects of a run.

The API server's costs bound an expression on one object. They do not bound what regular expressions and comparisons take here,
and not what many objects take together.
"""

from __future__ import annotations

from krm_fn.policies.errors import Unsupported

OF_ONE = 3_000_000  # steps for a policy on one object, each of up to a microsecond
# Units of cost for all policies: to begin with, and for each object. A unit takes about a quarter of a microsecond.
OF_ALL, OF_EACH = 12_000_000, 100_000


class Work:
    """Steps and units of cost that are left."""

    __slots__ = ("steps", "units")

    def __init__(self) -> None:
        self.steps, self.units = OF_ONE, OF_ALL

    def begin(self) -> None:
        """Begins a run."""
        self.steps, self.units = OF_ONE, OF_ALL

    def next_object(self) -> None:
        """Goes on to the next object."""
        self.units += OF_EACH

    def next_policy(self) -> None:
        """Goes on to the next policy on an object. Raises: Unsupported if the others took too much."""
        if self.units < 0:
            raise Unsupported("all policies together cost too much on all objects")
        self.steps = OF_ONE

    def spend(self, steps: int) -> None:
        """Raises: Unsupported if not so many steps are left."""
        self.steps -= steps
        if self.steps < 0:
            raise Unsupported("it takes too many steps here")


WORK = Work()
