"""The program's name, its exit codes for signals, its standard streams, and the form of its messages."""

from __future__ import annotations

import sys
from io import BufferedReader, BufferedWriter, FileIO, TextIOWrapper

try:
    from posix import get_blocking
except ImportError:
    from os import get_blocking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO, TextIO

NAME = "kubevirt-render"
# The address of the project's repository, with a slash at its end; "" until there is one. All links start with it.
REPOSITORY = ""
# A shell sets this environment variable when it asks for the completions of a line.
COMPLETING = "_KUBEVIRT_RENDER_COMPLETE"
INTERRUPTED = 128 + 2
STREAMS = ("stdin", "stdout", "stderr")
LONGEST_READ = 1 << 20

# No path, name or address in real use is longer than LONGEST_WORD. Nobody reads a message longer than LONGEST_LINE.
LONGEST_WORD, LONGEST_LINE = 400, 2_000
UNDECODED = range(0xDC80, 0xDD00)  # Python decodes the bytes of a file's name that are not UTF-8 to these
SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def one_line(text: str) -> str:
    """The text of a message on one line. A text that is too long to read is cut in its middle, because the fix comes last.

    Only data fields show a name or a path of any length in full.
    """
    words = text.split(None, LONGEST_LINE)
    if len(words) > LONGEST_LINE:  # too long in any case: only the ends of a very long text are split
        return f"{_joined(words[:-1])[:1400]} ... {_joined(text.rsplit(None, LONGEST_LINE)[1:])[-500:]}"
    line = _joined(words) if len(text) > LONGEST_WORD else " ".join(words)
    return line if len(line) <= LONGEST_LINE else f"{line[:1400]} ... {line[-500:]}"


def _joined(words: list[str]) -> str:
    return " ".join(word if len(word) <= LONGEST_WORD else f"{word[:80]}...{word[-40:]}" for word in words)


def printable(line: str) -> str:
    """The line, with escapes for what a terminal or the log of a pipeline would execute, and for what is not text.

    `\\x1b` stands for a character, `\\xff` for a byte of a file's name that is not UTF-8. In the log of a pipeline, a line that
    starts with `::` is a command, and so is the text after `##[` or `##vso[` anywhere in a line.
    """
    if not line.isprintable():
        line = "".join(letter if letter.isprintable() else _escape(letter) for letter in line)
    if line.lstrip().startswith("::"):
        line = line.replace("::", ":\\x3a", 1)
    return line.replace("##", "#\\x23") if "##" in line else line


def _escape(letter: str) -> str:
    code = ord(letter)
    if code < 0x80 or code in UNDECODED:
        return SHORT_ESCAPES.get(letter) or f"\\x{code & 0xFF:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def file_name(file: str) -> str:
    """The name of a file for a message. A name that is not printable is in double quotes, with escapes."""
    if printable(file) == file and not file.startswith('"') and "::" not in file:
        return file
    return printable('"' + file.replace("\\", "\\\\").replace('"', '\\"').replace("::", ":\\x3a") + '"')


def decoded(name: str) -> str:
    """The name of a file for a data field. It is exact, except for `\\xff` in place of each byte that is not UTF-8."""
    return name if name.isascii() else "".join(_escape(letter) if "\ud800" <= letter <= "\udfff" else letter for letter in name)


def fail(message: str, code: int = 1) -> int:
    """Write the message as one line to stderr, and return the exit code."""
    sys.stderr.write(f"{NAME}: error: {printable(one_line(message))}\n")
    return code


class Stream(FileIO):
    """A standard stream by its number. It reads and writes everything, or raises an OSError that names the stream.

    If the pipe is non-blocking and the other end is not ready yet, the stream waits for it.
    """

    def write(self, data: Any) -> int:
        try:
            while (count := super().write(data)) is None:
                self._wait(reading=False)
        except OSError as error:
            error.filename = STREAMS[self.fileno()]
            raise
        return count

    def readall(self) -> bytes:
        try:
            found = super().readall()  # everything, or what is there if the pipe is non-blocking
            return found if get_blocking(self.fileno()) else b"".join([found or b"", *self._rest()])
        except OSError as error:
            error.filename = STREAMS[self.fileno()]
            raise

    def _rest(self) -> Iterator[bytes]:
        while (chunk := self.read(LONGEST_READ)) != b"":
            if chunk is None:
                self._wait(reading=True)
            else:
                yield chunk

    def _wait(self, *, reading: bool) -> None:
        import select  # few pipes are non-blocking

        ready = select.poll()
        ready.register(self.fileno(), select.POLLIN if reading else select.POLLOUT)
        ready.poll()


class Notes(Stream):
    """Stderr. What cannot be written is dropped: the output and the exit code do not depend on it."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def open_streams() -> None:
    """Open the standard streams again, so that no data is lost in them, whatever PYTHONUNBUFFERED is.

    A closed stream is replaced by a file that cannot be read or written. Otherwise the next file would get its number.
    """
    before = sys.stdin, sys.stdout, sys.stderr
    for number, stream in enumerate(before):
        if stream is None:
            _hold(number)
    sys.stdin = _text(BufferedReader(Stream(0, closefd=False)), before[0])
    sys.stdout = _text(BufferedWriter(Stream(1, "w", closefd=False)), before[1])
    sys.stderr = _text(BufferedWriter(Notes(2, "w", closefd=False)), before[2])


def _hold(number: int) -> None:
    import os  # few streams are closed

    held = os.open(os.devnull, os.O_WRONLY if STREAMS[number] == "stderr" else os.O_RDONLY)  # gets the lowest free number
    os.set_inheritable(held, True)


def _text(buffer: BufferedReader | BufferedWriter, before: TextIO | None) -> TextIOWrapper:
    """The text stream, with the settings that Python had opened it with."""
    if before is None:
        return TextIOWrapper(buffer, "utf-8", "backslashreplace")
    return TextIOWrapper(buffer, before.encoding, before.errors, line_buffering=bool(before.line_buffering))


def output() -> BinaryIO:
    """Stdout, for bytes."""
    return sys.stdout.buffer


def write_out(data: bytes) -> None:
    """Write all of stdout at once. Raises: BrokenPipeError if nobody reads it; OSError if it can't be written."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def read_in() -> bytes:
    """All of stdin; nothing if it is closed."""
    return sys.stdin.buffer.read()


def abandon_stdout() -> None:
    """Make the interpreter flush stdout into the null device when it ends. Otherwise it complains about the closed pipe."""
    import os

    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
