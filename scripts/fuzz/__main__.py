"""Holds the program against its laws, on lists and on trees of files that were changed at random.

    python scripts/fuzz                                          10,000 lists and 500 trees
    python scripts/fuzz --seconds 60                             as many as fit into a minute, half of it for each
    python scripts/fuzz lists --count 1000000 --state .cache/fuzz   writes down how far it is; the same call goes on from there
    python scripts/fuzz trees --only 4711                        one mutant: prints it and what is wrong with it

Of a list three answers are made: by the function, with all items read at once, and with libyaml as the reader of all. The
laws are in `readers.py`. A tree is what a stranger may push, and one command works on it; the laws are in `laws.py`. The same
seed and files give the same mutants.

Exit code 0: all laws hold. 1: a law is broken; each such mutant is printed, cut down to the lines that it takes, and written to
the state's folder. The next run with that folder tries it again first.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

SLOW = 20  # seconds of CPU for one mutant; most take a few milliseconds
STUCK = 100  # seconds for one mutant, in which programs may do the work
CUTTING = 300  # seconds to cut down one mutant
EVERY = 15  # seconds between two lines of progress
DEFAULT = {"lists": 10_000, "trees": 500}


class TooSlow(BaseException):
    """No error of the program: its handlers must not take it."""


class Mutants(Protocol):
    """Mutants by number, in parts that a mutant can do without: of a list, its lines. `tries`: while one is cut down."""

    tries: int

    def made(self, number: int) -> list[Any]:
        """The parts of a mutant."""

    def judged(self, number: int, parts: list[Any]) -> tuple[str, bool]:
        """The law that it breaks, "" where all hold, and whether it can be read."""

    def shown(self, number: int, parts: list[Any]) -> bytes:
        """The mutant for people."""


class Lists:
    """Lists, which every way through the function answers."""

    tries = 400

    def __init__(self, seed: str) -> None:
        import mutants
        import readers
        import seeds

        self._seed, self._mutants, self._readers, self._known = seed, mutants, readers, seeds.load()

    def made(self, number: int) -> list[Any]:
        return list(self._mutants.mutant(self._known, self._seed, number).split(b"\n"))

    def judged(self, _number: int, parts: list[Any]) -> tuple[str, bool]:
        return self._readers.judged(b"\n".join(parts))

    def shown(self, _number: int, parts: list[Any]) -> bytes:
        return b"\n".join(parts)


class Trees:
    """Trees of files, on which a command works."""

    tries = 60

    def __init__(self, seed: str) -> None:
        import laws
        import strangers
        import watching

        self._seed, self._laws, self._trees = seed, laws, strangers
        self._folder = tempfile.TemporaryDirectory(prefix="fuzz-")
        self._world = watching.World(Path(self._folder.name) / "world")

    def made(self, number: int) -> list[Any]:
        return self._trees.parts(self._trees.tree(self._seed, number, self._world)[0])

    def judged(self, number: int, parts: list[Any]) -> tuple[str, bool]:
        command = self._trees.tree(self._seed, number, self._world)[1]
        self._world.clear()
        self._trees.write(self._trees.joined(parts), self._world.tree)
        seen = self._world.watch(command, trace=number % TRACED == 0)
        return self._laws.broken(self._world, command, seen), not seen.code

    def shown(self, number: int, parts: list[Any]) -> bytes:
        command = self._trees.tree(self._seed, number, self._world)[1]
        files = (f"--- {name}\n{text}\n" for name, text in self._trees.joined(parts).items())
        return f"{' '.join(command.words)}\n{''.join(files)}".encode(errors="surrogatepass")


MUTANTS: dict[str, Callable[[str], Mutants]] = {"lists": Lists, "trees": Trees}
TRACED = 20  # one in so many trees has its programs traced, which takes several times as long


def main() -> int:
    arguments = _arguments()
    for number in (signal.SIGVTALRM, signal.SIGALRM):
        signal.signal(number, _interrupt)
    began = time.monotonic()
    if arguments.only is not None:
        return _one(MUTANTS[arguments.what or "lists"](arguments.seed), arguments.only)
    chosen = [arguments.what] if arguments.what else [*MUTANTS]
    gc.freeze()
    share = arguments.seconds / len(chosen) if arguments.seconds else math.inf
    return max([_run(what, arguments, began + share * place) for place, what in enumerate(chosen, 1)])


def _one(of: Mutants, number: int) -> int:
    parts = of.made(number)
    sys.stdout.buffer.write(of.shown(number, parts))
    print(f"--- {judged(of, number, parts)[0] or 'all laws hold'}")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python scripts/fuzz", description=__doc__.split("\n\n")[0])
    parser.add_argument("what", nargs="?", choices=[*MUTANTS], help="what is changed (default: both, one after the other)")
    parser.add_argument("--count", type=int, help="mutants in all, earlier runs of the state included")
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--seed", default="1", help="any text; another one gives other mutants (default: 1)")
    parser.add_argument("--state", type=Path, help="a folder that keeps how far it is, and the mutants that break a law")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="print the mutant of this number and the law it breaks")
    parser.add_argument("--most", type=int, default=20, help="give up after so many broken laws (default: 20)")
    return parser.parse_args()


def _run(what: str, arguments: argparse.Namespace, until: float) -> int:
    """`until` is a time of the monotonic clock, at which the run ends."""
    mutants = MUTANTS[what](arguments.seed)
    state = _State(mutants, arguments.seed, arguments.state and arguments.state / what)
    state.failures = [number for number in state.failures if judged(mutants, number, mutants.made(number))[0]]
    most = arguments.count or (DEFAULT[what] if until == math.inf else sys.maxsize)
    told, told_at = time.monotonic(), state.next
    while state.next < most and len(state.failures) < arguments.most and (now := time.monotonic()) < until:
        if now - told >= EVERY:
            print(f"{state.next:,} {what}, {state.figures}, {(state.next - told_at) / (now - told):.0f} a second", flush=True)
            told, told_at = now, state.next
            state.save()
        state.take(until)
    state.save()
    print(f"{state.next:,} {what} of seed {arguments.seed}: {state.figures}", flush=True)
    return int(bool(state.failures))


class _State:
    """How far a run is, and what it found."""

    def __init__(self, mutants: Mutants, seed: str, folder: Path | None) -> None:
        self._mutants, self._seed, self._folder = mutants, seed, folder
        self.next = self.read = 0
        self.failures: list[int] = []
        if folder and (folder / "state.json").exists():
            held = json.loads((folder / "state.json").read_text())
            if held.get("seed") == seed:
                self.next, self.read, self.failures = held["next"], held["read"], held["failures"]

    @property
    def figures(self) -> str:
        return f"{self.read:,} of them readable, {len(self.failures)} break a law"

    def take(self, until: float) -> None:
        """Judge the next mutant, and tell of the law that it breaks."""
        parts = self._mutants.made(self.next)
        law, readable = judged(self._mutants, self.next, parts)
        if law:
            self.failures.append(self.next)
            self._tell(law, self._mutants.shown(self.next, cut_down(self._mutants, self.next, parts, law, until)))
        self.read += readable
        self.next += 1

    def save(self) -> None:
        if self._folder:
            self._folder.mkdir(parents=True, exist_ok=True)
            held: dict[str, Any] = {"seed": self._seed, "next": self.next, "read": self.read, "failures": self.failures}
            partial = self._folder / "state.json.part"
            partial.write_text(json.dumps(held))
            partial.replace(self._folder / "state.json")

    def _tell(self, law: str, shown: bytes) -> None:
        print(f"mutant {self.next}: {law}\n{shown.decode(errors='backslashreplace')}", flush=True)
        if self._folder:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / f"{self.next}.yaml").write_bytes(shown)


def judged(of: Mutants, number: int, parts: list[Any]) -> tuple[str, bool]:
    """The law that a mutant breaks, "" where all hold, and whether it can be read.

    An exception breaks a law, and so does a run without end.
    """
    signal.setitimer(signal.ITIMER_VIRTUAL, SLOW)
    signal.setitimer(signal.ITIMER_REAL, STUCK)
    try:
        return of.judged(number, parts)
    except TooSlow:
        return f"it takes longer than {SLOW} seconds", False
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001  any is a finding, also a panic of a library in Rust
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(last.filename).name}:{last.name}: {error}", False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def cut_down(of: Mutants, number: int, parts: list[Any], law: str, until: float) -> list[Any]:
    """The mutant without the parts that it can do without and still break the same law, as far as the time goes."""
    size, tries, until = 16, 0, min(until, time.monotonic() + CUTTING)
    kind = law[:20]
    while size:
        at = 0
        while at < len(parts) and tries < of.tries and time.monotonic() < until:
            fewer = parts[:at] + parts[at + size :]
            tries += 1
            if judged(of, number, fewer)[0].startswith(kind):
                parts = fewer
            else:
                at += size
        size //= 2
    return parts


def _interrupt(*_: Any) -> None:
    raise TooSlow


if __name__ == "__main__":
    sys.exit(main())
