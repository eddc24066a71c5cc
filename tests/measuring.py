"""Runs of the program whose time and memory count: of the process alone, not of the machine around it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]

# What is measured has a small parent: Linux counts the memory of the one that a process was forked from into its peak. The
# figures are of the process and those it waited for: their time together, the memory of the largest. What takes a minute of a
# processor is killed: that is ten times what any of these runs takes, so a slow machine does not reach it.
LAUNCHER = """
import os, resource, sys
pid = os.fork()
if not pid:
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    os.dup2(os.open("out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
    os.execv(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


def calls(run: Callable[[], object]) -> int:
    """How many functions a run calls: the same on every machine, however slow it is."""
    count = 0

    def note(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count


class Run(NamedTuple):
    """The result of a run, and its cost: seconds of processor time, and megabytes."""

    code: int
    out: bytes
    err: str
    seconds: float
    megabytes: int


def measure(data: bytes, folder: Path, arguments: Sequence[str]) -> Run:
    """The program run in the folder with these arguments, with `data` on its stdin; what it prints goes to the file `out`."""
    program = [sys.executable, "-m", "krm_fn", *arguments]
    command = [sys.executable, "-I", "-S", "-c", LAUNCHER, *program]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder)}  # no cache of earlier runs
    done = subprocess.run(command, input=data, capture_output=True, cwd=folder, check=True, env=environment)
    code, seconds, peak = done.stdout.split()
    return Run(int(code), (folder / "out").read_bytes(), done.stderr.decode(), float(seconds), int(peak) >> 10)
