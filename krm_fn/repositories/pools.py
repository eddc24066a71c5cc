"""Work for units that several processes share. A process that dies loses nothing: what it had to do is done again."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from krm_fn.base.errors import InputError

SELDOM = (50_000, 10, 10)  # after how many new objects cycles are looked for, as `gc.set_threshold` takes it
CHUNK = 8  # pieces of work that a process takes at once, where there are many
# Where processes are not forked, Python starts a new one with `-c`, which would import modules of the folder it starts in.
SAFE_PATH = "PYTHONSAFEPATH"
# The pieces of work of a pool, and what a process of it was given to work with; both are set once, when the process starts.
_pieces: Sequence[Any] = ()
_given: tuple[Any, ...] = ()


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def mapped(
    work: Callable[..., Any],
    pieces: Sequence[Any],
    jobs: int,
    *,
    named: Callable[[Any], str],
    given: tuple[Any, ...] = (),
) -> Iterator[Any]:
    """What the work gives for each piece and what is `given` to each process, in order.

    After a process died, all that is not done is begun again with smaller parts, at last piece by piece.
    Raises: InputError that names a piece whose process dies each time, and what the work raises.
    """
    jobs = min(jobs, len(pieces))
    if jobs <= 1:
        with tidied():
            yield from (work(piece, *given) for piece in pieces)
        return
    from concurrent.futures.process import BrokenProcessPool  # most commands need no second process

    rest, chunk = pieces, max(1, min(CHUNK, len(pieces) // (4 * jobs)))
    while rest:
        done = 0
        try:
            for found in _shared(work, rest, jobs, chunk, given):
                yield found
                done += 1
        except BrokenProcessPool:
            if not done and chunk == 1 and jobs == 1:
                what = named(rest[0])
                raise InputError(f"{what}: the process that checked it died twice; it may need more memory") from None
            jobs, chunk = (1, 1) if not done and chunk == 1 else (jobs, 1)
        rest = rest[done:]


def _shared(work: Callable[..., Any], pieces: Sequence[Any], jobs: int, chunk: int, given: tuple[Any, ...]) -> Iterator[Any]:
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor

    parts = [range(at, min(at + chunk, len(pieces))) for at in range(0, len(pieces), chunk)]
    # forked processes have the pieces already, where nothing has to be written and read for each
    with _safe(), ProcessPoolExecutor(min(jobs, len(parts)), initializer=_begin, initargs=(pieces, given)) as pool:
        # `pool.map` would cancel what waits while a dead process makes all of that fail, which breaks the pool
        waiting = [pool.submit(_each, work, part) for part in parts][::-1]
        try:
            while waiting:
                yield from waiting.pop().result()
        except BrokenProcessPool:
            raise
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


@contextmanager
def _safe() -> Iterator[None]:
    """New processes of Python import nothing of the folder they start in."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = before


def _each(work: Callable[..., Any], numbers: range) -> list[Any]:
    return [work(_pieces[number], *_given) for number in numbers]


def _begin(pieces: Sequence[Any], given: tuple[Any, ...]) -> None:
    """What each process does first: see to it that it does not outlive the one that started it, which may be killed."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    gc.set_threshold(*SELDOM)
    gc.enable()
    global _pieces, _given
    _pieces, _given = pieces, given


@contextmanager
def tidied() -> Iterator[None]:
    """Cycles of objects are looked for, but seldom: the command turns that off, and here it would take all memory in time."""
    was_on, before = gc.isenabled(), gc.get_threshold()
    gc.set_threshold(*SELDOM)
    gc.enable()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not was_on:
            gc.disable()


def _end_with_parent() -> None:
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent:
        parent.join()
        os._exit(1)
