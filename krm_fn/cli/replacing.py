"""Files that are replaced by new ones: each is whole, or as it was."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# No new file can be made in the folder, or none can take this one's place, such as one that is mounted by itself.
ONLY_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)


@contextmanager
def replacing(mode: int = 0) -> Iterator[Callable[[str, bytes], None]]:
    """A function that puts the new text of a file on the disk, beside it. In the end each takes its file's place by a rename.

    A link stays a link, and a file keeps its mode unless `mode` says another. Where anything fails, or a signal ends the
    program, before the first rename, all files are as they were and no new one is left. Raises: OSError with the file's name.
    """
    waiting: list[tuple[Path, Path, str]] = []

    def put(file: str, data: bytes) -> None:
        real = Path(os.path.realpath(file))
        new = real.with_name(f".kubevirt-render-{os.urandom(8).hex()}.tmp")
        waiting.append((new, real, file))  # before it is made: a signal may come at any moment
        with _named(file):
            _make(new, data)
            new.chmod(mode or _mode_of(real))

    try:
        yield put
        for new, real, file in waiting:
            with _named(file):
                new.replace(real)
    finally:
        for new, _, _ in waiting:
            new.unlink(missing_ok=True)


@contextmanager
def _named(file: str) -> Iterator[None]:
    """Gives an error the name that the user knows."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = file, None
        raise


def _make(new: Path, data: bytes) -> None:
    """Make a file that nobody else may read yet: what it replaces may be secret."""
    with open(new, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _mode_of(file: Path) -> int:
    """The mode of a file; where it is not there, that of new files."""
    try:
        return stat.S_IMODE(file.stat().st_mode)
    except FileNotFoundError:
        os.umask(mask := os.umask(0))
        return 0o666 & ~mask


def write(file: str, data: bytes) -> None:
    """Replace a file, or make it; what is no plain file, such as a pipe, and what can't be replaced is written in its place.

    Raises: OSError with the file's name.
    """
    try:
        if stat.S_ISREG(Path(file).stat().st_mode):
            _replace(file, data)
        else:
            _write_in_place(file, data)
    except FileNotFoundError:
        _replace(file, data)


def _replace(file: str, data: bytes) -> None:
    try:
        with replacing() as put:
            put(file, data)
    except OSError as error:
        if error.errno not in ONLY_IN_PLACE:
            raise
        _write_in_place(file, data)


def _write_in_place(file: str, data: bytes) -> None:
    with _named(file):
        Path(file).write_bytes(data)
