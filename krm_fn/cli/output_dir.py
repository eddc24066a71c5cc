"""`--output-dir`: the files that it writes, and a list in the folder that names them.

Each target and each source file of it has a file, at a place that depends on nothing else. What a target is made of keeps its
path below the target. What comes from elsewhere, such as a base, has its path below the folder that holds all that the command
was called with. An object that no file holds gets a file of its own.

Files that the list does not name are neither replaced nor removed. The list is written first, with the old files and the new
ones, and last with the new ones alone; so a run that is ended in between leaves no file that no list names.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from krm_fn import yamlio
from krm_fn.base.console import file_name
from krm_fn.base.errors import InputError, UsageError
from krm_fn.base.expressions import expression
from krm_fn.base.objects import kind_of, name_of, namespace_of
from krm_fn.base.uuids import short
from krm_fn.cli import outputs
from krm_fn.cli.replacing import replacing
from krm_fn.sources.files import KUSTOMIZATIONS, SUFFIXES, is_outside, read_found
from krm_fn.sources.reading import stream
from krm_fn.sources.source import Source, Sources

if TYPE_CHECKING:
    from krm_fn.pipeline.stages import Outcome


YAML = (".yaml", ".yml")
UNUSUAL = expression(r"[^a-z0-9._-]+")


class NamedText(NamedTuple):
    """A text, and the file that it comes from; where no file holds it, `name` is a name for it.

    `is_built`: kustomize wrote the text, as YAML.
    """

    data: bytes
    file: str = ""
    name: str = ""
    is_built: bool = False


def pieces(found: Sources, outcome: Outcome) -> list[NamedText]:
    """The rendered objects of a unit by the files that they come from, in order."""
    more, last = outputs.inserted(found, outcome)
    pairs = enumerate(outputs.rendered(found, outcome))
    of_sources = [piece for number, (source, items) in pairs for piece in _of_source(source, items, more[number])]
    return [*of_sources, *(NamedText(yamlio.dump(item).encode(), name=_name(item)) for item in last)]


def _of_source(source: Source, items: Sequence[Any], more: dict[int, list[Any]]) -> Iterator[NamedText]:
    for (file, name), numbers in _groups(source, items).items():
        part = source.but(objects=tuple(source.objects[number] for number in numbers))
        before = {place: more[number] for place, number in enumerate(numbers) if number in more}
        chunks = outputs.chunks_of(part, [items[number] for number in numbers], before)
        yield NamedText(outputs.joined(chunks), file, name, is_built=not source.file)


def _groups(source: Source, items: Sequence[Any]) -> dict[tuple[str, str], list[int]]:
    """The numbers of the objects of a source, by their file or, where no file holds them, by their own names."""
    groups: dict[tuple[str, str], list[int]] = {}
    for number, (file, _) in enumerate(source.places):
        generated = not file or (not source.file and os.path.basename(file) in KUSTOMIZATIONS)  # noqa: PTH119
        key = ("", _name(items[number])) if generated else (file, "")
        groups.setdefault(key, []).append(number)
    return groups


def _name(item: Any) -> str:
    """The name of a file for one object: `kind_namespace_name.yaml`."""
    words = (kind_of(item), namespace_of(item), name_of(item))
    return short("_".join(UNUSUAL.sub("-", word.lower()) for word in words if word)) + ".yaml"


class Laid(NamedTuple):
    """The pieces of one target; `target` is its folder, "" for files that no kustomization uses."""

    target: str
    pieces: Sequence[NamedText]


def laid_out(units: Iterable[Laid], top: str) -> dict[str, bytes]:
    """The texts by their paths in the folder; two that would have one path get different ones.

    `top` is the folder from which paths run.
    """
    files: dict[str, bytes] = {}
    taken: set[str] = set()
    for unit in units:
        for piece in unit.pieces:
            path = _free(_path(piece, unit.target, top), taken)
            taken.add(path.casefold())
            files[path] = piece.data
    return files


def folder_of(target: str, top: str) -> str:
    """The path of a target in the folder, "" for that of the folder itself."""
    return "/".join(_steps(os.path.relpath(target, top))) if target else ""


def _path(piece: NamedText, target: str, top: str) -> str:
    folder = folder_of(target, top)
    if piece.name:
        return f"{folder}/{piece.name}" if folder else piece.name
    below = os.path.relpath(piece.file, target or top)
    steps = _steps(below if not below.startswith("..") else os.path.relpath(piece.file, top))
    return "/".join(filter(None, (folder, *steps[:-1], _with_suffix(steps[-1], piece))))


def _steps(path: str) -> list[str]:
    """The parts of a path, none of which leads up or hides what is there."""
    parts = (part.lstrip(".") for part in path.replace(os.sep, "/").split("/"))
    return [part.encode(errors="surrogateescape").decode(errors="replace") for part in parts if part]


def _with_suffix(name: str, piece: NamedText) -> str:
    allowed = YAML if piece.is_built else SUFFIXES
    if name.endswith(allowed):
        return name
    return (name.removesuffix(".json") if piece.is_built else name) + ".yaml"


def _free(path: str, taken: set[str]) -> str:
    """The path, with a number where it is taken; files of both spellings, `A` and `a`, are one on some machines."""
    stem, suffix = os.path.splitext(path)  # noqa: PTH122
    number = 1
    while path.casefold() in taken:
        number += 1
        path = f"{stem}-{number}{suffix}"
    return path


LIST = ".kubevirt-render-output"
COMMENT = "# kubevirt-render wrote these files. It replaces them, and removes those that it no longer makes.\n"
VERSION = 1


class FileChanges(NamedTuple):
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


def check_way(folder: str, path: str) -> None:
    """Raises: InputError where a part of the way from a folder to a file is no folder, or a link; FileNotFoundError."""
    steps = path.split("/")
    for number in range(1, len(steps) + 1):
        at = os.path.join(folder, *steps[:number])  # noqa: PTH118
        mode = os.lstat(at).st_mode
        if stat.S_ISLNK(mode):
            raise InputError("this is a symbolic link, and kubevirt-render makes none here; remove it", file=at)
        if number < len(steps) and not stat.S_ISDIR(mode):
            raise InputError("this is not a folder, and files are to be written below it; remove it", file=at)


class OutputDir:
    """A folder with the files that the command wrote there."""

    def __init__(self, folder: str) -> None:
        """Raises: InputError where the list of files is no list of ours."""
        self._folder = folder
        self._list = os.path.join(folder, LIST)  # noqa: PTH118
        self._old = _read(self._list) if os.path.lexists(self._list) else frozenset[str]()

    def write(self, files: Mapping[str, bytes], keeps: Callable[[str], bool]) -> FileChanges:
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
        return FileChanges(tuple(map(self._at, changed)), tuple(map(self._at, stale)))

    def _at(self, path: str) -> str:
        return os.path.join(self._folder, path)  # noqa: PTH118

    def _data(self, path: str) -> bytes:
        return read_found(self._at(path))[0]

    def _is_there(self, path: str) -> bool:
        """True for a regular file. Raises: InputError where a link is on the way to it."""
        try:
            check_way(self._folder, path)
            return stat.S_ISREG(os.lstat(self._at(path)).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def _check(self, path: str) -> None:
        """Raises: InputError where a file can't be written, since something else is in its way."""
        with contextlib.suppress(FileNotFoundError):
            check_way(self._folder, path)
            os.lstat(self._at(path))
            if path not in self._old or not self._is_there(path):
                raise InputError(
                    "kubevirt-render did not write this file, so it is not replaced; remove it, or name another --output-dir",
                    file=self._at(path),
                )

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
    text = None if os.path.islink(file) else stream(file)  # noqa: PTH114
    items = text.items if text else []
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
