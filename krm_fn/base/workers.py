"""Work that several processes share: each does a part of it, and what came of the parts comes together in order."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` itself makes enums, which takes longer than some runs
import os
from bisect import bisect_left
from itertools import accumulate, pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, NoReturn

ENDING = tuple(getattr(_signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(_signal, name))


def processes() -> int:
    """How many processes share the work."""
    return min(2, len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") and hasattr(os, "fork") else 1


def parted(weights: Sequence[int], least: int) -> list[range]:
    """The numbers of the weights, in one part for each process; the first is this process's own.

    `weights` say how much there is to do for each number: from `least` on, all together are worth another process.
    """
    return cut(weights, processes() if sum(weights) >= least else 1)


def cut(weights: Sequence[int], count: int) -> list[range]:
    """The numbers of the weights in at least one and at most so many parts of about the same weight."""
    sums = list(accumulate(weights))
    ends = [bisect_left(sums, sums[-1] * part / count) + 1 for part in range(1, count)] if sums else []
    found = [range(start, end) for start, end in pairwise([0, *ends, len(sums)]) if start < end]
    return found or [range(0)]


def shared(work: Callable[[int], Any], parts: Sequence[range], *, here: Callable[[int], Any] | None = None) -> Iterator[Any]:
    """What `work` gives for each number, in order; another process does each part but the first.

    `here` does the work in this process, where that is done otherwise. What another process failed to do is done here, so an
    error of `here` is the one that a single process would meet. What `work` gives must be picklable.
    Raises: what `here` raises.
    """
    here = here or work
    own, *others = parts
    children: list[Child | None] = []
    try:
        children += [_child(work, part) for part in others]
        yield from map(here, own)
        for child, part in zip(children, others, strict=True):
            done = (child and child.join()) or {}
            for number in part:
                yield done.pop(number) if number in done else here(number)
    finally:
        for child in children:
            if child:
                child.end()


def _child(work: Callable[[int], Any], part: Iterable[int]) -> Child | None:
    """The process that does a part; None where there can be none, for want of memory or because there are too many."""
    parent = os.getpid()
    try:
        return Child(lambda: _done(work, part, parent))
    except OSError:
        return None


def _done(work: Callable[[int], Any], part: Iterable[int], parent: int) -> dict[int, Any]:
    done = {}
    for number in part:
        if os.getppid() != parent:
            break  # it was killed, and nobody waits any more
        try:
            done[number] = work(number)
        except Exception:  # noqa: BLE001, S112  the other process meets the same, and says so in its turn
            continue
    return done


class Child:
    """Another process that does some work, and the pipe on which it says what came of it."""

    def __init__(self, work: Callable[[], Any]) -> None:
        """Raises: OSError where there can be no other process."""
        self.pid = 0
        self.source, target = os.pipe()
        mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, ENDING)  # who is interrupted here would not know of the child
        try:
            self.pid = os.fork()
            if not self.pid:
                _say(work, target, mask)
        except OSError:
            os.close(self.source)
            raise
        finally:
            os.close(target)
            self._unblock(mask)

    def _unblock(self, mask: set[int]) -> None:
        try:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """End the process, whatever it does, unless it has ended."""
        if self.pid:
            os.kill(self.pid, _signal.SIGKILL)
            self._close()

    def join(self) -> Any:
        """What came of the work; None where the process died before it had said so."""
        from pickle import UnpicklingError, loads

        with os.fdopen(self.source, "rb", closefd=False) as source:
            data = source.read()
        self._close()
        try:
            return loads(data) if data else None  # noqa: S301  our own process wrote it
        except (EOFError, UnpicklingError):
            return None

    def _close(self) -> None:
        pid, self.pid = self.pid, 0
        os.close(self.source)
        os.waitpid(pid, 0)


def _say(work: Callable[[], Any], target: int, mask: set[int]) -> NoReturn:
    """Do the work in this process, which ends with it, and say what came of it."""
    try:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
        done = work()
        from pickle import dumps

        with os.fdopen(target, "wb") as out:
            out.write(dumps(done))
    finally:  # whatever happens, this process ends here; where it said nothing, the other does its work
        os._exit(0)
