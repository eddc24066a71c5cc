"""Other programs that build objects, such as kustomize: how to find them, limit their time, and end all their processes.

The author of what they build may not be allowed to run programs here. So a program is never taken from a relative folder on
the PATH, which may be the folder that is built. And git, which kustomize calls for remote bases, may not use local protocols:
with them, a base such as `file:///x?ref=--upload-pack=COMMAND` runs a command.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

from krm_fn.base.workers import ENDING

# Most commands start no program. So what starts one is imported there.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    import tempfile

# The seconds that a program has to end after it gets a signal.
GRACE = 2.0
# The protocols that git may use for remote bases, unless the environment sets them.
GIT = {"GIT_ALLOW_PROTOCOL": "git:http:https:ssh"}
# The kernel accepts no longer interpreter in the first line of a script, and none with spaces.
LONGEST_INTERPRETER = 120


class OvertimeError(Exception):
    """A program has not ended in its time."""


def find(name: str, path: str | None = None) -> str | None:
    """The absolute path of a program on the PATH, or None. Relative folders on the PATH are skipped."""
    import shutil

    folders = (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep)
    return shutil.which(name, path=os.pathsep.join(filter(os.path.isabs, folders)))


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A new folder for what a program writes while it builds. It is removed at the end, also if the program was stopped."""
    import tempfile

    return tempfile.TemporaryDirectory(prefix="kubevirt-render-", ignore_cleanup_errors=True)


class Finished(NamedTuple):
    """A program that has ended: its exit code and its stdout; `complaints` is its stderr, if that was kept."""

    code: int
    out: bytes
    complaints: bytes


def finished(
    program: str,
    words: Sequence[str],
    *,
    environment: Mapping[str, str],
    timeout: float,
    folder: Path | None = None,
    given: bytes | None = None,
    quiet: bool = False,
    memory: int = 0,
    output: int = 0,
) -> Finished:
    """Run a program to its end, without a terminal. Its stdin is `given`, or empty.

    Its stderr goes directly to ours, unless `quiet` keeps it. `memory` is how many bytes it may have, and `output` how many it
    may print before it is killed, as far as the system can tell; 0 is any number.

    Raises: OvertimeError.
    """
    import subprocess
    import tempfile

    with (
        tempfile.TemporaryFile() if output else nullcontext() as printed,
        _held_signals() as deliver,
        subprocess.Popen(  # noqa: S603  `find` found it
            [program, *words],
            cwd=folder,
            env={**GIT, **environment},
            stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
            stdout=printed or subprocess.PIPE,
            stderr=subprocess.PIPE if quiet else None,
            start_new_session=True,
        ) as process,
    ):
        try:
            deliver()
            _limit(process.pid, "RLIMIT_DATA", memory)
            _limit(process.pid, "RLIMIT_FSIZE", output)
            out, complaints = process.communicate(given, timeout=timeout)
        except subprocess.TimeoutExpired:
            raise OvertimeError from None
        finally:
            _end(process)
        if printed and process.returncode == 0:
            printed.seek(0)
            out = printed.read()
    return Finished(process.returncode, out or b"", complaints or b"")


def _limit(process: int, name: str, most: int) -> None:
    """Let a process that starts have no more of something than this. Only Linux can."""
    with suppress(ImportError, AttributeError, OSError):
        import resource

        if most:
            resource.prlimit(process, getattr(resource, name), (most, most))


@contextmanager
def _held_signals() -> Iterator[Callable[[], None]]:
    """Hold the signals that end this process back, until the given function is called or the block ends.

    While a program starts, nobody could end it yet: what a handler raises would leave it running. Only the main thread handles
    signals. Blocked signals would stay blocked in the program.
    """
    came: list[int] = []
    handlers: dict[int, Any] = {}

    def deliver() -> None:
        while handlers:
            signal.signal(*handlers.popitem())
        while came:
            signal.raise_signal(came.pop())

    try:
        if threading.current_thread() is threading.main_thread():
            for number in ENDING:
                if callable(handler := signal.getsignal(number)):
                    handlers[number] = handler
                    signal.signal(number, lambda number, _: came.append(number))
        yield deliver
    finally:
        deliver()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all processes that it started, also if the process itself has ended."""
    import subprocess

    with suppress(ProcessLookupError, PermissionError):  # none of them is left
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
        os.killpg(process.pid, signal.SIGKILL)


def script(interpreter: str, text: str) -> str:
    """The text of an executable file that this Python interpreter runs."""
    if " " in interpreter or len(interpreter) > LONGEST_INTERPRETER:
        return f"#!/bin/sh\n'''exec' \"{interpreter}\" \"$0\" \"$@\"\n' '''\n{text}"
    return f"#!{interpreter}\n{text}"
