"""Work that several processes share: each does a part of it, and what came of the parts comes together in order."""

from __future__ import annotations

import os
from bisect import bisect_left
from itertools import accumulate, pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

SIGKILL = 9  # the module `signal` makes enums, which takes longer than some runs


def processes() -> int:
    """How many processes share the work."""
    return min(2, len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") and hasattr(os, "fork") else 1


def shared(work: Callable[[int], Any], weights: Sequence[int], *, here: Callable[[int], Any] | None = None) -> list[Any]:
    """What `work` gives for each number, in order: `weights` say how much there is to do for it, in any unit.

    `here` does the work in this process, if that is done otherwise. What another process failed to do is done here, so an
    error of `here` is the one that a single process would meet. What `work` gives must be picklable.
    Raises: what `here` raises.
    """
    here = here or work
    own, *others = cut(weights, processes())
    children = [_child(work, part) for part in others]
    found = []
    try:
        found += [here(number) for number in own]
        for child, part in zip(children, others, strict=True):
            done = (child and child.join()) or {}
            found += [done[number] if number in done else here(number) for number in part]
    except BaseException:
        for child in children:
            if child:
                child.end()
        raise
    return found


def cut(weights: Sequence[int], count: int) -> list[range]:
    """The numbers of the weights in at most so many parts of about the same weight."""
    sums = list(accumulate(weights))
    ends = [bisect_left(sums, sums[-1] * part / count) + 1 for part in range(1, count)] if sums else []
    parts = [range(start, end) for start, end in pairwise([0, *ends, len(sums)]) if start < end]
    return parts or [range(0)]


def _child(work: Callable[[int], Any], part: Iterable[int]) -> Child | None:
    """The process that does a part; None where there can be none, for want of memory or because there are too many."""
    try:
        return Child(lambda: _done(work, part))
    except OSError:
        return None


def _done(work: Callable[[int], Any], part: Iterable[int]) -> dict[int, Any]:
    done = {}
    for number in part:
        try:
            done[number] = work(number)
        except Exception:  # noqa: BLE001, S112  the other process meets the same, and says so in its turn
            continue
    return done


class Child:
    """Another process that does some work, and the pipe on which it says what came of it."""

    def __init__(self, work: Callable[[], Any]) -> None:
        """Raises: OSError where there can be no other process."""
        source, target = os.pipe()
        try:
            self.pid = os.fork()
        except OSError:
            os.close(source)
            os.close(target)
            raise
        self.source = source
        if self.pid:
            os.close(target)
            return
        try:
            done = work()
            from pickle import dumps

            with os.fdopen(target, "wb") as out:
                out.write(dumps(done))
        finally:  # whatever happens, this process ends here; where it said nothing, the other does its work
            os._exit(0)

    def end(self) -> None:
        """End the process, whatever it does, unless it has ended."""
        if self.pid:
            os.kill(self.pid, SIGKILL)
            self._close()

    def join(self) -> Any:
        """What came of the work; None where the process died before it had said so."""
        from pickle import UnpicklingError, loads

        with os.fdopen(self.source, "rb", closefd=False) as source:
            said = source.read()
        self._close()
        try:
            return loads(said) if said else None  # noqa: S301  our own process wrote it
        except (EOFError, UnpicklingError):
            return None

    def _close(self) -> None:
        pid, self.pid = self.pid, 0
        os.close(self.source)
        os.waitpid(pid, 0)
