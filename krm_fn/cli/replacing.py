"""Files that are replaced by new ones: each is whole, or as it was, and keeps all but its text.

The new text is written beside the file and takes its name by one rename. Mode, owner, extended attributes and access control
lists go along. What can't be kept stops it before anything is replaced. Of several files, all are replaced or none: where one
can't be, the ones before it get their old text again. Only a process that is killed, or a power failure, leaves some of them
new. What it leaves beside the files is removed by a later run.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator, Sequence
from typing import Protocol

from krm_fn.base.console import NAME, file_name
from krm_fn.base.errors import InputError
from krm_fn.base.expressions import expression
from krm_fn.base.value import Value
from krm_fn.sources.files import Stamp, check_regular, refuse_links_out, stamp_of

CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
KEPT = ("user.", "system.posix_acl_access")  # how attributes begin that must stay; others stay where the system lets them
SIGNATURES = ("security.ima", "security.evm")  # signatures of the old content
# No new file can be made in the folder, or none can take this one's place, such as one that is mounted by itself.
ONLY_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)

# The names of files that wait to take the place of others, and of the old texts meanwhile; and when one is left over.
WAITING, DAY = expression(rf"\.{NAME}-[0-9a-f]{{16}}\.tmp"), 86_400


class UnkeptError(InputError):
    """Replacing a file would lose something of it."""


class Put(Protocol):
    """Puts the new text of a file on the disk; `stamp` says which file was read, and in which state."""

    def __call__(self, file: str, data: bytes, stamp: Stamp | None = None) -> None: ...


@contextlib.contextmanager
def replacing(mode: int = 0) -> Iterator[Put]:
    """A function that puts the new text of a file on the disk, beside it. In the end each takes its file's place by a rename.

    A link stays a link, and a file keeps all but its text; only where `mode` says another mode, it is a new one. Where anything
    fails, or a signal ends the program, all files are as they were and no new one is left.
    Raises: InputError where a file was changed since it was read, has another name (a hard link), or can't keep what it has;
    OSError with the file's name.
    """
    waiting: list[New] = []
    folders: set[str] = set()

    def put(file: str, data: bytes, stamp: Stamp | None = None) -> None:
        real = stamp.real if stamp else os.path.realpath(file)
        new = New(file=file, real=real, name=_name(), old=_name(), mode=mode, stamp=stamp)
        waiting.append(new)  # before it is made: a signal may come at any moment
        with _named(file):
            new.make(data)
        if (folder := os.path.dirname(real)) not in folders:  # noqa: PTH120
            folders.add(folder)
            _sweep(folder)

    try:
        yield put
        _take_places(waiting)
    finally:
        for new in waiting:
            new.remove()


def _name() -> str:
    return f".{NAME}-{os.urandom(8).hex()}.tmp"


def _sweep(folder: str) -> None:
    """Remove what killed runs have left in a folder."""
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        for entry in found:
            is_ours = WAITING.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
            if is_ours and entry.stat(follow_symlinks=False).st_mtime < time.time() - DAY:
                os.unlink(entry.path)  # noqa: PTH108


def _take_places(waiting: Sequence[New]) -> None:
    """Let new files take their places, all or none."""
    done: list[tuple[New, os.stat_result | None]] = []
    try:
        for new in waiting:
            with _named(new.file):
                if new is not waiting[-1]:  # after the last one, nothing can fail
                    done.append((new, new.keep_old()))  # before the rename: a signal may come at any moment
                new.take_its_place()
    except BaseException as error:
        lost = [new.file for new, old in reversed(done) if not new.is_put_back(old)]
        if lost:
            fact = f"{len(lost)} files before it could not get their old text again: {', '.join(map(file_name, lost))}"
            raise InputError(f"{error}; {fact}") from None
        raise


@contextlib.contextmanager
def _named(file: str) -> Iterator[None]:
    """Gives an error the name that the user knows."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = file, None
        raise


