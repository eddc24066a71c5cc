"""The files `.kubevirt-render.yaml` that belong to a path: in its folder, and in those above it in the repository."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krm_fn import yamlio
from krm_fn.base.errors import ConfigError, InputError, UsageError
from krm_fn.config.repository import NAME
from krm_fn.sources.files import GIT, LARGEST, UNREADABLE, check_regular, check_size, is_within, refuse_links_out

if TYPE_CHECKING:
    from krm_fn.yamlio import StreamText


def config_file(paths: Iterable[str]) -> str | None:
    """The config that belongs to the paths, the nearest above each; None where there is none. `-` stands for this folder.

    Raises: UsageError where the paths belong to different ones; ConfigError where it is no file of the repository.
    """
    configs = ConfigFiles()
    found = {files[0]: path for path in paths if (files := configs.present(path))}
    if len(found) > 1:
        named = " and ".join(shown(Path(file)) for file in list(found)[:2])
        raise UsageError(f"the paths have different configs, {named}; name one with --config")
    return next((shown(configs.of(path)[0]) for path in found.values()), None)


class ConfigFiles:
    """The configs that belong to paths. `tops` are the folders that the user named. Each folder is looked at once."""

    def __init__(self, tops: Iterable[str] = ()) -> None:
        self._tops = frozenset(map(os.path.abspath, tops))
        self._above: dict[str, tuple[str, ...]] = {}
        self._has: dict[str, bool] = {}
        self._files: dict[str, Path] = {}

    def of(self, path: str) -> list[Path]:
        """The configs in the folder of a path and in those above it, the nearest first.

        Raises: ConfigError where one is no file of the repository.
        """
        return [self._checked(file) for file in self.present(path)]

    def present(self, path: str) -> list[str]:
        """The same, without a look at what they are."""
        # what can't be read, such as a link that leads nowhere, must not be missed in silence
        return [_below(folder, NAME) for folder in self.folders(path) if self._is_there(_below(folder, NAME))]

    def folders(self, path: str) -> tuple[str, ...]:
        """The folder of the path and those above it, up to the root of the git repository. `-` stands for this folder.

        Outside of a repository, up to the topmost of `tops`, else the first folder alone: whoever can write into `/tmp` or `/`
        would otherwise decide about all that is below.
        """
        start = os.path.abspath("." if path == "-" else path)  # noqa: PTH100  links stay what they are
        while start not in self._above and not os.path.isdir(start):  # noqa: PTH112  takes any name
            start = os.path.dirname(start)  # noqa: PTH120
        folders = self._up(start)
        if self._is_there(_below(folders[-1], GIT)):
            return folders
        last = max((number for number, folder in enumerate(folders) if folder in self._tops), default=0)
        return folders[: last + 1]

    def _up(self, folder: str) -> tuple[str, ...]:
        """A folder and those above it, up to the first that is the root of a git repository."""
        if folder not in self._above:
            above = os.path.dirname(folder)  # noqa: PTH120
            is_last = above == folder or self._is_there(_below(folder, GIT))
            self._above[folder] = (folder,) if is_last else (folder, *self._up(above))
        return self._above[folder]

    def _is_there(self, file: str) -> bool:
        if file not in self._has:
            self._has[file] = os.path.lexists(file)
        return self._has[file]

    def _checked(self, file: str) -> Path:
        """Raises: ConfigError for a link that leads out of the repository, and for what is no file."""
        if file not in self._files:
            _check(file, self.folders(os.path.dirname(file)))  # noqa: PTH120
            self._files[file] = Path(file)
        return self._files[file]


def _below(folder: str, name: str) -> str:
    return os.path.join(folder, name)  # noqa: PTH118


def read(file: str) -> tuple[StreamText, Any]:
    """The text of a file, and the value of its only document, None where there is none. Raises: ConfigError."""
    try:
        refuse_links_out([file])
        with open(file, "rb") as source:  # noqa: PTH123
            data = source.read(LARGEST + 1)
        check_size(len(data))
        text = yamlio.read_stream(data, file=file)
    except OSError as error:
        raise ConfigError(error.strerror or UNREADABLE, file=file) from None
    except InputError as error:
        raise ConfigError(error.message, file=file, line=error.line, column=error.column) from None
    if len(text.items) > 1:
        raise ConfigError("there is a second document; expected only one", file=file, line=text.pieces[1].line, column=1)
    return text, text.items[0] if text.items else None


def shown(file: Path) -> str:
    """The file as messages name it: relative to this folder where it is below it."""
    here = Path.cwd()
    return (file.relative_to(here) if file.is_relative_to(here) else file).as_posix()


def _check(file: str, folders: Iterable[str]) -> None:
    """Raises: ConfigError for a link that leads out of the folders, and for what is no file."""
    named = shown(Path(file))
    if not is_within(file, map(os.path.realpath, folders)):
        raise ConfigError("this symbolic link points outside the repository; name a config with --config", file=named)
    try:
        check_regular(os.stat(file).st_mode)  # noqa: PTH116
    except OSError as error:
        raise ConfigError(error.strerror or UNREADABLE, file=named) from None
