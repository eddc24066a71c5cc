"""What the arguments of `check` name, as the units of a run: the targets in folders, and files that are one bundle."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from krm_fn.base.errors import UsageError
from krm_fn.base.value import Value
from krm_fn.cli import executors, options
from krm_fn.repositories import building, charts, clusters
from krm_fn.repositories.cache import Cache, check_apart, users_folder
from krm_fn.repositories.clusters import Configs, TargetSettings
from krm_fn.repositories.discovery import discover
from krm_fn.repositories.judging import Unit, UnitResult, judge_problem, judge_sources, of_no_object, release_of, repairing
from krm_fn.repositories.running import judge_all
from krm_fn.repositories.settings import Settings, files_by_settings
from krm_fn.repositories.types import Discovery, Problem
from krm_fn.sources.reading import STDIN, NothingFoundError
from krm_fn.sources.salvage import passed_over
from krm_fn.sources.skipping import about_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence
    from typing import Any

    from krm_fn.cli.progress import Progress
    from krm_fn.kubevirt.settings import Config
    from krm_fn.pipeline.stages import Before
    from krm_fn.repositories.judging import Options
    from krm_fn.repositories.types import Target
    from krm_fn.sources.salvage import Lost

    Key = tuple[str, str]

# The key of all that was named as one bundle.
ONE = ("", "-")


class Request(Value):
    """What a command was called with. `checking` makes the config to judge with of the one that users wrote.

    `before` is what the units replace, by their keys, for policies.
    """

    paths: tuple[str, ...]
    kustomizations: tuple[str, ...]
    config_file: str | None
    flags: Mapping[str, Any]
    checking: Callable[[Config], Config]
    before: Mapping[Key, Before] = {}

    @property
    def folders(self) -> tuple[str, ...]:
        """The paths that are folders."""
        return tuple(path for path in self.paths if path != STDIN and os.path.isdir(path))  # noqa: PTH112


class Parts(Value):
    """The units of folders: the targets, the files that no kustomization uses, charts, and charts that are not built."""

    targets: list[Unit]
    files: list[Unit]
    charts: list[Unit]
    unbuilt: list[Unit]


def key_of(unit: Unit) -> Key:
    """What a unit is called at another commit, too."""
    return unit.name, "" if unit.target else unit.settings.file


def is_one_bundle(found: Discovery, configs: Configs) -> bool:
    """True if all that was named is judged as one bundle: only files, and no cluster of which the config knows anything.

    Raises: ConfigError.
    """
    if found.targets or found.problems or found.excluded or found.charts:
        return False
    return not any(settings.external or settings.cluster for settings, _ in files_by_settings(found, configs))


def results_of(request: Request, how: Options, bar: Progress) -> list[UnitResult]:
    """What comes of each unit: one where all that was named is judged as one bundle.

    Raises: ConfigError, InputError, UsageError.
    """
    options.check_kustomizations(request.kustomizations)
    executors.check_executor(request.flags)
    _check_cache(request)
    configs = configs_of(request)
    with bar.at("Searching"):
        found = discover(request.folders, excludes=configs.excludes, follow=how.follow) if request.folders else Discovery()
    if is_one_bundle(found, configs):
        return [of_one_bundle(request, how, bar, request.paths, request.kustomizations)]
    return _of_units(request, how, bar, configs, found)


def severity_at(request: Request, file: str, found: Sequence[UnitResult]) -> Mapping[str, str]:
    """The severities for findings about a file that is no manifest: those of the only unit, else of the config next to it.

    Raises: ConfigError.
    """
    if len(found) == 1:
        return found[0].severity
    return configs_of(request).settings_for(os.path.dirname(file) or os.curdir).config.severity  # noqa: PTH120


def configs_of(request: Request) -> Configs:
    """The configs of a run, with the flags laid over them."""
    return Configs(
        request.paths,
        file=request.config_file,
        isolated=request.flags["isolated"],
        flags=partial(options.with_flags, flags=request.flags),
        exclude=request.flags["exclude"],
        build_flags=request.flags["build_flags"],
    )


def of_one_bundle(
    request: Request, how: Options, bar: Progress, paths: tuple[str, ...], kustomizations: tuple[str, ...]
) -> UnitResult:
    """What comes of paths and builds together."""
    lost: list[Lost] = []
    found = options.read_sources(
        paths,
        kustomizations,
        verbose=request.flags["verbose"],
        timeout=how.timeout,
        build_flags=request.flags["build_flags"],
        follow_links=how.follow,
        unbuilt=False,
        repair=repairing(lost, frozenset(Path(path).as_posix() for path in paths)),
        reports=True,
        watch=bar.watch,
    )
    near = (*paths, *kustomizations)
    config = options.settings(found, request.config_file, request.flags, near=near, verbose=request.flags["verbose"])
    file = options.config_file_of(found, request.config_file, request.flags, near)
    settings = TargetSettings(config=request.checking(config), file=file)
    with bar.at("Checking"):
        result = judge_sources(found, lost, settings, how, before=request.before.get(ONE))
    if request.flags["verbose"]:
        for text in result.notes:
            options.note(text)
        options.note(f"the target release is KubeVirt {result.release}")
    return result


def _of_units(request: Request, how: Options, bar: Progress, configs: Configs, found: Discovery) -> list[UnitResult]:
    """What comes of the targets in folders, of the files there, and of what else was named."""
    using = building.builder()
    settings = Settings(configs, request.checking)
    parts = parts_of(found, configs, settings, wanted=request.flags["helm"])
    units = parts.targets
    problems = [(settings(os.path.dirname(problem.file)), problem) for problem in found.problems]  # noqa: PTH120
    if using is None and (missing := building.missing(found.targets)):
        problems.append((units[0].settings, missing))
        units = []
    units = [unit.but(before=request.before.get(key_of(unit))) for unit in (*units, *parts.files, *parts.charts)]
    done = _judged(request, how.but(using=using), bar, units)
    done += [judge_problem(Unit(settings=own), problem) for own, problem in problems]
    done += [
        judge_problem(each, Problem(file=each.target.file, reason="flag", is_chart=True))
        for each in parts.unbuilt
        if each.target
    ]
    done += of_repository(found, configs, settings)
    rest = tuple(path for path in request.paths if path not in request.folders)
    if rest or request.kustomizations:
        done.append(of_one_bundle(request, how, bar, rest, request.kustomizations))
    if not any(each.objects or each.findings for each in done):
        raise NothingFoundError(
            f"no Kubernetes object found in {', '.join(request.paths)}; expected YAML or JSON with apiVersion and kind"
        )
    if request.flags["verbose"]:
        _note(found, done, {each.target.folder for each in parts.charts if each.target})
    return done


def parts_of(found: Discovery, configs: Configs, settings: Settings, *, wanted: bool) -> Parts:
    """The units of folders. `wanted`: charts are built."""
    targets = [Unit(settings=settings(target.folder), name=target.name, target=target) for target in found.targets]
    kustomized = frozenset(folder for target in found.targets for folder in target.kustomizations)
    files = [
        Unit(settings=settings.checked(group), files=names, kustomized=kustomized)
        for group, names in files_by_settings(found, configs)
    ]
    built, unbuilt = _charts(found.charts, settings, wanted=wanted)
    return Parts(targets=targets, files=files, charts=built, unbuilt=unbuilt)


def _charts(found: Iterable[Target], settings: Settings, *, wanted: bool) -> tuple[list[Unit], list[Unit]]:
    """The charts that are to be built, and others that would make VMs. What only other charts use makes nothing by itself."""
    built, unbuilt = [], []
    for each in found:
        own = settings(each.folder)
        if wanted or own.helm:
            built += [] if charts.is_library(each) else [Unit(settings=own, name=each.name, target=each)]
        elif charts.makes_vms(each) and not charts.is_library(each):
            unbuilt.append(Unit(settings=own, target=each))
    return built, unbuilt


def _judged(request: Request, how: Options, bar: Progress, units: Sequence[Unit]) -> list[UnitResult]:
    """What comes of units, judged by processes of this machine or by workers."""
    watch = partial(bar.watch, failed=_is_unbuilt)
    with executors.workers(request.flags) as workers:
        done = judge_all(units, how, jobs=request.flags["jobs"], watch=watch, cache=_cache(request), workers=workers)
        if request.flags["verbose"] and workers and workers.missed:
            options.note(f"what workers did not check was checked on this machine: {workers.missed} times")
    return done


def of_repository(found: Discovery, configs: Configs, settings: Settings) -> list[UnitResult]:
    """What there is to say of the files that are not read, and of the config at the root."""
    done = []
    for skipped in found.skipped:
        if not configs.excludes(skipped.file):
            own = settings(os.path.dirname(skipped.file))  # noqa: PTH120
            done.append(of_no_object(passed_over((skipped,), own.config.severity, release_of(own.config)), own))
    unmatched = configs.unmatched()
    if unmatched:
        own = settings(os.curdir)
        done.append(of_no_object(clusters.findings(unmatched, own.config.severity, release_of(own.config)), own))
    return done


def _note(found: Discovery, done: Iterable[UnitResult], built: Container[str]) -> None:
    """Say what was left alone, and for which release each unit was checked. `built` are the folders of charts."""
    for folder in found.folders:
        if (os.path.dirname(folder) or os.curdir) not in built:  # noqa: PTH120
            options.note(about_folder(folder))
    for each in done:
        for text in (*each.notes, *[f"{ref} is external: it is not in git" for ref in each.external]):
            options.note(f"{each.name}: {text}" if each.name else text)
        if each.objects:
            options.note(f"{each.name or 'other files'}: the target release is KubeVirt {each.release}")


def _is_unbuilt(result: UnitResult) -> bool:
    return not result.built


def _check_cache(request: Request) -> None:
    """Raises: UsageError where the cache that is named could come with what is judged."""
    if request.flags["cache"] not in ("", users_folder()):
        _check_apart(request)


def _check_apart(request: Request) -> None:
    judged = (path for path in (*request.paths, *request.kustomizations) if path != STDIN)
    check_apart(request.flags["cache"], judged)


def _cache(request: Request) -> Cache | None:
    folder, note = request.flags["cache"], options.note if request.flags["verbose"] else lambda _: None
    if not folder:
        return None
    try:
        _check_apart(request)
    except UsageError as error:  # the user's own folder: nobody has named it
        note(str(error))
        return None
    return Cache(folder, note=note)
