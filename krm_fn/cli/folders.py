"""The targets in folders, rendered: each kustomization that no other one uses, and the files of each other folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from krm_fn.base.console import file_name
from krm_fn.cli import build_flags, options
from krm_fn.cli.units import configs_of, of_repository
from krm_fn.findings import results
from krm_fn.pipeline import stages
from krm_fn.pipeline.stages import Judging
from krm_fn.repositories import building, merging
from krm_fn.repositories.discovery import discover
from krm_fn.repositories.judging import Unit, UnitResult, judge_problem
from krm_fn.repositories.rendering import RenderedUnit, render_all, strict
from krm_fn.repositories.settings import Settings
from krm_fn.repositories.types import Discovery
from krm_fn.sources.places import Places
from krm_fn.sources.reading import NothingFoundError
from krm_fn.sources.salvage import UNREADABLE_DOCUMENT, passed_over
from krm_fn.sources.skipping import about_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from krm_fn.cli.progress import Progress
    from krm_fn.cli.units import Request
    from krm_fn.findings.finding import Finding
    from krm_fn.repositories.clusters import Configs
    from krm_fn.repositories.judging import Options
    from krm_fn.repositories.rendering import Write
    from krm_fn.repositories.types import Problem


class Search:
    """What is in the folders that a command was called with, and the configs there."""

    def __init__(self, request: Request, bar: Progress, *, follow: bool, without: str = "") -> None:
        """Files below the folder `without` are not read. Raises: ConfigError, InputError, UsageError."""
        build_flags.check_kustomizations(request.kustomizations)
        self.request, self.configs = request, configs_of(request)
        with bar.at("Searching"):
            excludes = _without(self.configs, without)
            found = discover(request.folders, excludes=excludes, follow=follow) if request.folders else Discovery()
        self.found = found._replace(skipped=tuple(each for each in found.skipped if not excludes(each.file)))

    @property
    def is_repository(self) -> bool:
        """True where the folders have more than files that are objects of one bundle."""
        return bool(self.found.targets or self.found.problems or self.found.excluded)


def _without(configs: Configs, folder: str) -> Callable[[str], bool]:
    top = os.path.join(os.path.realpath(folder), "") if folder else ""  # noqa: PTH118

    def excludes(path: str) -> bool:
        folder, name = os.path.split(path)
        place = os.path.join(os.path.realpath(folder), name)  # noqa: PTH118  the file itself may be a link
        return (bool(top) and place.startswith(top)) or configs.excludes(path)

    return excludes


def render_units(search: Search, how: Options, write: Write, bar: Progress) -> list[RenderedUnit]:
    """What comes of the targets in folders, of the files there, and of what else was named. Raises: InputError."""
    request, found = search.request, search.found
    using = build_flags.builder()
    settings = Settings(search.configs, request.checking)
    units = [Unit(settings=settings(target.folder), name=target.name, target=target) for target in found.targets]
    problems = list(found.problems)
    if using is None and (missing := building.missing(found.targets)):
        units, problems = [], [*problems, missing]
    loose = [Unit(settings=settings(folder), files=files) for folder, files in by_folder(found.files)]
    done = render_all([*units, *loose], how.but(using=using), write, jobs=request.flags["jobs"], watch=bar.watch)
    about = [strict(judge_problem(_unit_of(problem, settings), problem)) for problem in problems]
    about += of_repository(found, search.configs, settings)
    done += [RenderedUnit(result=each) for each in about]
    rest = tuple(path for path in request.paths if path not in request.folders)
    if rest or request.kustomizations:
        done.append(_of_rest(request, rest, how, write, bar))
    if not any(each.result.objects or each.result.findings for each in done):
        raise NothingFoundError(
            f"no Kubernetes object found in {', '.join(request.paths)}; expected YAML or JSON with apiVersion and kind"
        )
    return done


def _unit_of(problem: Problem, settings: Settings) -> Unit:
    return Unit(settings=settings(os.path.dirname(problem.file)))  # noqa: PTH120


def by_folder(files: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The files of each folder: those of different folders may be for different clusters."""
    groups: dict[str, list[str]] = {}
    for file in files:
        groups.setdefault(os.path.dirname(file) or os.curdir, []).append(file)  # noqa: PTH120
    return ((folder, tuple(group)) for folder, group in groups.items())


def _of_rest(request: Request, paths: tuple[str, ...], how: Options, write: Write, bar: Progress) -> RenderedUnit:
    """What comes of files, stdin and the builds of `-k`, which are one bundle."""
    flags = request.flags
    found = options.read_sources(
        paths,
        request.kustomizations,
        verbose=flags["verbose"],
        timeout=how.timeout,
        build_flags=flags["build_flags"],
        follow_links=how.follow,
        watch=bar.watch,
    )
    config = options.settings(found, request.config_file, flags, near=(*paths, *request.kustomizations))
    outcome = stages.render(found.items, config, places=found.places, judging=Judging(ignores=how.ignores))
    skipped = passed_over(found.skipped, config.severity, outcome.release)
    result = UnitResult(
        release=outcome.release,
        fail_on=config.fail_on,
        findings=results.ordered([*skipped, *Places(found).located(outcome.findings)]),
        objects=len(found.items),
        items=len(found.items),
    )
    return RenderedUnit(result=result, written=write(found, outcome))


def combined_findings(done: Sequence[RenderedUnit]) -> list[Finding]:
    """The findings of all units, in order; one that several targets share is there once, with all of them."""
    before = 0
    found: list[Finding] = []
    for each in done:
        found += each.result.renumbered(before).findings
        before += each.result.items
    return list(results.ordered(merging.merged(found)))


def exit_code(done: Collection[UnitResult]) -> int:
    """1 where a finding fails the run by the config of its unit, and where a document can't be read."""
    unreadable = any(finding.rule == UNREADABLE_DOCUMENT for each in done for finding in each.findings)
    return 1 if unreadable else max((results.exit_code(each.findings, each.fail_on) for each in done), default=0)


def note_all(search: Search, done: Iterable[RenderedUnit]) -> None:
    """Say what was left alone, and for which release each unit was rendered."""
    for folder in search.found.folders:
        options.note(about_folder(folder))
    for each in (unit.result for unit in done):
        name = file_name(each.name) if each.name else ""
        for text in (*each.notes, *[f"{ref} is external: it is not in git" for ref in each.external]):
            options.note(f"{name}: {text}" if name else text)
        if each.objects and name:
            options.note(f"{name}: the target release is KubeVirt {each.release}")
