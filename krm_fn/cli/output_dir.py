"""A folder of which the command knows what it wrote there: a list in the folder names the files.

Files that the list does not name are neither replaced nor removed. The list is written first, with the old files and the new
ones, and last with the new ones alone; so a run that is ended in between leaves no file that no list names.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from krm_fn import yamlio
from krm_fn.base.console import file_name
from krm_fn.base.errors import InputError, UsageError
from krm_fn.cli.replacing import replacing
from krm_fn.sources.files import SUFFIXES, is_outside, read_found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

LIST = ".kubevirt-render-output"
COMMENT = "# kubevirt-render wrote these files. It replaces them, and removes those that it no longer makes.\n"
VERSION = 1


class Changes(NamedTuple):
    """The files that a run wrote and removed, by their paths from the working directory."""

    written: tuple[str, ...]
    removed: tuple[str, ...]


def check_apart(folder: str, paths: Iterable[str]) -> None:
    """Raises: UsageError where the folder is one of the paths or holds one, or is a link out of the repository."""
    real = os.path.realpath(folder)
    for path in paths:
        if os.path.join(os.path.realpath(path), "").startswith(os.path.join(real, "")):  # noqa: PTH118
            raise UsageError(
                f"--output-dir: {file_name(folder)} contains {file_name(path)}, which is read; name another folder"
            )
    if is_outside(folder):
        raise UsageError(f"--output-dir: {file_name(folder)} is a symbolic link out of the repository; name its target instead")
    if os.path.lexists(folder) and not os.path.isdir(folder):  # noqa: PTH112
        raise UsageError(f"--output-dir: {file_name(folder)} is not a folder; name a folder")


class OutputDir:
    """A folder with the files that the command wrote there."""

    def __init__(self, folder: str) -> None:
        """Raises: InputError where the list of files is no list of ours."""
        self._folder = folder
        self._list = os.path.join(folder, LIST)  # noqa: PTH118
        self._old = _read(self._list) if os.path.lexists(self._list) else frozenset[str]()

    def write(self, files: Mapping[str, bytes], keeps: Callable[[str], bool]) -> Changes:
        """Make the folder hold these files, by their paths in it, and of the old ones those that `keeps` is true of.

        Raises: InputError where a file is in the way; OSError.
        """
        old = frozenset(path for path in self._old if self._is_there(path))
        stale = sorted(path for path in old - files.keys() if not keeps(path))
        for path in sorted(files):
            self._check(path)
        changed = {path: data for path, data in sorted(files.items()) if path not in old or self._data(path) != data}
        named = (old | files.keys()) - {*stale}
        if changed or stale or named != self._old:
            os.makedirs(self._folder, exist_ok=True)  # noqa: PTH103
            with self._listed(old | files.keys(), named):
                self._replace(changed)
                for path in stale:
                    self._remove(path)
        return Changes(tuple(map(self._at, changed)), tuple(map(self._at, stale)))

    def _at(self, path: str) -> str:
        return os.path.join(self._folder, path)  # noqa: PTH118

    def _data(self, path: str) -> bytes:
        return read_found(self._at(path))[0]

    def _is_there(self, path: str) -> bool:
        """True for a regular file. Raises: InputError where a link is on the way to it."""
        try:
            self._check_way(path)
            return stat.S_ISREG(os.lstat(self._at(path)).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def _check(self, path: str) -> None:
        """Raises: InputError where a file can't be written, since something else is in its way."""
        with contextlib.suppress(FileNotFoundError):
            self._check_way(path)
            os.lstat(self._at(path))
            if path not in self._old or not self._is_there(path):
                raise InputError(
                    "kubevirt-render did not write this file, so it is not replaced; remove it, or name another --output-dir",
                    file=self._at(path),
                )

    def _check_way(self, path: str) -> None:
        """Raises: InputError where a part of the way is no folder, or a link; FileNotFoundError."""
        steps = path.split("/")
        for number in range(1, len(steps) + 1):
            at = self._at("/".join(steps[:number]))
            mode = os.lstat(at).st_mode
            if stat.S_ISLNK(mode):
                raise InputError("this is a symbolic link, and kubevirt-render makes none here; remove it", file=at)
            if number < len(steps) and not stat.S_ISDIR(mode):
                raise InputError("this is not a folder, and files are to be written below it; remove it", file=at)

    @contextlib.contextmanager
    def _listed(self, during: Iterable[str], after: Iterable[str]) -> Iterator[None]:
        self._write_list(during)
        yield
        self._write_list(after)

    def _write_list(self, paths: Iterable[str]) -> None:
        data = COMMENT + yamlio.dump({"version": VERSION, "files": sorted(paths)})
        with replacing() as put:
            put(self._list, data.encode())

    def _replace(self, files: Mapping[str, bytes]) -> None:
        with replacing() as put:
            for path, data in files.items():
                os.makedirs(os.path.dirname(self._at(path)), exist_ok=True)  # noqa: PTH103, PTH120
                put(self._at(path), data)

    def _remove(self, path: str) -> None:
        """Remove a file, and the folders that are empty then."""
        os.remove(self._at(path))  # noqa: PTH107
        folder = os.path.dirname(path)  # noqa: PTH120
        with contextlib.suppress(OSError):
            while folder:
                os.rmdir(self._at(folder))  # noqa: PTH106
                folder = os.path.dirname(folder)  # noqa: PTH120


def _read(file: str) -> frozenset[str]:
    """The files that a list names. Raises: InputError."""
    try:
        items = yamlio.read_stream(read_found(file)[0], file=file).items if not os.path.islink(file) else []  # noqa: PTH114
    except (OSError, InputError):
        items = []
    found = items[0] if len(items) == 1 and isinstance(items[0], dict) else {}
    paths = found.get("files")
    if found.get("version") != VERSION or not isinstance(paths, list) or not all(map(_is_ours, paths)):
        raise InputError(
            "this is no list of files that kubevirt-render wrote; remove it and these files, or name another --output-dir",
            file=file,
        )
    return frozenset(paths)


def _is_ours(path: object) -> bool:
    """True for a path as the command makes them: down from the folder, to a file with objects, and nothing hidden."""
    return isinstance(path, str) and path.endswith(SUFFIXES) and not any(part[:1] in ("", ".") for part in path.split("/"))
