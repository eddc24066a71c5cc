"""What rendering costs, as ratios: every figure is the median of pairs that ran one after the other.

    python bench/run.py                       1,000 resources, and starting up
    python bench/run.py --sizes 20 10000      other sizes
    python bench/run.py --sizes 100000 --alone    without the YAML round trip beside it, which takes minutes there

Two comparisons, each of whole processes that read the same bytes on stdin:

    render    the function, all VMs rendered, against PyYAML's C loader and C dumper alone (yaml.load, yaml.dump)
    start     the console script with 20 resources, against `python -c pass`
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

GENERATE = Path(__file__).with_name("generate.py")
ROUND_TRIP = (
    "import sys, yaml; yaml.dump(yaml.load(sys.stdin.buffer, Loader=yaml.CSafeLoader), sys.stdout, Dumper=yaml.CSafeDumper)"
)
PLAIN = [sys.executable, "-c", ROUND_TRIP]
NOTHING = [sys.executable, "-c", "pass"]

# pip compiles what it installs; an editable install is compiled by its first run, unless the environment forbids it.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

# What the project wants to hold: time and memory of `render`, time of `start`.
TARGET_RENDER, TARGET_START = 0.6, 5.0


class Cost(NamedTuple):
    """One process: wall and CPU in seconds, peak memory in MiB."""

    wall: float
    cpu: float
    peak: float


def function() -> list[str]:
    """The console script beside this interpreter, else the one on the PATH."""
    beside = Path(sys.executable).with_name("kubevirt-render")
    found = str(beside) if beside.exists() else shutil.which("kubevirt-render")
    if not found:
        sys.exit("kubevirt-render is not installed here: pip install -e .")
    return [found]


def measure(command: list[str], source: Path, output: Path) -> Cost:
    """What the command cost, reading `source` and writing `output`.

    This process stays small (no bundle is read here), because Linux counts a parent's memory into the child's peak.
    """
    with source.open("rb") as stdin, output.open("wb") as stdout:
        began = time.perf_counter()
        child = subprocess.Popen(command, stdin=stdin, stdout=stdout, env=ENVIRONMENT)
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{' '.join(command)} failed with exit code {child.returncode}")
    return Cost(wall=wall, cpu=used.ru_utime + used.ru_stime, peak=used.ru_maxrss / 1024)


def pairs(one: list[str], other: list[str], *, source: Path, output: Path, rounds: int) -> tuple[list[Cost], list[Cost]]:
    """`rounds` costs of each command, taken in turn after one run of each that isn't counted."""
    for command in (one, other):
        measure(command, source, output)
    both = [(measure(one, source, output), measure(other, source, output)) for _ in range(rounds)]
    return [pair[0] for pair in both], [pair[1] for pair in both]


def ratio(ones: list[Cost], others: list[Cost], field: str) -> float:
    """The median of the pairs' ratios."""
    return median(getattr(one, field) / getattr(other, field) for one, other in zip(ones, others, strict=True))


def middle(costs: list[Cost]) -> str:
    wall, cpu, peak = (median(getattr(cost, field) for cost in costs) for field in Cost._fields)
    return f"{wall * 1000:,.0f} ms wall, {cpu * 1000:,.0f} ms CPU, {peak:,.1f} MiB"


def make(count: int, folder: Path) -> Path:
    """A file with a bundle of `count` resources."""
    path = folder / f"{count}.yaml"
    with path.open("wb") as out:
        subprocess.run([sys.executable, GENERATE, str(count)], stdout=out, check=True)
    return path


def left_as_reference(output: Path) -> int:
    """How many VMs of a rendered bundle still refer to an instancetype."""
    with output.open("rb") as lines:
        return sum(line.rstrip() == b"    instancetype:" for line in lines)


def render(count: int, folder: Path, *, rounds: int, alone: bool) -> None:
    """Print what rendering `count` resources costs."""
    source, output = make(count, folder), folder / "out.yaml"
    size = source.stat().st_size
    print(f"render {count:,} resources, {size / 1e6:,.1f} MB, {count * 7 // 10:,} VMs rendered")
    measure(function(), source, output)
    if left := left_as_reference(output):
        sys.exit(f"{left} VMs were left unrendered")
    if alone:
        own = [measure(function(), source, output) for _ in range(rounds)]
    else:
        own, plain = pairs(function(), PLAIN, source=source, output=output, rounds=rounds)
    wall = median(cost.wall for cost in own)
    print(f"  function    {middle(own)}; {count / wall:,.0f} resources/s, {size / 1e6 / wall:,.1f} MB/s")
    if not alone:
        print(f"  round trip  {middle(plain)}")
        figures = ", ".join(f"{field} {ratio(own, plain, field):.2f}" for field in Cost._fields)
        print(f"  ratio       {figures}   (wanted: {TARGET_RENDER} at most)")


def start(folder: Path, *, rounds: int) -> None:
    """Print what starting up costs."""
    source, output = make(20, folder), folder / "out.yaml"
    own, nothing = pairs(function(), NOTHING, source=source, output=output, rounds=rounds)
    print("start with 20 resources")
    print(f"  function    {middle(own)}")
    print(f"  python      {middle(nothing)}")
    figures = ", ".join(f"{field} {ratio(own, nothing, field):.2f}" for field in ("wall", "cpu"))
    print(f"  ratio       {figures}   (wanted: {TARGET_START:g} at most)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000], metavar="N", help="resources; 1000 unless told")
    parser.add_argument("--rounds", type=int, default=9, help="pairs of a size; 9 unless told")
    parser.add_argument("--short", action="store_true", help="3 pairs, for a quick look")
    parser.add_argument("--alone", action="store_true", help="only the function, nothing beside it")
    told = parser.parse_args()
    rounds = 3 if told.short else told.rounds
    with tempfile.TemporaryDirectory() as name:
        for count in told.sizes:
            render(count, Path(name), rounds=rounds, alone=told.alone)
        start(Path(name), rounds=rounds * 5)


if __name__ == "__main__":
    main()
