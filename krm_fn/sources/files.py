"""The files of a path, and how they are opened.

A path that a user names is read, whatever it is: a file, a folder, a link, a pipe. The content of a folder may come from
others. A link there that leads out of all the paths is skipped. Only regular files are opened: a pipe would block for ever.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from krm_fn.base.errors import InputError
from krm_fn.base.value import Value
from krm_fn.rules.facts.inputs import SkippedFile

UNREADABLE = "can't be read"
SUFFIXES = (".yaml", ".yml", ".json")
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
# The file that makes a folder a Helm chart, and the folder of its templates.
CHART, TEMPLATES = "Chart.yaml", "templates"
# The folders into which package managers copy other projects; Go's is one only if it has the list of what was copied.
OF_NODE, OF_GO, LIST_OF_GO = "node_modules", "vendor", "modules.txt"
# How many folders below a path may lie in one another: for each file, all folders above it are looked at.
DEEPEST = 64
# How many bytes a file in a folder may have. git keeps a file of nothing but zeros, whatever its size, in a few bytes.
LARGEST = 64_000_000
# What no path has, though a text may.
NO_NAME = "\0"
# What the root of a git tree has.
GIT = ".git"
# What a folder may contain in addition to files and folders.
SPECIAL = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
# Does not follow a link, and does not wait for a pipe, that has replaced a file in the meantime.
CAREFUL = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


# Texts that an editor has not saved yet, by the resolved names of their files. They are read in place of the files.
_unsaved: ContextVar[Mapping[str, bytes] | None] = ContextVar("unsaved", default=None)


@contextmanager
def with_unsaved(texts: Mapping[str, bytes]) -> Iterator[None]:
    """Read these texts in place of the files with these resolved names. The files must exist."""
    before = _unsaved.set(texts)
    try:
        yield
    finally:
        _unsaved.reset(before)


@contextmanager
def with_more_unsaved(texts: Mapping[str, bytes]) -> Iterator[None]:
    """Read these texts, too, in place of the files with these resolved names. No file has to exist."""
    with with_unsaved({**(_unsaved.get() or {}), **texts}):
        yield


def is_file(file: str) -> bool:
    """True for a file, also for one that has only a text that is not saved."""
    return os.path.isfile(file) or is_unsaved(file)  # noqa: PTH113


def is_unsaved(file: str) -> bool:
    """True if another text is read in place of a file."""
    texts = _unsaved.get()
    return bool(texts) and os.path.realpath(file) in (texts or ())


class Stamp(Value):
    """The identity and state of a file that was read: its resolved name, and values that change when somebody writes it."""

    real: str
    state: tuple[int, ...]


class Paths:
    """The paths that a user names.

    `follow`: follow links in folders to all places. `within` are more folders to which links may lead. `skipped` collects the
    skipped files. `folders` collects the skipped folders: of other projects, and, without `templates`, of the templates of Helm
    charts. `names` are names of more files to read, with any suffix.
    """

    def __init__(
        self,
        paths: Iterable[str],
        *,
        follow: bool = False,
        within: Iterable[str] = (),
        templates: bool = True,
        names: Container[str] = (),
    ) -> None:
        self.skipped: list[SkippedFile] = []
        self.folders: list[str] = []
        self._with_templates, self._names = templates, names
        self._follow = follow
        self._roots = tuple(map(os.path.realpath, (*paths, *within)))
        self._seen: set[tuple[int, int]] = set()  # device and number of each folder

    def files(self, path: str) -> Iterator[str]:
        """The file itself, or all YAML and JSON files of a folder in the order of their names, with forward slashes.

        Hidden files and folders are skipped, and so is a folder that was read before, because a link may lead to a parent.
        Raises: InputError if the path is a folder that can't be listed.
        """
        named = Path(path)
        if not named.is_dir():
            yield named.as_posix()
            return
        try:
            yield from self._below(named.as_posix(), os.stat(path), 0)  # noqa: PTH116
        except OSError as error:
            raise InputError(error.strerror or UNREADABLE, file=named.as_posix()) from None

    def read(self, path: str, file: str) -> tuple[bytes, Stamp] | None:
        """The text of a file that `files` found for the path; None if it is in a folder and can't be read.

        Raises: InputError if the path itself can't be read.
        """
        named = Path(path).as_posix() == file
        try:
            return read_named(file) if named else read_found(file)
        except OSError as error:
            if named:
                raise InputError(error.strerror or UNREADABLE, file=file) from None
            self._pass_over(file, error)
            return None

    def _below(self, folder: str, found: os.stat_result, depth: int) -> Iterator[str]:
        """The files of a folder. Raises: OSError if the folder can't be listed."""
        if depth > DEEPEST:
            raise OSError(errno.ENAMETOOLONG, f"it is more than {DEEPEST} folders below the one that is read; move it up")
        identity = found.st_dev, found.st_ino
        if identity in self._seen:
            return
        self._seen.add(identity)
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
        chart = not self._with_templates and any(entry.name == CHART for entry in entries)
        above = "" if folder == os.curdir else folder if folder.endswith("/") else f"{folder}/"
        for entry in entries:
            if ((chart and entry.name == TEMPLATES) or _is_foreign(entry)) and os.path.isdir(entry.path):  # noqa: PTH112
                self.folders.append(above + entry.name)
            elif not entry.name.startswith("."):
                yield from self._of(entry, above + entry.name, depth + 1)

    def _of(self, entry: os.DirEntry[str], file: str, depth: int) -> Iterator[str]:
        """The files of one entry of a folder."""
        wanted = entry.name.endswith(SUFFIXES) or entry.name in self._names
        try:
            found = entry.stat()
            if not (wanted or stat.S_ISDIR(found.st_mode)):
                return
            if entry.is_symlink() and not (self._follow or is_within(file, self._roots)):
                self.skipped.append(SkippedFile(file=file))
            elif stat.S_ISDIR(found.st_mode):
                yield from self._below(file, found, depth)
            else:
                check_regular(found.st_mode)
                check_size(found.st_size)
                yield file
        except OSError as error:
            if wanted or not entry.is_symlink():  # not for a link to a missing file whose name is not that of an object's file
                self._pass_over(file, error)

    def _pass_over(self, file: str, error: OSError) -> None:
        self.skipped.append(SkippedFile(file=file, why=error.strerror or UNREADABLE))


