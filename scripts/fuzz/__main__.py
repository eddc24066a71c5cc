"""Holds every way through the function against the others, on lists that were changed at random.

    python scripts/fuzz                                          10,000 mutants
    python scripts/fuzz --seconds 60                             as many as fit into a minute
    python scripts/fuzz --count 1000000 --state .cache/fuzz      writes down how far it is; the same call goes on from there
    python scripts/fuzz --only 4711                              one mutant: prints it and what is wrong with it

Of every mutant three answers are made: by the fast path, by the slow path, and by the slow path with libyaml as its reader. The
laws are in `readers.py`. The same seed and files give the same mutants.

Exit code 0: all laws hold. 1: a law is broken; each such mutant is printed, cut down to the lines that it takes, and written to
the state's folder. The next run with that folder tries it again first.
"""

from __future__ import annotations

import argparse
import gc
import json
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NamedTuple

import mutants
import readers
import seeds

SLOW = 20  # seconds of CPU for one mutant; most take a few milliseconds
EVERY = 15  # seconds between two lines of progress
TRIES = 400  # while a mutant is cut down


class TooSlow(BaseException):
    """No error of the program: its handlers must not take it."""


class Failure(NamedTuple):
    """A mutant and the law that it breaks."""

    number: int
    law: str
    data: bytes


def main() -> int:
    arguments = _arguments()
    known = seeds.load()
    signal.signal(signal.SIGVTALRM, _interrupt)
    if arguments.only is not None:
        data = mutants.mutant(known, arguments.seed, arguments.only)
        sys.stdout.buffer.write(data)
        print(f"--- {judged(data)[0] or 'all laws hold'}")
        return 0
    gc.freeze()
    return _run(known, arguments)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python scripts/fuzz", description=__doc__.split("\n\n")[0])
    parser.add_argument("--count", type=int, help="mutants in all, earlier runs of the state included (default: 10,000)")
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--seed", default="1", help="any text; another one gives other mutants (default: 1)")
    parser.add_argument("--state", type=Path, help="a folder that keeps how far it is, and the mutants that break a law")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="print the mutant of this number and the law it breaks")
    parser.add_argument("--most", type=int, default=20, help="give up after so many broken laws (default: 20)")
    found = parser.parse_args()
    if found.count is None:
        found.count = sys.maxsize if found.seconds else 10_000
    return found


def _run(known: seeds.Seeds, arguments: argparse.Namespace) -> int:
    state = _State(arguments.seed, arguments.state)
    state.failures = [number for number in state.failures if judged(mutants.mutant(known, arguments.seed, number))[0]]
    began = time.monotonic()
    told, told_at = began, state.next
    while state.next < arguments.count and len(state.failures) < arguments.most:
        now = time.monotonic()
        if arguments.seconds and now - began >= arguments.seconds:
            break
        if now - told >= EVERY:
            print(f"{state.next:,} mutants, {state.figures}, {(state.next - told_at) / (now - told):.0f} a second", flush=True)
            told, told_at = now, state.next
            state.save()
        data = mutants.mutant(known, arguments.seed, state.next)
        state.take(data, *judged(data))
    state.save()
    print(f"{state.next:,} mutants of seed {arguments.seed}: {state.figures}")
    return int(bool(state.failures))


class _State:
    """How far a run is, and what it found."""

    def __init__(self, seed: str, folder: Path | None) -> None:
        self.seed, self.folder = seed, folder
        self.next = self.read = 0
        self.failures: list[int] = []
        if folder and (folder / "state.json").exists():
            held = json.loads((folder / "state.json").read_text())
            if held.get("seed") == seed:
                self.next, self.read, self.failures = held["next"], held["read"], held["failures"]

    @property
    def figures(self) -> str:
        return f"{self.read:,} of them readable, {len(self.failures)} break a law"

    def take(self, data: bytes, law: str, readable: bool) -> None:
        """Count a mutant, and tell of the law that it breaks."""
        if law:
            self.failures.append(self.next)
            self._tell(Failure(self.next, law, cut_down(data, law)))
        self.read += readable
        self.next += 1

    def save(self) -> None:
        if self.folder:
            self.folder.mkdir(parents=True, exist_ok=True)
            held: dict[str, Any] = {"seed": self.seed, "next": self.next, "read": self.read, "failures": self.failures}
            partial = self.folder / "state.json.part"
            partial.write_text(json.dumps(held))
            partial.replace(self.folder / "state.json")

    def _tell(self, failure: Failure) -> None:
        print(f"mutant {failure.number}: {failure.law}\n{failure.data!r}", flush=True)
        if self.folder:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / f"{failure.number}.yaml").write_bytes(failure.data)


def judged(data: bytes) -> tuple[str, bool]:
    """The law that a list breaks, "" where all hold, and whether it can be read.

    An exception breaks a law, and so does a run without end.
    """
    signal.setitimer(signal.ITIMER_VIRTUAL, SLOW)
    try:
        return readers.judged(data)
    except TooSlow:
        return f"it takes longer than {SLOW} seconds", False
    except Exception as error:  # noqa: BLE001  any is a finding
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(last.filename).name}:{last.name}: {error}", False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def cut_down(data: bytes, law: str) -> bytes:
    """The list without the lines that it can do without and still break the same law."""
    lines, size, tries = data.split(b"\n"), 16, 0
    kind = law[:20]
    while size:
        at = 0
        while at < len(lines) and tries < TRIES:
            fewer = lines[:at] + lines[at + size :]
            tries += 1
            if judged(b"\n".join(fewer))[0].startswith(kind):
                lines = fewer
            else:
                at += size
        size //= 2
    return b"\n".join(lines)


def _interrupt(*_: Any) -> None:
    raise TooSlow


if __name__ == "__main__":
    sys.exit(main())
