"""The program's name, its exit codes for signals, its standard streams, and what a line for people is."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

NAME = "kubevirt-render"
TERMINATED = 128 + 15
INTERRUPTED = 128 + 2

# No path, name or address in real use is longer than the one, no message that somebody reads than the other.
LONGEST_WORD, LONGEST_LINE = 400, 2_000


def one_line(text: str) -> str:
    """The text of a message on one line. What is too long to be read is cut in its middle: the fix comes last.

    Only data fields have a name or a path of any length whole.
    """
    words = text.split(None, LONGEST_LINE)
    if len(words) > LONGEST_LINE:  # too long in any case: of a very long text only the ends are taken apart
        return f"{_joined(words[:-1])[:1400]} ... {_joined(text.rsplit(None, LONGEST_LINE)[1:])[-500:]}"
    line = _joined(words) if len(text) > LONGEST_WORD else " ".join(words)
    return line if len(line) <= LONGEST_LINE else f"{line[:1400]} ... {line[-500:]}"


def _joined(words: list[str]) -> str:
    return " ".join(word if len(word) <= LONGEST_WORD else f"{word[:80]}...{word[-40:]}" for word in words)


def printable(line: str) -> str:
    """The line without what a terminal would take for commands."""
    return line if line.isprintable() else "".join(letter if letter.isprintable() else " " for letter in line)


def fail(message: str, code: int = 1) -> int:
    """The exit code, after the message has been said as one line on stderr."""
    if sys.stderr is not None:
        sys.stderr.write(f"{NAME}: error: {printable(one_line(message))}\n")
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
