"""The files `.kubevirt-render.yaml` that belong to a path: in its folder, and in those above it in the repository."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from krm_fn import yamlio
from krm_fn.base.errors import ConfigError, InputError, UsageError
from krm_fn.config.repository import NAME
from krm_fn.sources.files import UNREADABLE, check_regular, is_within

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from krm_fn.yamlio import StreamText


def config_file(paths: Iterable[str]) -> str | None:
    """The config that belongs to the paths, the nearest above each; None where there is none. `-` stands for this folder.

    Raises: UsageError where the paths belong to different ones; ConfigError where it is no file of the repository.
    """
    found = list(dict.fromkeys(files[0] for path in paths if (files := _present(folders_of(path)))))
    if len(found) > 1:
        named = " and ".join(map(shown, found[:2]))
        raise UsageError(f"the paths have different configs, {named}; name one with --config")
    return shown(_checked(found[0], ())) if found else None


def config_files(path: str, tops: Iterable[str] = ()) -> list[Path]:
    """The configs in the folder of a path and in those above it, the nearest first. `tops` as in `folders_of`.

    Raises: ConfigError where one is no file of the repository.
    """
    tops = tuple(tops)
    return [_checked(file, tops) for file in _present(folders_of(path, tops))]


def folders_of(path: str, tops: Iterable[str] = ()) -> list[Path]:
    """The folder of the path and those above it, up to the root of the git repository. `-` stands for this folder.

    Outside of a repository, up to the topmost of `tops`, the folders that the user named, else the first folder alone: whoever
    can write into `/tmp` or `/` would otherwise decide about all that is below.
    """
    start = Path(os.path.abspath("." if path == "-" else path))  # noqa: PTH100  links stay what they are
    folders = [folder for folder in (start, *start.parents) if os.path.isdir(folder)]  # noqa: PTH112  takes any name
    git = next((number for number, folder in enumerate(folders) if os.path.lexists(folder / ".git")), None)
    if git is not None:
        return folders[: git + 1]
    named = {Path(os.path.abspath(top)) for top in tops}  # noqa: PTH100
    last = max((number for number, folder in enumerate(folders) if folder in named), default=0)
    return folders[: last + 1]


def read(file: str) -> tuple[StreamText, Any]:
    """The text of a file, and the value of its only document, None where there is none. Raises: ConfigError."""
    try:
        text = yamlio.read_stream(Path(file).read_bytes(), file=file)
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


def _present(folders: Iterable[Path]) -> list[Path]:
    # what can't be read, such as a link that leads nowhere, must not be missed in silence
    return [folder / NAME for folder in folders if os.path.lexists(folder / NAME)]


def _checked(file: Path, tops: Iterable[str]) -> Path:
    """Raises: ConfigError for a link that leads out of the repository, and for what is no file."""
    if not is_within(str(file), [os.path.realpath(folder) for folder in folders_of(str(file.parent), tops)]):
        raise ConfigError("this symbolic link points outside the repository; name a config with --config", file=shown(file))
    try:
        check_regular(file.stat().st_mode)
    except OSError as error:
        raise ConfigError(error.strerror or UNREADABLE, file=shown(file)) from None
    return file
