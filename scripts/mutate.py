"""Shows which changes of krm_fn's logic the tests notice: mutates it at random, one change at a time, and runs the tests.

    python scripts/mutate.py --seed 1 --count 50                 50 mutants; prints a line for each
    python scripts/mutate.py --seed 1 --count 50 --list          prints the mutants alone
    python scripts/mutate.py --seed 1 --count 50 --only 7 12     runs the tests for mutants 7 and 12 of these 50
    python scripts/mutate.py --exclude krm_fn/base               leaves a folder or file out; can be repeated
    python scripts/mutate.py --near                              leaves the last two steps out, which take minutes

The same seed, count and sources give the same mutants (`mutations.py` has the kinds). A module is chosen by its lines, then a
kind of mutation that it has, then a place. All tests run in a copy of the checkout: the sources here never change.

The tests of a mutant run in steps, the nearest first (see `steps`), until one fails. A failure counts only if the same test
then passes without the mutation, and fails again with it. A test that runs longer than --timeout fails, which catches endless
loops. Tests that build, clone or measure are not run. A mutant that survives may be equivalent: no test can notice a change of
speed alone.

Exit code 0: all mutants are caught. 1: some survived.
"""

from __future__ import annotations

import argparse
import compileall
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from mutations import Mutation, applied, changes_logic, mutations

ROOT = Path(__file__).resolve().parents[1]
HOSTS = ".hosts"  # programs and file systems of several GB, with device files that never end: linked, not copied
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "dist", "node_modules", HOSTS)
GENERATED = ("krm_fn/kubevirt/catalogue_names.py",)
# Tests that build a release, clone the repository or measure: slow, and seldom the only ones to notice a change of logic.
SLOW = ("ci", "growth", "release", "suite", "wheel", "zipapp", "image")
IGNORED = tuple(f"--ignore-glob=*/test_{name}.py" for name in SLOW)
BROAD = ("tests/test_examples.py", "tests/test_parity.py", "tests/test_laws.py", "tests/test_main.py", "tests/test_streams.py")
MENTIONS = 8  # test modules that mention a function most often
MEMORY = 6 * 2**30  # bytes; an endless loop must not take those of the machine
PYTEST = (sys.executable, "-m", "pytest", "-x", "-vv", "--tb=no", "-p", "no:cacheprovider")
LIMIT = ("-o", "faulthandler_exit_on_timeout=true", "-o")
FAILED = re.compile(r"^(tests/\S+\.py(?:::.+?)?) (?:FAILED|ERROR)\b|^ERROR (tests/\S+)", re.MULTILINE)
BEGAN = re.compile(r"^(tests/\S+::.+) \Z", re.MULTILINE)  # the last line, where a test takes too long
Tests = tuple[str, ...]  # arguments of pytest


class Mutant(NamedTuple):
    """A mutation of a file; the file relative to the checkout."""

    number: int
    file: str
    mutation: Mutation


def sources(excluded: list[str]) -> list[str]:
    """The modules that can be mutated."""
    files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "krm_fn").rglob("*.py"))
    return [file for file in files if not any(f"{file}/".startswith(f"{prefix}/") for prefix in (*GENERATED, *excluded))]


def chosen(seed: str, count: int, excluded: list[str]) -> list[Mutant]:
    """That many mutants, no two in the same place."""
    rng = Random(seed)  # noqa: S311  nothing is secret
    texts = {file: (ROOT / file).read_bytes() for file in sources(excluded)}
    files, weights = list(texts), [text.count(b"\n") for text in texts.values()]
    found: dict[tuple[str, int, int], Mutant] = {}
    possible_in = cache(mutations)
    while len(found) < count:
        (file,) = rng.choices(files, weights)
        possible = possible_in(texts[file])
        if possible:
            kind = rng.choice(sorted({mutation.kind for mutation in possible}))
            mutation = rng.choice([mutation for mutation in possible if mutation.kind == kind])
            if changes_logic(texts[file], mutation.edit):
                place = (file, mutation.edit.start, mutation.edit.end)
                found.setdefault(place, Mutant(len(found) + 1, file, mutation))
    return list(found.values())


def described(mutant: Mutant) -> str:
    """The mutant's number, its file and line, and the first line that differs, before and after."""
    data = (ROOT / mutant.file).read_bytes()
    old, new = data.decode().splitlines(), applied(data, mutant.mutation.edit).decode().splitlines()
    at = next((at for at, (before, after) in enumerate(zip(old, new, strict=False)) if before != after), len(new) - 1)
    return f"{mutant.number}\t{mutant.file}:{at + 1}\t{mutant.mutation.kind}\t{old[at].strip()}  →  {new[at].strip()}"


def steps(mutant: Mutant, root: Path, *, near: bool = False) -> list[Tests]:
    """The tests of a mutant, the nearest first: of the module, of what names it, of its folder, and two broad sets."""
    tests, path = root / "tests", Path(mutant.file)
    folder = tests / path.relative_to("krm_fn").parent
    while not any(folder.glob("test_*.py")):
        folder = folder.parent
    names = {path.stem, path.parent.name} - {"__init__", "krm_fn", folder.name}
    mirrored = sorted({test for name in names for test in folder.glob(f"test_*{name}*.py")})
    inside = [] if folder == tests else [("--quick", str(folder)), (str(folder),)]
    broad = () if near else (("--quick", "tests"), BROAD)
    return [step for step in (_named(mirrored), _named(_naming(mutant, tests)), *inside, *broad) if step]


