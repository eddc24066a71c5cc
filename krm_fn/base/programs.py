"""Other programs that make objects, such as kustomize: found on the PATH, given a time, ended with all that they started.

What they build may come from somebody who must not run programs here. So a program is never taken from a relative folder on
the PATH, which may be the folder that is built. And git, which kustomize calls for remote bases, may not use local protocols:
with these, a base such as `file:///x?ref=--upload-pack=COMMAND` runs a command.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from krm_fn.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Seconds that a program which was asked to end may take.
GRACE = 2.0
# What git may use for remote bases, unless the environment says otherwise.
GIT = {"GIT_ALLOW_PROTOCOL": "git:http:https:ssh"}
# The kernel takes no longer interpreter in a script's first line, and none with blanks.
LONGEST_INTERPRETER = 120


def find(name: str, path: str | None = None) -> str | None:
    """The absolute path of a program on the PATH, None where it is not there. Relative folders on the PATH are passed over."""
    folders = (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep)
    return shutil.which(name, path=os.pathsep.join(filter(os.path.isabs, folders)))


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A new folder for what a program writes while it builds. It is removed in the end, also where the program was stopped."""
    return tempfile.TemporaryDirectory(prefix="kubevirt-render-", ignore_cleanup_errors=True)


def printed(
    program: str,
    words: Sequence[str],
    *,
    name: str,
    environment: Mapping[str, str],
    timeout: float,
    fix: str,
    folder: Path | None = None,
) -> bytes:
    """What a program prints; its stderr goes straight to ours. Errors call it `name`.

    It has neither stdin nor a terminal, so one that asks for a password fails at once.
    Raises: InputError where it fails, and where it takes more than `timeout` seconds; `fix` says what to do then.
    """
    try:
        ran = finished(program, words, environment=environment, timeout=timeout, folder=folder)
    except subprocess.TimeoutExpired:
        raise InputError(f"`{name}` was stopped after {timeout:g} s{fix}") from None
    if ran.code:
        raise InputError(f"`{name}` failed with exit code {ran.code}; see its message above")
    return ran.out


class Finished(NamedTuple):
    """A program that has ended: its exit code and what it printed; `complaints` is its stderr where that was kept."""

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
    quiet: bool = False,
) -> Finished:
    """How a program ended, with neither stdin nor a terminal. Its stderr goes straight to ours, unless `quiet` keeps it.

    Raises: subprocess.TimeoutExpired.
    """
    with subprocess.Popen(  # noqa: S603  `find` found it
        [program, *words],
        cwd=folder,
        env={**GIT, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if quiet else None,
        start_new_session=True,
    ) as process:
        try:
            out, complaints = process.communicate(timeout=timeout)
        finally:
            _end(process)
    return Finished(process.returncode, out, complaints or b"")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what still runs of a process and of all that it started, also where the process itself has ended."""
    with suppress(ProcessLookupError, PermissionError):  # nothing of it is left
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
        os.killpg(process.pid, signal.SIGKILL)


def script(interpreter: str, text: str) -> str:
    """The text of an executable file: a program that this Python interpreter runs."""
    if " " in interpreter or len(interpreter) > LONGEST_INTERPRETER:
        return f"#!/bin/sh\n'''exec' \"{interpreter}\" \"$0\" \"$@\"\n' '''\n{text}"
    return f"#!{interpreter}\n{text}"
