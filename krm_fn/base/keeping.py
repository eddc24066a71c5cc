"""What one run leaves for the next one in the same process.

A language server reads and judges nearly the same texts after each keystroke. `with Keeper():` is the one way to make use of
that: inside of it, a document whose text is known is not read again (`yamlio.streams`), and a VM whose judgement is known is
not judged again (`pipeline.unchanged`). Outside of it nothing is kept, and nothing is looked up.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Hashable, Self

_open: list[Keeper] = []


class Keeper:
    """What is kept. Whoever opens it again forgets what the run before the last one used and the last one did not.

    Only one thread may open one.
    """

    def __init__(self) -> None:
        self.documents, self.machines = Kept(), Kept()

    def __enter__(self) -> Self:
        for kept in (self.documents, self.machines):
            kept.begin()
        _open.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _open.pop()


def keeper() -> Keeper | None:
    """What is open; None where nothing is kept."""
    return _open[-1] if _open else None


class Kept:
    """Values by what they were made of: those that the present run made or used, and those of the run before."""

    __slots__ = ("_before", "_now")

    def __init__(self) -> None:
        self._now: dict[Hashable, Any] = {}
        self._before: dict[Hashable, Any] = {}

    def begin(self) -> None:
        """Begin a run. One that used nothing leaves what was there, so that it can't make everything be done again."""
        if self._now:
            self._before, self._now = self._now, {}

    def get(self, key: Hashable) -> Any:
        """The value of a key; None if there is none."""
        value = self._now.get(key)
        if value is None and (value := self._before.get(key)) is not None:
            self._now[key] = value
        return value

    def put(self, key: Hashable, value: Any) -> None:
        """Keep a value, which is not None."""
        self._now[key] = value
