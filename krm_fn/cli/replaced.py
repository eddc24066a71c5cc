"""`check --base`: the objects that those of a run replace, for policies that compare both."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from krm_fn.cli import build_flags, options, units
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline.stages import Before
from krm_fn.repositories.bundles import read_all
from krm_fn.repositories.discovery import discover
from krm_fn.repositories.settings import Settings
from krm_fn.sources.files import read_found
from krm_fn.sources.reading import NothingFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.cli.progress import Progress
    from krm_fn.cli.units import Key, Request
    from krm_fn.repositories.judging import Options, Unit

KIND = b"ValidatingAdmissionPolicy"


def are_wanted(request: Request, how: Options) -> bool:
    """True if a run may have policies: in the config, in a flag, in its files, or in what is built outside of folders."""
    if request.flags["policies"] or request.kustomizations:
        return True
    found = _units(request, how)
    if any(unit.settings.config.policies for unit in found):
        return True
    files = (file for unit in found for file in (unit.target.inputs if unit.target else unit.files))
    named = (path for path in request.paths if path not in request.folders)
    configs = units.configs_of(request)
    if any(configs.settings_for(path).config.policies for path in request.paths):
        return True
    return any(KIND in _content(file) for file in (*files, *named))


def _content(file: str) -> bytes:
    with suppress(OSError):
        return read_found(file)[0]
    return b""


def _units(request: Request, how: Options) -> list[Unit]:
    configs = units.configs_of(request)
    found = discover(request.folders, excludes=configs.excludes, follow=how.follow) if request.folders else None
    if found is None:
        return []
    parts = units.parts_of(found, configs, Settings(configs, request.checking), wanted=request.flags["helm"])
    return [*parts.targets, *parts.files, *parts.charts]


def read(request: Request, how: Options, bar: Progress) -> dict[Key, Before]:
    """What each unit consists of, by its key; in the working directory, which is that of the earlier state.

    Raises: ConfigError, InputError.
    """
    configs = units.configs_of(request)
    found = discover(request.folders, excludes=configs.excludes, follow=how.follow) if request.folders else None
    if found is None or units.is_one_bundle(found, configs):
        return {units.ONE: _of_one(request, request.paths, how, bar)}
    read = {key: before for unit in [_units(request, how)] for key, before in _of_all(unit, request, how, bar)}
    rest = tuple(path for path in request.paths if path not in request.folders)
    return {**read, **({units.ONE: _of_one(request, rest, how, bar)} if rest or request.kustomizations else {})}


def _of_all(found: list[Unit], request: Request, how: Options, bar: Progress) -> Iterator[tuple[Key, Before]]:
    using = how.but(using=build_flags.builder())
    objects = read_all(found, using, jobs=request.flags["jobs"], watch=bar.watch)
    for unit, each in zip(found, objects, strict=True):
        items = [*each.items, *each.taken]
        yield units.key_of(unit), Before(items=items, config=unit.settings.config, is_whole=each.is_whole)


def _of_one(request: Request, paths: tuple[str, ...], how: Options, bar: Progress) -> Before:
    flags = request.flags
    present = tuple(path for path in paths if os.path.lexists(path))
    try:
        found = options.read_sources(
            present,
            request.kustomizations,
            verbose=False,
            timeout=how.timeout,
            build_flags=flags["build_flags"],
            follow_links=how.follow,
            unbuilt=False,
            reports=True,
            watch=bar.watch,
        )
    except NothingFoundError:
        return Before(items=(), config=request.checking(options.with_flags(Config(), flags)))
    config = options.settings(found, request.config_file, flags, near=(*present, *request.kustomizations))
    return Before(items=found.items, config=request.checking(config))
