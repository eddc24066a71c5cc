"""How much work a run may still do for what users write in languages of their own: policies, schemas, regular expressions.

Work is counted in units, never by a clock, so that the same input gives the same answer on every machine. A unit stands for
up to a quarter of a microsecond, or for up to eight bytes that are made.
"""

from __future__ import annotations

from _thread import _local

# The units of a run: to begin with, and for each byte of what is judged. Where a run judges many bundles, each has a part of
# the former, and no less than what a fleet's policies need for a few VMs.
BASE, LEAST, OF_BYTE = 12_000_000, 150_000, 4
# Beyond this size a byte gives more: who judges very many VMs has many policies, and knows that it takes time.
LARGE, OF_BYTE_BEYOND = 1_000_000, 16
TOO_MUCH = "it takes more than its share of the work of a run"


class Unsupported(Exception):  # noqa: N818  it is no mistake of what is written
    """What a user wrote can't be evaluated here exactly as it is meant. The text says why, `place` where it is."""

    def __init__(self, why: str, place: str = "spec") -> None:
        super().__init__(why)
        self.place = place


class SpentError(Unsupported):
    """The work that is allowed is done."""

    def __init__(self) -> None:
        super().__init__(TOO_MUCH)


class Work(_local):
    """The units that are left in this thread.

    Each policy has an account: half of all units belong to the accounts in equal parts, the other half to whoever needs more.
    So one policy that takes very much does not keep the others from being evaluated.
    """

    def __init__(self) -> None:
        self.begin(0)

    def begin(self, size: int, accounts: int = 1, runs: int = 1) -> None:
        """Begin to judge so many bytes by so many policies, as one of several bundles of a run."""
        beyond = max(size - LARGE, 0)
        shared = (max(BASE // runs, LEAST) + OF_BYTE * (size - beyond) + OF_BYTE_BEYOND * beyond) // 2
        self.resume(shared)
        self._each = shared // max(accounts, 1)

    def resume(self, units: int) -> None:
        """Go on with so many units, which belong to nobody."""
        self._given = self._pool = self.left = units
        self._each = 0
        self._account: object = None
        self._own: dict[object, int] = {}

    def use(self, account: object) -> None:
        """What is spent from now on belongs to an account; None for what belongs to nobody."""
        self._settle()
        self._account = account
        self.left = self._pool + self._own_of(account)

    def spend(self, units: int) -> None:
        """Raises: SpentError if not so many units are left."""
        self.left -= units
        if self.left < 0:
            raise SpentError

    @property
    def spent(self) -> int:
        """The units that are spent since the run began."""
        self.use(self._account)
        return self._given - self._pool + sum(self._each - own for own in self._own.values())

    def _own_of(self, account: object) -> int:
        return 0 if account is None else self._own.get(account, self._each)

    def _settle(self) -> None:
        """An account's own units are spent first."""
        if self._account is not None:
            self._own[self._account] = max(min(self.left - self._pool, self._own_of(self._account)), 0)
        self._pool = max(min(self._pool, self.left), 0)


class Budget:
    """Units of its own for something that takes part in no run, such as the expressions of a configuration."""

    __slots__ = ("left",)

    def __init__(self, units: int) -> None:
        self.left = units

    def spend(self, units: int) -> None:
        """Raises: SpentError if not so many units are left."""
        self.left -= units
        if self.left < 0:
            raise SpentError


WORK = Work()
