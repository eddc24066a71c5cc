"""Units judged by the workers of a Dask cluster. What they do not give is worked out here, so nothing is lost with a worker.

Dask itself gives the work of a worker that dies to another one. Only so many shipments are under way as keep all workers busy.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import krm_fn
from krm_fn.base.errors import UsageError
from krm_fn.repositories import building, pools
from krm_fn.repositories.loading import Options, UnitPiece
from krm_fn.repositories.sharing import Offered
from krm_fn.repositories.shipping import Parcel, Shipment, packed, parcel, unpacked

Part = list[tuple[UnitPiece, Parcel | None]]
Here = Callable[[Sequence[UnitPiece], int], Iterator[Any]]


PATIENCE = 20.0  # seconds for the scheduler to answer
FIRST = 20.0  # seconds for a first worker to be there
GONE = 60.0  # seconds without any worker after which none is waited for
PAUSE = 0.5  # seconds between looks whether a worker is there
RETRIES = 2  # of a shipment; Dask itself gives up one after which several workers died
FEW, MANY = 4, 32  # units of a shipment: a process starts for each shipment, and what it gives waits for the last unit
LARGE = 4_000_000  # bytes of files, with which a shipment is large enough
AHEAD = 3  # shipments under way for each thread of a worker
NO_BUILDER = "neither kustomize nor kubectl"
PROGRAM = "from krm_fn.repositories.shipping import main; main()"


class Identity(NamedTuple):
    """What has to be the same here and on all workers: programs with their versions."""

    program: str
    python: str
    builder: str


class Sent(NamedTuple):
    """A shipment under way: the numbers of its units, and the future of what comes of them; None where nothing was sent."""

    numbers: tuple[int, ...] = ()
    future: Any = None


@cache
def identity() -> Identity:
    """What this process is and has."""
    using = building.builder()
    builder = f"{Path(using.program).name} {building.version(using)}" if using else NO_BUILDER
    python = "Python {}.{}".format(*sys.version_info)
    return Identity(f"kubevirt-render {krm_fn.__version__}", python, " ".join(builder.split()))


def judged(shipment: bytes, expected: Identity) -> bytes:
    """What comes of a shipment: a worker calls this. The process that judges it ends with it.

    Raises: RuntimeError on a worker that came later and is another one.
    """
    if different := _difference(identity(), expected):
        raise RuntimeError(different)
    paths = os.pathsep.join(path for path in sys.path if os.path.isabs(path))  # noqa: PTH117
    words = [sys.executable, "-P", "-c", PROGRAM]
    environment = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(  # noqa: S603
        words, input=shipment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, check=True
    ).stdout


class Workers:
    """The workers of one cluster. `note` gets one line where they are lost; `missed` is how often a unit was judged here.

    Raises: UsageError where Dask is not installed, no scheduler or no worker answers, and a worker is not as this machine.
    """

    def __init__(self, address: str, note: Callable[[str], None] = lambda _: None) -> None:
        self._address, self._note, self.missed = address, note, 0
        self._silenced = logging.root.manager.disable
        logging.disable()  # Dask reports every lost connection, at length
        self._client: Any = None
        try:
            self._client = _client(address)
            self._check()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leave the cluster; what is under way is cancelled."""
        client, self._client = self._client, None
        if client:
            with suppress(Exception):
                client.close(timeout=PATIENCE)
        logging.disable(self._silenced)

    def mapped(
        self,
        work: Callable[..., Any],
        pieces: Sequence[UnitPiece],
        given: tuple[Any, ...],
        *,
        jobs: int,
        named: Callable[[UnitPiece], str],
    ) -> Iterator[Any]:
        """What the work gives for each unit, in order. What no worker does is done here. For the rest, see `pools.mapped`.

        `given` are the options of the run, and what the units of each cluster offer, where that is known.
        """

        def here(rest: Sequence[UnitPiece], jobs: int) -> Iterator[Any]:
            return pools.mapped(work, rest, jobs, named=named, given=given)

        options, *offered = given
        with pools.tidied():
            parts = _parts(pieces, self._chunk(len(pieces)), *offered)
            under_way: deque[tuple[list[UnitPiece], Sent]] = deque()
            done = 0
            while self._client:
                while len(under_way) < self._room() and (part := next(parts, None)):
                    under_way.append(([piece for piece, _ in part], self._sent(part, work, options)))
                if not under_way:
                    return
                units, sent = under_way.popleft()
                yield from self._received(units, sent, here)
                done += len(units)
        self.missed += len(pieces) - done
        yield from here(pieces[done:], jobs)

    def _check(self) -> None:
        """Raises: UsageError where a worker is not as this machine, and where there is none."""
        deadline = time.monotonic() + FIRST
        while not (threads := self._threads()):
            if time.monotonic() > deadline:
                fix = f"start some with `dask worker {self._address}`"
                raise UsageError(f"--scheduler: {self._address} has no workers; {fix}")
            time.sleep(PAUSE)
        try:
            found = self._client.run(identity, workers=list(threads), on_error="return")
        except Exception as error:  # noqa: BLE001
            raise UsageError(f"--scheduler: the workers of {self._address} do not answer ({type(error).__name__})") from None
        for worker, each in sorted(found.items()):
            _compare(worker, each, identity())

    def _threads(self) -> dict[str, int]:
        """How many threads each worker has; no worker where the scheduler is gone."""
        try:
            return dict(self._client.nthreads())
        except Exception:  # noqa: BLE001  whatever went wrong with the connection, there is none
            return {}

    def _room(self) -> int:
        return AHEAD * max(1, sum(self._threads().values()))

    def _chunk(self, count: int) -> int:
        """How many units a shipment has: all threads of workers get one where there are enough."""
        room = self._room()
        return min(MANY, max(FEW, count // room), max(1, count * AHEAD // room))

    def _sent(self, part: Part, work: Callable[..., Any], options: Options) -> Sent:
        """The shipment of a part, under way."""
        parcels = {piece.number: each for piece, each in part if each}
        if parcels:
            data = packed(Shipment(os.getcwd(), tuple(parcels.values()), work, options.but(using=None)))  # noqa: PTH109
            with suppress(Exception):
                return Sent(tuple(parcels), self._client.submit(judged, data, identity(), pure=False, retries=RETRIES))
        return Sent()

    def _received(self, units: Sequence[UnitPiece], sent: Sent, here: Here) -> Iterator[Any]:
        """What comes of the units of a part, in order."""
        answers = dict(zip(sent.numbers, self._answer(sent.future), strict=False))
        for piece in units:
            answer = answers.pop(piece.number, None)
            if answer is None:
                self.missed += 1
                yield from here([piece], 1)
            else:
                yield answer

    def _answer(self, future: Any) -> list[Any]:
        """What comes of a shipment; nothing where that fails for good."""
        if future is None:
            return []
        try:
            self._wait(future)
            found: list[Any] = unpacked(future.result(timeout=PATIENCE))
        except Exception:  # noqa: BLE001
            if not self._threads():
                self._give_up()
            return []
        return found

    def _wait(self, future: Any) -> None:
        """Wait for a shipment. Raises: TimeoutError where all workers are gone for too long."""
        done, seen = threading.Event(), time.monotonic()
        future.add_done_callback(lambda _: done.set())
        while not (done.wait(PAUSE) or future.done()):
            if self._threads():
                seen = time.monotonic()
            elif time.monotonic() - seen > GONE:
                raise TimeoutError

    def _give_up(self) -> None:
        self._note(f"no worker of {self._address} answers any more; this machine checks the rest")
        self.close()


def _parts(pieces: Sequence[UnitPiece], chunk: int, offered: Mapping[str, Offered] | None = None) -> Iterator[Part]:
    """The units with what working on them needs, as many together as make one shipment."""
    part: Part = []
    size = 0
    for piece in pieces:
        each = parcel(piece, offered)
        part.append((piece, each))
        size += each.size if each else 0
        if len(part) >= chunk or size >= LARGE:
            yield part
            part, size = [], 0
    if part:
        yield part


def _client(address: str) -> Any:
    """A client of the scheduler. Raises: UsageError."""
    try:
        from distributed import Client
    except ImportError:
        fix = "run `pip install '.[dask]'` in a clone of this program"
        raise UsageError(f"--executor dask: the package distributed is not installed; {fix}") from None
    warnings.filterwarnings("ignore", module=r"distributed\b")
    try:
        return Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError):
        raise UsageError(f"--scheduler: {address} does not answer; expected the address of a Dask scheduler") from None
    except ValueError:
        raise UsageError(f"--scheduler: found {address!r}; expected an address such as tcp://HOST:8786") from None


def _compare(worker: str, found: Any, expected: Identity) -> None:
    """Raises: UsageError where a worker is not as this machine; it names the first difference."""
    if not isinstance(found, Identity):
        raise UsageError(f"worker {worker} can't load kubevirt-render; expected {expected.program}, as on this machine")
    if different := _difference(found, expected):
        raise UsageError(f"worker {worker} has {different}, as on this machine")


def _difference(found: Identity, expected: Identity) -> str:
    """What differs first, "" where nothing does. Where this machine has nothing to build with, no target is built anywhere."""
    pairs = ((there, here) for there, here in zip(found, expected, strict=True) if here not in (there, NO_BUILDER))
    return next((f"{there}; expected {here}" for there, here in pairs), "")
