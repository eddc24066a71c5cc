"""The policies that the config of a repository names by paths, relative to the config."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from krm_fn.base.console import file_name
from krm_fn.base.errors import ConfigError
from krm_fn.config.policies import PolicyPath
from krm_fn.sources import policy_files
from krm_fn.sources.files import is_within, repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeVar

    from krm_fn.config.repository import RepositoryConfig, Section
    from krm_fn.kubevirt.settings import PolicyObject

    OneSection = TypeVar("OneSection", bound=Section)


def with_files(config: RepositoryConfig, file: str, *, anywhere: bool) -> RepositoryConfig:
    """The config with the objects of the files that it names.

    `anywhere`: the user names the config, so its paths may lead out of the repository.
    Raises: ConfigError, with the place in a file of policies, or without the place of the config.
    """
    found = _read(config, file, anywhere=anywhere)
    return found.but(clusters=tuple(_read(each, file, anywhere=anywhere) for each in config.clusters))


def paths(config: RepositoryConfig, file: str) -> Iterator[str]:
    """The resolved names of the files and folders that a config names."""
    for section in (config, *config.clusters):
        yield from (
            os.path.realpath(_path(each, file)) for each in section.stated.get("policies", ()) if isinstance(each, PolicyPath)
        )


def _path(item: PolicyPath, file: str) -> str:
    return os.path.normpath(os.path.join(os.path.dirname(file) or os.curdir, item.name))  # noqa: PTH118, PTH120


def _read(section: OneSection, file: str, *, anywhere: bool) -> OneSection:
    given = section.stated.get("policies", ())
    if not given:
        return section
    objects = tuple(each for item in given for each in _objects(item, file, anywhere=anywhere))
    return section.but(stated={**section.stated, "policies": objects})


def _objects(item: PolicyObject | PolicyPath, file: str, *, anywhere: bool) -> Iterator[PolicyObject]:
    if not isinstance(item, PolicyPath):
        yield item
        return
    folder = os.path.dirname(file) or os.curdir  # noqa: PTH120
    path = _path(item, file)
    if not anywhere and not is_within(path, [repository(folder)]):
        fix = "move it into the repository, or name it with --policy"
        raise ConfigError(f"{file_name(item.name)} is outside of the repository; {fix}", path=item.at)
    if not os.path.exists(path):  # noqa: PTH110
        raise ConfigError(f"there is no {file_name(item.name)}; expected a path relative to this file", path=item.at)
    try:
        yield from policy_files.read(path)
    except ConfigError as error:
        if error.file:
            raise
        raise ConfigError(error.message, path=item.at) from None
