"""The bundles that a command works on: what its arguments name as one, or each target of the folders by itself."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from krm_fn.base.value import Value
from krm_fn.cli import options
from krm_fn.findings import results
from krm_fn.findings.results import report
from krm_fn.repositories import building, sharing
from krm_fn.repositories.clusters import Configs, TargetSettings
from krm_fn.repositories.discovery import discover
from krm_fn.repositories.judging import Options, Unit, judge_problem, read_unit, release_of, repairing
from krm_fn.repositories.material import material_of
from krm_fn.repositories.rendering import strict
from krm_fn.repositories.running import offers_of_all
from krm_fn.repositories.types import Discovery, Problem
from krm_fn.rules.facts.bundles import NO_SURROUNDINGS
from krm_fn.sources.reading import NothingFoundError
from krm_fn.sources.salvage import findings as about_lost

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
    """The bundles of what the arguments name. Targets in folders that can't be built are reported on stderr and left out.

    Raises: ConfigError, UsageError; InputError for what is named and can't be read or built.
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
    if not (found.targets or found.problems or found.excluded):
        return Bundles(read=[_one(paths, kustomizations, config_file, flags, bar)])
    rest = tuple(path for path in paths if path not in folders)
    left_out: list[UnitResult] = []
    with bar.at("Building"):
        read = _with_surroundings(list(_of_folders(found, configs, flags, left_out)), verbose=flags["verbose"])
    report(results.ordered(finding for each in left_out for finding in each.findings), sys.stderr)
    if rest or kustomizations:
        read.append(_one(rest, kustomizations, config_file, flags, bar))
    if not (read or left_out):
        raise NothingFoundError(
            f"no Kubernetes object found in {', '.join(paths)}; expected YAML or JSON with apiVersion and kind"
        )
    code = max((results.exit_code(each.findings, each.fail_on) for each in left_out), default=0)
    return Bundles(read=read, exit_code=code)


def _one(
    paths: tuple[str, ...], kustomizations: tuple[str, ...], config_file: str | None, flags: Mapping[str, Any], bar: Progress
) -> Read:
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
        watch=bar.watch,
    )
    near = (*paths, *kustomizations)
    config = options.settings(found, config_file, flags, near=near, verbose=verbose)
    _report(lost, config)
    return Read(found=found, config=config, config_file=options.config_file_of(found, config_file, flags, near))


def _report(lost: Sequence[Lost], config: Config) -> None:
    """Say which templates are not read. Raises: InputError for another document that can't be read."""
    for each in lost:
        if not each.is_template:
            raise each.error
    report(about_lost(lost, config.severity, release_of(config)), sys.stderr)


def _of_folders(found: Discovery, configs: Configs, flags: Mapping[str, Any], left_out: list[UnitResult]) -> Iterator[Read]:
    """Each target, then the files that no kustomization uses; what can't be built goes into `left_out`."""
    using = building.builder()
    how = Options(using=using, timeout=flags["timeout"], follow=flags["follow_links"])
    missing = building.missing(found.targets) if using is None else None
    for problem in (*found.problems, *([missing] if missing else [])):
        settings = configs.settings_for(os.path.dirname(problem.file) or os.curdir)  # noqa: PTH120
        left_out.append(strict(judge_problem(Unit(settings=settings), problem)))
    for target in () if missing else found.targets:
        settings = configs.settings_for(target.folder or os.curdir)
        yield from _read(Unit(settings=settings, name=target.name, target=target), how, left_out)
    kustomized = frozenset(folder for target in found.targets for folder in target.kustomizations)
    groups: dict[tuple[str, str], tuple[TargetSettings, list[str]]] = {}
    for file in found.files:
        settings = configs.settings_for(os.path.dirname(file) or os.curdir)  # noqa: PTH120
        groups.setdefault((settings.file, settings.cluster), (settings, []))[1].append(file)
    for settings, files in groups.values():
        yield from _read(Unit(settings=settings, files=tuple(files), kustomized=kustomized), how, left_out)


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
    """What a unit consists of; nothing where its files hold no object, or where it can't be built."""
    lost: list[Lost] = []
    try:
        found = read_unit(unit, how, lost, [])
    except NothingFoundError:
        return
    if isinstance(found, Problem):
        left_out.append(strict(judge_problem(unit, found)))
        return
    settings = unit.settings
    _report(lost, settings.config)
    yield Read(
        found=found,
        config=settings.config,
        config_file=settings.file,
        built=unit.target,
        target=unit.name,
        cluster=settings.cluster,
        external=settings.external,
    )
