"""Work that several processes share. Each does a part, and the results are joined in order."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` itself creates enums, which takes longer than some runs
import os
from bisect import bisect_left
from itertools import accumulate, pairwise

from krm_fn.base.annotations import Any, Callable, Iterable, Iterator, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


ENDING = tuple(getattr(_signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(_signal, name))


def processes() -> int:
    """The number of processes that share the work."""
    return min(2, len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") and hasattr(os, "fork") else 1


def parted(weights: Sequence[int], least: int) -> list[range]:
    """The numbers of the weights, in one part for each process. The first part is for this process.

    `weights` say how much work each number is. A second process starts only if their sum is at least `least`.
    """
    return cut(weights, processes() if sum(weights) >= least else 1)


def cut(weights: Sequence[int], count: int) -> list[range]:
    """The numbers of the weights in at least one and at most `count` parts of about the same weight."""
    sums = list(accumulate(weights))
    ends = [bisect_left(sums, sums[-1] * part / count) + 1 for part in range(1, count)] if sums else []
    found = [range(start, end) for start, end in pairwise([0, *ends, len(sums)]) if start < end]
    return found or [range(0)]


def shared(work: Callable[[int], Any], parts: Sequence[range], *, here: Callable[[int], Any] | None = None) -> Iterator[Any]:
    """The results of `work` for each number, in order. Other processes do each part except the first.

    `here` does the work in this process, if it is done in another way here. If another process fails at a number, this process
    does that work. So an error of `here` is the one that a single process would raise. The results of `work` must be picklable.
    Raises: the exceptions of `here`.
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
    """The process that does a part; None if it cannot start, because there is no memory or there are too many processes."""
    parent = os.getpid()
    try:
        return Child(lambda: _done(work, part, parent))
    except OSError:
        return None


def _done(work: Callable[[int], Any], part: Iterable[int], parent: int) -> dict[int, Any]:
    done = {}
    for number in part:
        if os.getppid() != parent:
            break  # the parent was killed, so nobody waits for the result
        try:
            done[number] = work(number)
        except Exception:  # noqa: BLE001, S112  the parent tries the same number again, and reports the error
            continue
    return done


class Child:
    """Another process that does some work, and the pipe through which it returns the result."""

    def __init__(self, work: Callable[[], Any]) -> None:
        """Raises: OSError if no other process can start."""
        self.pid = 0
        self.source, target = os.pipe()
        mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, ENDING)  # a signal handler here would not know the child yet
        try:
            self.pid = os.fork()
            if not self.pid:
                _send(work, target, mask)
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
        """End the process, unless it has ended."""
        if self.pid:
            os.kill(self.pid, _signal.SIGKILL)
            self._close()

    def join(self) -> Any:
        """The result of the work; None if the process died before it had sent the result."""
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


def _send(work: Callable[[], Any], target: int, mask: set[int]) -> NoReturn:
    """Do the work in this process, send the result, and end the process."""
    try:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
        done = work()
        from pickle import dumps

        with os.fdopen(target, "wb") as out:
            out.write(dumps(done))
    finally:  # in every case this process ends here; if it sent nothing, the parent does its work
        os._exit(0)
