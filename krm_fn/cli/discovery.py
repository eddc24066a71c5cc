"""The command's own config: `.kubevirt-render.yaml` in the repository that the paths are in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from krm_fn.base.errors import ConfigError, UsageError
from krm_fn.sources.files import UNREADABLE, check_regular, is_within

if TYPE_CHECKING:
    from collections.abc import Iterable

NAME = ".kubevirt-render.yaml"


def config_file(paths: Iterable[str]) -> str | None:
    """The config that belongs to the paths, the nearest above each; None where there is none. `-` stands for this folder.

    Raises: UsageError where the paths belong to different ones; ConfigError where it is no file of the repository.
    """
    found = list(dict.fromkeys(file for path in paths if (file := _above(path))))
    if len(found) > 1:
        named = " and ".join(map(_shown, found[:2]))
        raise UsageError(f"the paths have different configs, {named}; name one with --config")
    return _shown(_checked(found[0])) if found else None


def _checked(file: Path) -> Path:
    """Raises: ConfigError for a link that leads out of the repository, and for what is no file."""
    if not is_within(str(file), [os.path.realpath(folder) for folder in _folders(file.parent)]):
        raise ConfigError("this symbolic link points outside the repository; name a config with --config", file=_shown(file))
    try:
        check_regular(file.stat().st_mode)
    except OSError as error:
        raise ConfigError(error.strerror or UNREADABLE, file=_shown(file)) from None
    return file


def _above(path: str) -> Path | None:
    start = Path(os.path.abspath("." if path == "-" else path))  # noqa: PTH100  links stay what they are
    # what can't be read, such as a link that leads nowhere, is not to be missed in silence
    return next((folder / NAME for folder in _folders(start) if os.path.lexists(folder / NAME)), None)


def _folders(start: Path) -> list[Path]:
    """The folder of the path and those above it, up to the root of the git repository; outside of one, it alone.

    Whoever can write into `/tmp` or `/` would else decide about all that is below.
    """
    folders = [folder for folder in (start, *start.parents) if os.path.isdir(folder)]  # noqa: PTH112  takes any name
    root = next((number for number, folder in enumerate(folders) if os.path.lexists(folder / ".git")), 0)
    return folders[: root + 1]


def _shown(file: Path) -> str:
    here = Path.cwd()
    return (file.relative_to(here) if file.is_relative_to(here) else file).as_posix()