class New(Value):
    """A new file called `name`, in the folder of the file `real`, which people call `file`; `old` is called what that one had.

    `mode` is the new one's, 0 where it is to be like the one it replaces; `stamp` is that one's, None where any will do.
    """

    file: str
    real: str
    name: str
    old: str
    mode: int = 0
    stamp: Stamp | None = None

    def make(self, data: bytes) -> None:
        """Write the new file: nobody else may read it until it is like the one that it replaces."""
        with self._folder() as folder:
            like = self._replaced(folder)
            made = os.open(self.name, CREATE, 0o600 if like or self.mode else 0o666, dir_fd=folder)
            with os.fdopen(made, "wb") as file:
                file.write(data)
                file.flush()
                if self.mode:
                    os.fchmod(made, self.mode)
                elif like:
                    self._take_over(made, like, folder)
                os.fsync(made)

    def keep_old(self) -> os.stat_result | None:
        """Keep a copy of what is to be replaced, and return what is known of it; None where there is nothing."""
        with self._folder() as folder:
            like = self._replaced(folder)
            if like:
                import shutil

                source = os.open(os.path.basename(self.real), os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)  # noqa: PTH119
                with os.fdopen(source, "rb") as old:
                    made = os.open(self.old, CREATE, 0o600, dir_fd=folder)
                    with os.fdopen(made, "wb") as copy:
                        shutil.copyfileobj(old, copy)
                        copy.flush()
                        self._take_over(made, like, folder)
            return like

    def is_put_back(self, old: os.stat_result | None) -> bool:
        """Put the copy of the old file in its place, or remove the new one where there was none. False where that fails."""
        base = os.path.basename(self.real)  # noqa: PTH119
        try:
            with self._folder() as folder:
                if old:
                    os.utime(self.old, ns=(old.st_atime_ns, old.st_mtime_ns), dir_fd=folder)
                    os.replace(self.old, base, src_dir_fd=folder, dst_dir_fd=folder)
                else:
                    os.unlink(base, dir_fd=folder)
        except FileNotFoundError:
            return not old
        except OSError:
            return False
        return True

    def take_its_place(self) -> None:
        with self._folder() as folder:
            self._replaced(folder)
            os.replace(self.name, os.path.basename(self.real), src_dir_fd=folder, dst_dir_fd=folder)  # noqa: PTH119
            os.fsync(folder)  # the rename itself is on the disk, too

    def remove(self) -> None:
        """Remove the new file and the copy of the old one, if they are still there."""
        for name in (self.name, self.old):
            with contextlib.suppress(OSError), self._folder() as folder:
                os.unlink(name, dir_fd=folder)

    @contextlib.contextmanager
    def _folder(self) -> Iterator[int]:
        """The folder, open: what is done in it is done there, whatever becomes of the names above."""
        folder = os.open(os.path.dirname(self.real), FOLDER)  # noqa: PTH120
        try:
            yield folder
        finally:
            os.close(folder)

    def _replaced(self, folder: int) -> os.stat_result | None:
        """What is to be replaced; None where there is nothing. Raises: InputError where it must not be."""
        try:
            found = os.stat(os.path.basename(self.real), dir_fd=folder, follow_symlinks=False)  # noqa: PTH119
        except FileNotFoundError:
            if self.stamp is None:
                return None
            raise
        check_regular(found.st_mode)
        if self.stamp and stamp_of(self.real, found) != self.stamp:
            raise InputError("the file was changed after it was read; run the command again", file=self.file)
        if found.st_nlink > 1 and not self.mode:
            fact = f"the file has {found.st_nlink} hard links, and the others would keep the old content"
            raise UnkeptError(f"{fact}; replace the file with a copy first", file=self.file)
        return found

    def _take_over(self, made: int, like: os.stat_result, folder: int) -> None:
        """Give the new file owner, mode and attributes of the other. Raises: UnkeptError."""
        try:
            if (like.st_uid, like.st_gid) != (os.fstat(made).st_uid, os.fstat(made).st_gid):
                os.fchown(made, like.st_uid, like.st_gid)
            if like.st_mode != os.fstat(made).st_mode:  # asked after the owner is set, which takes bits away
                os.fchmod(made, stat.S_IMODE(like.st_mode))
        except OSError as error:
            fact = f"owner {like.st_uid}:{like.st_gid} and mode {stat.S_IMODE(like.st_mode):o} can't be kept: {error.strerror}"
            raise UnkeptError(f"{fact}; run the command as the owner of the file", file=self.file) from None
        if hasattr(os, "listxattr"):
            source = os.open(os.path.basename(self.real), os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)  # noqa: PTH119
            try:
                self._copy_attributes(source, made)
            finally:
                os.close(source)

    def _copy_attributes(self, source: int, made: int) -> None:
        """Give the new file the extended attributes of the other, access control lists among them, and no others."""
        wanted, own = _attributes(source), _attributes(made)
        for name in {*wanted, *own}:
            try:
                if name not in wanted:
                    os.removexattr(made, name)
                elif wanted[name] != own.get(name):
                    os.setxattr(made, name, wanted[name])
            except OSError as error:
                if name.startswith(KEPT):
                    raise UnkeptError(f"the attribute {name} can't be kept: {error.strerror}", file=self.file) from None


def _attributes(file: int) -> dict[str, bytes]:
    """The extended attributes of an open file; none where the file system has none."""
    try:
        return {name: os.getxattr(file, name) for name in os.listxattr(file) if name not in SIGNATURES}
    except OSError:
        return {}


def write(file: str, data: bytes) -> None:
    """Replace a file that somebody named, or make it.

    What is no plain file, such as a pipe, and what can't be replaced without a loss is written in its place. Raises: InputError
    for a link out of the repository, OSError with the file's name.
    """
    refuse_links_out([file])
    if os.path.exists(file) and not os.path.isfile(file):  # noqa: PTH110, PTH113
        _write_in_place(file, data)
        return
    try:
        with replacing() as put:
            put(file, data)
    except UnkeptError:
        _write_in_place(file, data)
    except OSError as error:
        if error.errno not in ONLY_IN_PLACE:
            raise
        _write_in_place(file, data)


def _write_in_place(file: str, data: bytes) -> None:
    with _named(file), open(file, "wb") as target:  # noqa: PTH123
        target.write(data)