def _named(tests: list[Path]) -> Tests:
    return tuple(map(str, tests))


def _naming(mutant: Mutant, tests: Path) -> list[Path]:
    """The test modules that name the mutant's function or rule most often, or else its module."""
    names = (mutant.mutation.owner, mutant.mutation.owner.replace("_", "-"), Path(mutant.file).stem)
    word = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in filter(None, names)))
    counts = Counter({test: len(word.findall(test.read_text())) for test in sorted(tests.rglob("test_*.py"))})
    return [test for test, count in counts.most_common(MENTIONS) if count and test.stem.removeprefix("test_") not in SLOW]


class Copy:
    """A copy of the checkout, in which tests run.

    Python takes a compiled file if it has the time of the source noted. So a source with a mutation gets a time of its own.
    """

    def __init__(self, root: Path, seconds: int, *, near: bool = False) -> None:
        self.root, self._near = root, near
        self._limit = (*LIMIT, f"faulthandler_timeout={seconds}")
        self._broken: set[Tests] = set()  # these fail without a mutation, or not each time
        shutil.copytree(ROOT, root, symlinks=True, ignore=LEFT_OUT, dirs_exist_ok=True)
        if (ROOT / HOSTS).exists():
            (root / HOSTS).symlink_to((ROOT / HOSTS).resolve())
        compileall.compile_dir(str(root / "krm_fn"), quiet=1)
        self._environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
        self._hold_that_the_copy_is_imported()

    def _hold_that_the_copy_is_imported(self) -> None:
        program = [sys.executable, "-c", "import krm_fn; print(krm_fn.__file__)"]
        ran = subprocess.run(program, cwd="/", env=self._environment, capture_output=True, text=True, check=True)
        if not Path(ran.stdout.strip()).is_relative_to(self.root):
            sys.exit(f"the tests would import {ran.stdout.strip()}; expected a file in {self.root}")

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """The copy has the mutation while the block runs."""
        file = self.root / mutant.file
        data, status = file.read_bytes(), file.stat()
        file.write_bytes(applied(data, mutant.mutation.edit))
        os.utime(file, (status.st_atime, status.st_mtime + mutant.number))
        try:
            yield
        finally:
            file.write_bytes(data)
            os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))

    def caught_by(self, mutant: Mutant) -> str:
        """The first test that fails with the mutation, passes without it and fails again with it; "" if there is none."""
        return next(filter(None, (self._caught_in(step, mutant) for step in steps(mutant, self.root, near=self._near))), "")

    def _caught_in(self, step: Tests, mutant: Mutant) -> str:
        failed = self._failing_with(mutant, step)
        if not failed or (not self.failing(failed) and self._failing_with(mutant, failed)):
            return " ".join(failed)
        if failed in self._broken:
            return ""
        print(f"left out, as it fails without a mutation too, or not always: {' '.join(failed)}", file=sys.stderr, flush=True)
        self._broken.add(failed)
        return self._caught_in(step, mutant)

    def _failing_with(self, mutant: Mutant, step: Tests) -> Tests:
        with self.mutated(mutant):
            return self.failing(step)

    def failing(self, step: Tests) -> Tests:
        """The first of these tests that fails or takes too long, or all if it is not known which; none if all pass."""
        left_out = (f"--deselect={test}" for tests in self._broken for test in tests)
        ran = subprocess.run(
            (*PYTEST, *self._limit, *IGNORED, *left_out, *step),
            cwd=self.root,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=limit_memory,
        )
        if ran.returncode in (0, 5):  # 5: no test was chosen
            return ()
        found = FAILED.search(ran.stdout) or BEGAN.search(ran.stdout)
        return tuple(filter(None, found.groups())) if found else step


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def main() -> int:
    arguments = _arguments()
    mutants = chosen(arguments.seed, arguments.count, arguments.exclude)
    taken = [mutant for mutant in mutants if not arguments.only or mutant.number in arguments.only]
    if arguments.list:
        print(*map(described, taken), sep="\n")
        return 0
    survived = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder).resolve(), arguments.timeout, near=arguments.near)
        for mutant in taken:
            test = copy.caught_by(mutant)
            survived += not test
            print(f"{described(mutant)}\t{test or 'SURVIVED'}", flush=True)
    print(f"{len(taken) - survived} of {len(taken)} mutants of seed {arguments.seed} are caught")
    return int(bool(survived))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python scripts/mutate.py", description=__doc__.split("\n\n")[0])
    parser.add_argument("--seed", default="1", help="any text; another one gives other mutants (default: 1)")
    parser.add_argument("--count", type=int, default=50, help="mutants (default: 50)")
    parser.add_argument("--exclude", action="append", default=[], metavar="PATH", help="a folder or file that is not mutated")
    parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER", help="the mutants of these numbers alone")
    parser.add_argument("--near", action="store_true", help="leave out the tests that have nothing to do with the module")
    parser.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    parser.add_argument("--timeout", type=int, default=180, help="seconds that a test may take (default: 180)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
