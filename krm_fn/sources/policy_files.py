"""Policies, bindings and parameters in files and folders that are no part of the input, also those that a config names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from krm_fn.base import bundle
from krm_fn.base.console import file_name
from krm_fn.base.errors import ConfigError, InputError
from krm_fn.config.schema_policies import PolicyPath, is_given
from krm_fn.kubevirt.settings import PolicyObject
from krm_fn.sources import reading
from krm_fn.sources.files import Paths, is_within, refuse_links_out, repository
from krm_fn.sources.reading import NothingFoundError
from krm_fn.sources.source import Sources

if TYPE_CHECKING:
    from typing import TypeVar

    from krm_fn.config.repository import RepositoryConfig, Section

    OneSection = TypeVar("OneSection", bound=Section)


# What makes a folder a case of `kubevirt-render test`, whose objects are no policies.
CASE = "expected.yaml"
EXPECTED = "a ValidatingAdmissionPolicy, its binding or its parameters"


def read(path: str) -> tuple[PolicyObject, ...]:
    """The objects in a file, or in the YAML and JSON files of a folder; folders with cases are left out.

    Raises: ConfigError for what can't be read, for a link out of its git tree, and if there is no policy, binding or parameter.
    """
    if not path:
        raise ConfigError("found an empty path; expected a file or a folder of policies")
    try:
        refuse_links_out([path], "name its target instead")
        return _read(path)
    except InputError as error:
        raise ConfigError(error.message, file=error.file, line=error.line, column=error.column) from None


def _read(path: str) -> tuple[PolicyObject, ...]:
    is_folder = Path(path).is_dir()
    found = tuple(_objects(_of_folder(path) if is_folder else reading.read((path,), follow=True)))
    if not found:
        where = file_name(Path(path).as_posix())
        raise InputError(f"there is no policy, binding or parameter in it; expected {EXPECTED}", file=where)
    return found


def _of_folder(path: str) -> Sources:
    paths = Paths((path,))
    files = tuple(file for file in paths.files(path) if not _is_of_case(file, path))
    found = reading.read((), found=files) if files else None
    for each in paths.skipped:
        raise InputError(each.why or "this symbolic link points outside of the folder; name its target, too", file=each.file)
    if found is None:
        raise NothingFoundError(f"no Kubernetes object found in {file_name(path)}; expected YAML or JSON with policies")
    found.refuse_skipped()
    return found


def _is_of_case(file: str, top: str) -> bool:
    """True for a file in a case below the folder."""
    folder = os.path.dirname(file)  # noqa: PTH120
    while len(folder) > len(Path(top).as_posix()):
        if os.path.exists(os.path.join(folder, CASE)):  # noqa: PTH110, PTH118
            return True
        folder = os.path.dirname(folder)  # noqa: PTH120
    return False


def _objects(found: Sources) -> Iterator[PolicyObject]:
    places = found.places
    texts = {source.file: source.data.decode(errors="replace") for source in found.sources}
    for entry in bundle.entries(found.items):
        if is_given(entry.obj):
            file, index = places[entry.item]
            yield PolicyObject(obj=entry.obj, file=file, index=index, path=entry.path, text=texts[file])


def with_files(config: RepositoryConfig, file: str, *, anywhere: bool) -> RepositoryConfig:
    """The config with the objects of the files that it names.

    `anywhere`: the user names the config, so its paths may lead out of the repository.
    Raises: ConfigError, with the place in a file of policies, or without the place of the config.
    """
    found = _with_objects(config, file, anywhere=anywhere)
    return found.but(clusters=tuple(_with_objects(each, file, anywhere=anywhere) for each in config.clusters))


def paths(config: RepositoryConfig, file: str) -> Iterator[str]:
    """The resolved names of the files and folders that a config names."""
    for section in (config, *config.clusters):
        yield from (
            os.path.realpath(_path(each, file)) for each in section.stated.get("policies", ()) if isinstance(each, PolicyPath)
        )


def _path(item: PolicyPath, file: str) -> str:
    return os.path.normpath(os.path.join(os.path.dirname(file) or os.curdir, item.name))  # noqa: PTH118, PTH120


def _with_objects(section: OneSection, file: str, *, anywhere: bool) -> OneSection:
    given = section.stated.get("policies", ())
    if not given:
        return section
    objects = tuple(each for item in given for each in _objects_of(item, file, anywhere=anywhere))
    return section.but(stated={**section.stated, "policies": objects})


def _objects_of(item: PolicyObject | PolicyPath, file: str, *, anywhere: bool) -> Iterator[PolicyObject]:
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
        yield from read(path)
    except ConfigError as error:
        if error.file:
            raise
        raise ConfigError(error.message, path=item.at) from None
