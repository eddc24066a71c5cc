"""How much work is left for what the API server's costs do not bound here: regular expressions, and comparing large values."""

from __future__ import annotations

from krm_fn.policies.errors import Unsupported

OF_ONE = 3_000_000  # steps for a policy on one object


class Work:
    """Steps that are left. A step is a fraction of a microsecond to one microsecond."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = OF_ONE

    def refill(self) -> None:
        """Begins with a policy on an object."""
        self.left = OF_ONE

    def spend(self, steps: int) -> None:
        """Raises: Unsupported if not so many are left."""
        self.left -= steps
        if self.left < 0:
            raise Unsupported("it takes too many steps here")


WORK = Work()