def check_size(size: int) -> None:
    """Raises: OSError if a file has too many bytes."""
    if size > LARGEST:
        raise OSError(errno.EFBIG, f"it has more than {LARGEST:,} bytes; to have it read, name it")


def _is_foreign(folder: os.DirEntry[str]) -> bool:
    """True for a folder with other projects, which a package manager has copied there."""
    return folder.name == OF_NODE or (folder.name == OF_GO and os.path.isfile(os.path.join(folder.path, LIST_OF_GO)))  # noqa: PTH113, PTH118


def is_within(file: str, folders: Iterable[str]) -> bool:
    """True if a file, after links are followed, is one of the folders or below one. The folders must be resolved already."""
    if NO_NAME in file:
        return False
    real = os.path.realpath(file)
    return any(os.path.commonpath((folder, real)) == folder for folder in folders)


def inside(root: str, path: str) -> str:
    """Where a path from a root leads; `..` leads to nothing above it."""
    return os.path.join(root, os.path.normpath("/" + path).lstrip("/")).rstrip("/")  # noqa: PTH118


def folder_of(file: str) -> str:
    """The folder of a file."""
    return os.path.dirname(file) or os.curdir  # noqa: PTH120


def repository(folder: str) -> str:
    """The root of the git tree that contains a folder, or else the folder itself, with links resolved."""
    here = Path(folder).resolve()
    return str(_git_root(here) or here)


def is_in_repository(folder: str) -> bool:
    """True for a folder in a git tree."""
    return _git_root(Path(folder).resolve()) is not None


def in_repository(file: str, roots: dict[str, str]) -> str:
    """The path of a file from the root of its git tree on, wherever that tree is; the path as it is given if there is none.

    `roots` has the roots of folders that are known, "" where there is none.
    """
    whole = os.path.abspath(file)  # noqa: PTH100  links stay what they are
    above: list[str] = []
    folder = os.path.dirname(whole)  # noqa: PTH120
    while folder not in roots:
        above.append(folder)
        roots[folder] = folder if os.path.exists(f"{folder}/{GIT}") else ""  # noqa: PTH110
        folder = folder if roots[folder] else os.path.dirname(folder)  # noqa: PTH120
    roots.update(dict.fromkeys(above, roots[folder]))
    return os.path.relpath(whole, roots[folder]) if roots[folder] else file


def leads_out(file: str) -> bool:
    """True if a path in a git tree is a link to a file or a folder outside of it. Devices and pipes do not count."""
    special = os.path.exists(file) and not (os.path.isfile(file) or os.path.isdir(file))  # noqa: PTH110, PTH112, PTH113
    return not special and is_outside(file)


def is_outside(path: str) -> bool:
    """True where a path in a git tree leads, by a link, out of it."""
    whole = Path(os.path.abspath(path))  # noqa: PTH100  links stay what they are
    roots = [above for above in whole.parents if (above / GIT).exists()]
    return any(not is_within(path, [os.path.realpath(root)]) for root in roots)


FOLLOW = "name its target, or, in a folder that you trust, use --follow-links"


def refuse_links_out(paths: Iterable[str], fix: str = "name the target file instead") -> None:
    """Raises: InputError for a path that is a link out of its git tree: whoever writes the tree decides where that leads."""
    for path in filter(leads_out, paths):
        raise InputError(f"this symbolic link points outside the repository; {fix}", file=Path(path).as_posix())


def _git_root(folder: Path) -> Path | None:
    return next((above for above in (folder, *folder.parents) if os.path.exists(f"{above}/{GIT}")), None)  # noqa: PTH110


def check_regular(mode: int) -> None:
    """Raises: OSError if a mode is not that of a regular file."""
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, f"it is {SPECIAL.get(stat.S_IFMT(mode), 'not a regular file')}; expected a file")


def read_found(file: str) -> tuple[bytes, Stamp]:
    """The text of a file that was found in a folder. Raises: OSError, also if it is too large, or no regular file any more."""
    if NO_NAME in file:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), file)
    real = os.path.realpath(file)
    texts = _unsaved.get()
    if texts and real in texts:
        return texts[real], Stamp(real=real, state=())
    with os.fdopen(os.open(real, CAREFUL), "rb") as source:
        found = os.fstat(source.fileno())
        check_regular(found.st_mode)
        check_size(found.st_size)
        return source.read(LARGEST + 1), stamp_of(real, found)


def content(file: str) -> bytes:
    """The text of a file that was found in a folder, b"" where it can't be read."""
    with suppress(OSError):
        return read_found(file)[0]
    return b""


def read_named(file: str) -> tuple[bytes, Stamp]:
    """The text of a file that a user named, of any type. Raises: OSError."""
    if is_unsaved(file):
        return read_found(file)
    with open(file, "rb") as source:  # noqa: PTH123
        return source.read(), stamp_of(os.path.realpath(file), os.fstat(source.fileno()))


def stamp_of(real: str, found: os.stat_result) -> Stamp:
    return Stamp(real=real, state=(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns))
