"""The bundles that a command works on: what its arguments name as one, or each target of the folders by itself."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from krm_fn.base.value import Value
from krm_fn.cli import build_flags, options
from krm_fn.cli.folders import exit_code
from krm_fn.cli.units import is_one_bundle, of_repository, parts_of
from krm_fn.findings import results
from krm_fn.findings.results import report
from krm_fn.repositories import building, sharing
from krm_fn.repositories.clusters import Configs, TargetSettings
from krm_fn.repositories.discovery import discover
from krm_fn.repositories.judging import Options, Unit, judge_problem, of_no_object, read_unit, release_of, repairing
from krm_fn.repositories.material import material_of
from krm_fn.repositories.rendering import strict
from krm_fn.repositories.running import offers_of_all
from krm_fn.repositories.settings import Settings
from krm_fn.repositories.types import Discovery, Problem
from krm_fn.rules.facts.bundles import NO_SURROUNDINGS
from krm_fn.sources.reading import NothingFoundError
from krm_fn.sources.salvage import passed_over, reported

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from krm_fn.base.external import External
    from krm_fn.cli.progress import Progress
    from krm_fn.kubevirt.settings import Config
    from krm_fn.repositories.judging import UnitResult
    from krm_fn.repositories.material import Material
    from krm_fn.repositories.types import Target
    from krm_fn.rules.facts.bundles import Surroundings
    from krm_fn.sources.reading import Sources
    from krm_fn.sources.salvage import Lost


class Read(Value):
    """One bundle: what was read, the config for it and its file, and the names of the target and the cluster, "" for none.

    `built` is the target, None for files.
    `external` are objects that are in the cluster and not in git, `beside` is what is known beside the bundle.
    """

    found: Sources
    config: Config
    config_file: str = ""
    built: Target | None = None
    target: str = ""
    cluster: str = ""
    external: tuple[External, ...] = ()
    beside: Surroundings = NO_SURROUNDINGS

    @property
    def material(self) -> Material:
        """The bundle as a unit of a run."""
        settings = TargetSettings(config=self.config, cluster=self.cluster, file=self.config_file)
        return material_of(self.found, settings, self.beside, self.built)


class Bundles(Value):
    """What a command works on, and the exit code for what is left out, because it can't be built or read."""

    read: list[Read]
    exit_code: int = 0


def read_bundles(
    paths: tuple[str, ...], kustomizations: tuple[str, ...], config_file: str | None, flags: Mapping[str, Any], bar: Progress
) -> Bundles:
    """The bundles of what the arguments name. What can't be built or read is reported on stderr and left out, as in `check`.

    Raises: ConfigError, UsageError; InputError for what is named and can't be opened or built.
    """
    folders = tuple(path for path in paths if os.path.isdir(path))  # noqa: PTH112
    configs = Configs(
        paths,
        file=config_file,
        isolated=flags["isolated"],
        flags=partial(options.with_flags, flags=flags),
        exclude=flags["exclude"],
    )
    with bar.at("Searching"):
        found = discover(folders, excludes=configs.excludes, follow=flags["follow_links"]) if folders else Discovery()
    read: list[Read] = []
    left_out: list[UnitResult] = []
    rest = paths
    if not is_one_bundle(found, configs):
        rest = tuple(path for path in paths if path not in folders)
        with bar.at("Building"):
            read = _with_surroundings(list(_of_folders(found, configs, flags, left_out)), verbose=flags["verbose"])
    if rest or kustomizations:
        read += _one(rest, kustomizations, config_file, flags, bar, left_out=left_out)
    report(results.ordered(finding for each in left_out for finding in each.findings), sys.stderr)
    if not (read or any(each.findings for each in left_out)):
        raise NothingFoundError(
            f"no Kubernetes object found in {', '.join(paths)}; expected YAML or JSON with apiVersion and kind"
        )
    return Bundles(read=read, exit_code=exit_code(left_out))


def _one(
    paths: tuple[str, ...],
    kustomizations: tuple[str, ...],
    config_file: str | None,
    flags: Mapping[str, Any],
    bar: Progress,
    *,
    left_out: list[UnitResult],
) -> Iterator[Read]:
    """What is named as one bundle; nothing where no object in it can be read."""
    verbose = flags["verbose"]
    lost: list[Lost] = []
    found = options.read_sources(
        paths,
        kustomizations,
        verbose=verbose,
        timeout=flags["timeout"],
        follow_links=flags["follow_links"],
        unbuilt=False,
        repair=repairing(lost, frozenset(Path(path).as_posix() for path in paths)),
        reports=True,
        watch=bar.watch,
    )
    near = (*paths, *kustomizations)
    config = options.settings(found, config_file, flags, near=near, verbose=verbose)
    left_out.append(_unread(found, lost, TargetSettings(config=config)))
    if found.items:
        yield Read(found=found, config=config, config_file=options.config_file_of(found, config_file, flags, near))


def _unread(found: Sources, lost: Sequence[Lost], settings: TargetSettings) -> UnitResult:
    """The findings about what is not read of a bundle. Raises: InputError for a document, if the config silences it."""
    severity, release = settings.config.severity, release_of(settings.config)
    return of_no_object([*reported(lost, severity, release), *passed_over(found.skipped, severity, release)], settings)


def _of_folders(found: Discovery, configs: Configs, flags: Mapping[str, Any], left_out: list[UnitResult]) -> Iterator[Read]:
    """Each target, then the files that no kustomization uses; what can't be built or read goes into `left_out`."""
    using = build_flags.builder()
    how = Options(using=using, timeout=flags["timeout"], follow=flags["follow_links"])
    settings = Settings(configs, lambda config: config)
    parts = parts_of(found, configs, settings, wanted=False)
    missing = building.missing(found.targets) if using is None else None
    problems = (*found.problems, *([missing] if missing else []))
    left_out += [strict(judge_problem(Unit(settings=settings(os.path.dirname(each.file))), each)) for each in problems]  # noqa: PTH120
    left_out += of_repository(found, configs, settings)
    for unit in (*([] if missing else parts.targets), *parts.files):
        yield from _read(unit, how, left_out)


def _with_surroundings(read: Sequence[Read], *, verbose: bool) -> list[Read]:
    """The bundles with what those of their cluster offer, and what is only in the cluster, as `check` judges them."""
    offered = offers_of_all((each.cluster, sharing.offers(each.found.items, each.target, each.found.places)) for each in read)
    return [_with_offered(each, offered.get(each.cluster), verbose=verbose) for each in read]


def _with_offered(read: Read, offered: sharing.Offered | None, *, verbose: bool) -> Read:
    text = b"\n".join(source.data for source in read.found.sources)
    taken = sharing.context(read.found.items, text, offered) if offered else sharing.Taken()
    for note in taken.notes if verbose else ():
        options.note(f"{read.target}: {note}" if read.target else note)
    return read.but(beside=taken.surroundings(read.external))


def _read(unit: Unit, how: Options, left_out: list[UnitResult]) -> Iterator[Read]:
    """What a unit consists of; nothing where it can't be built, or where no object in its files can be read."""
    lost: list[Lost] = []
    try:
        found = read_unit(unit, how, lost, [])
    except NothingFoundError:
        return
    if isinstance(found, Problem):
        left_out.append(strict(judge_problem(unit, found)))
        return
    settings = unit.settings
    left_out.append(_unread(found, lost, settings))
    if not found.items:
        return
    yield Read(
        found=found,
        config=settings.config,
        config_file=settings.file,
        built=unit.target,
        target=unit.name,
        cluster=settings.cluster,
        external=settings.external,
    )
