"""The program's name, its exit codes for signals, and its standard streams."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

NAME = "kubevirt-render"
TERMINATED = 128 + 15
INTERRUPTED = 128 + 2


def fail(message: str, code: int = 1) -> int:
    """The exit code, after the message has been said as one line on stderr."""
    if sys.stderr is not None:
        sys.stderr.write(f"{NAME}: error: {' '.join(message.split())}\n")
    return code


def output() -> BinaryIO:
    """Stdout, for bytes. Raises: BrokenPipeError where it is closed."""
    if sys.stdout is None:
        raise BrokenPipeError
    return sys.stdout.buffer


def write_out(data: bytes) -> None:
    """Write all of stdout at once. Raises: BrokenPipeError where nobody reads it."""
    if sys.stdout is None:
        raise BrokenPipeError
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def read_in() -> bytes:
    """All of stdin; nothing where it is closed."""
    return sys.stdin.buffer.read() if sys.stdin is not None else b""


def abandon_stdout() -> None:
    """Let the interpreter flush into nothing when it ends; it would complain about the closed pipe."""
    if sys.stdout is not None:
        import os

        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
