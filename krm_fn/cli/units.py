"""What the arguments of a command name, as the units of a run, and what comes of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from krm_fn.base.console import file_name
from krm_fn.base.errors import UsageError
from krm_fn.base.objects import kind_of
from krm_fn.base.value import Value
from krm_fn.base.wording import listed
from krm_fn.cli import build_flags, options
from krm_fn.cli.build_flags import read_schemas, together
from krm_fn.cli.formats import counted
from krm_fn.cli.progress import Progress
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline.stages import Before
from krm_fn.repositories import running, written
from krm_fn.repositories.cache import Cache, check_apart, users_folder
from krm_fn.repositories.clusters import TargetSettings, as_it_is
from krm_fn.repositories.judging import UnitResult
from krm_fn.repositories.loading import Options, Unit
from krm_fn.repositories.running import Work
from krm_fn.repositories.types import Discovery
from krm_fn.repositories.workspace import Asked, Workspace, nothing
from krm_fn.sources import reading
from krm_fn.sources.reading import STDIN, NothingFoundError
from krm_fn.sources.source import about_folder

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from krm_fn.repositories.distributing import Workers
Key = tuple[str, str]


PROCESSES, DASK = "processes", "dask"


executor_options = together(
    click.option(
        "--executor",
        type=click.Choice((PROCESSES, DASK)),
        default=PROCESSES,
        show_default=True,
        help="What builds and checks the kustomizations in folders: processes of this machine, or workers of a Dask cluster. "
        "dask needs more packages: `pip install '.[dask]'` in a clone.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="The address of the Dask scheduler, such as tcp://HOST:8786. Only with --executor dask.",
    ),
)


def check_executor(flags: Mapping[str, Any]) -> None:
    """Raises: UsageError where one of the two options lacks the other."""
    if flags["executor"] == DASK and not flags["scheduler"]:
        raise UsageError("--executor dask needs --scheduler ADDRESS")
    if flags["scheduler"] and flags["executor"] != DASK:
        raise UsageError("--scheduler needs --executor dask")


def workers_of(flags: Mapping[str, Any]) -> AbstractContextManager[Workers | None]:
    """The workers that the options name, None for processes of this machine. Raises: UsageError where they can't be used."""
    if flags["executor"] != DASK:
        return nullcontext()
    from krm_fn.repositories.distributing import Workers

    return closing(Workers(flags["scheduler"], note=options.note))


NOTHING = Discovery()
MOST_NAMED = 3  # targets in a message
# The key of all that was named as one bundle.
ONE = ("", "-")


class CommandRequest(Value):
    """What a command was called with, as flags by their names. `checking` makes the config to judge with of the one of users.

    `before` is what the units replace, by their keys, for policies. For the rest, see `Asked`.
    """

    flags: Mapping[str, Any]
    checking: Callable[[Config], Config] = staticmethod(as_it_is)
    before: Mapping[Key, Before] = {}
    apart: bool = False
    whole: bool = False
    applied: bool = True
    leaves_out: Callable[[str], bool] = staticmethod(nothing)
    root: str = ""

    @property
    def named(self) -> tuple[str, ...]:
        """The paths, and the kustomizations of `-k`."""
        return (*self.flags["paths"], *self.flags["kustomizations"])

    @property
    def asked(self) -> Asked:
        """What is to be read, and how. Raises: UsageError for a flag in place of a folder, ConfigError for a wrong flag."""
        flags = self.flags
        return Asked(
            paths=flags["paths"],
            kustomizations=tuple(build_flags.check_kustomizations(flags["kustomizations"])),
            root=self.root,
            config_file=flags["config_file"],
            isolated=flags["isolated"],
            laid=options.laying(flags),
            checking=self.checking,
            exclude=tuple(flags["exclude"]),
            leaves_out=self.leaves_out,
            build_flags=tuple(flags["build_flags"]),
            timeout=flags["timeout"],
            follow=flags["follow_links"],
            helm=flags["helm"],
            target=flags["target"] or "",
            cluster=flags["cluster"] or "",
            variables=flags.get("variables", ()),
            apart=self.apart,
            whole=self.whole,
            applied=self.applied,
            using=build_flags.builder,
        )

    def searched(self, bar: Progress) -> Workspace:
        """What is in the folders that were named. Raises: ConfigError, InputError, UsageError."""
        asked = self.asked
        options.check_named(asked.paths, asked.kustomizations)
        with bar.at("Searching"):
            return Workspace(asked)

    def run(
        self, units: Sequence[Unit], work: Work, title: str, bar: Progress, others: Sequence[Unit] = (), *, here: bool = False
    ) -> list[Any]:
        """What a work gives for each unit, in order; see `running.run`."""
        flags = self.flags
        how = Options(
            using=build_flags.builder(),
            timeout=flags["timeout"],
            follow=flags["follow_links"],
            ignores=not flags.get("no_ignores"),
        )
        return running.run(units, how, work, title=title, jobs=flags["jobs"], watch=bar.watch, others=others, here=here)


def judging_options(flags: Mapping[str, Any], **more: Any) -> Options:
    """How `check` and `report` judge units, by their flags."""
    return Options(
        timeout=flags["timeout"],
        follow=flags["follow_links"],
        ignores=not flags["no_ignores"],
        definitions=not flags["isolated"],
        schemas=read_schemas(flags["schemas"]),
        **more,
    )


def key_of(unit: Unit) -> Key:
    """What a unit is called at another commit, too."""
    if unit.texts:
        return ONE
    return (unit.target.folder, unit.kind) if unit.target else ("", unit.settings.file)


def units_of(request: CommandRequest, workspace: Workspace) -> list[Unit]:
    """The units that are to be judged: those of folders, and all else that was named as one; or all as one.

    Raises: ConfigError, InputError, UsageError.
    """
    asked = workspace.asked
    if workspace.is_one_bundle:
        found = [named(request, asked.paths, asked.kustomizations)]
    else:
        found = workspace.units
        if asked.named or asked.kustomizations:
            found.append(named(request, asked.named, asked.kustomizations))
    return [unit.but(before=request.before.get(key_of(unit))) for unit in found] if request.before else found


def named(request: CommandRequest, paths: tuple[str, ...], kustomizations: tuple[str, ...]) -> Unit:
    """The unit of paths and builds that are one bundle. Raises: ConfigError, InputError, UsageError."""
    asked, flags, near = request.asked, request.flags, (*paths, *kustomizations)
    texts = reading.texts(
        paths,
        built=build_flags.built(kustomizations, timeout=asked.timeout, flags=asked.build_flags, follow=asked.follow),
        follow=asked.follow,
        unbuilt=False,
    )
    texts = texts.but(separate=not request.whole)  # what is rendered together is applied together
    found = reading.configuring(texts)
    config = options.settings(found, asked.config_file, flags, near=near, verbose=flags["verbose"])
    file = options.config_file_of(found, asked.config_file, flags, near)
    return Unit(settings=TargetSettings(config=asked.checking(config), file=file), texts=texts)


def results_of(request: CommandRequest, how: Options, bar: Progress) -> list[UnitResult]:
    """What comes of each unit, and what there is to say of the rest.

    Raises: ConfigError, InputError, UsageError.
    """
    check_executor(request.flags)
    _check_cache(request)
    workspace = request.searched(bar)
    units = units_of(request, workspace)
    done = _judged(request, how.but(using=build_flags.builder()), bar, units, workspace.others)
    done += workspace.about()
    if request.flags["verbose"]:
        note_all(workspace, units, done)
    if request.flags.get("summary"):
        _note_unjudged(workspace, units)
    if not any(each.findings for each in done):
        refuse_nothing(request.named, done, workspace.found)
    return done


def severity_at(request: CommandRequest, file: str, found: Sequence[UnitResult]) -> Mapping[str, str]:
    """The severities for findings about a file that is no manifest: those of the only unit, else of the config next to it.

    Raises: ConfigError.
    """
    if len(found) == 1:
        return found[0].severity
    nowhere = Workspace(request.asked.but(paths=()))
    return nowhere.settings(os.path.dirname(file)).config.severity  # noqa: PTH120


def refuse_nothing(paths: Sequence[str], done: Iterable[UnitResult], found: Discovery = NOTHING) -> int:
    """The exit code 0. Raises: NothingFoundError if no object was judged; it says why, as far as findings do not say so.

    Kustomizations without objects of KubeVirt are no mistake: a note says that there are only these.
    """
    done, where = list(done), ", ".join(map(file_name, paths))
    if any(each.objects for each in done):
        return 0
    if idle := sum(each.idle for each in done):
        if found is not NOTHING:  # else it is said already
            options.note(f"nothing to judge in {where}: {counted(idle, 'kustomization')} without objects of KubeVirt")
        return 0
    unbuilt = [each.name for each in done if each.name and not each.built]
    findings = sum(len(each.findings) for each in done)
    reasons = [
        f"not built: {listed(unbuilt, 'and', most=MOST_NAMED)}" if unbuilt else "",
        f"excluded: {counted(len(found.excluded), 'file')}" if found.excluded else "",
        f"findings: {findings}" if findings else "",
    ]
    if because := ", ".join(filter(None, reasons)):
        raise NothingFoundError(f"nothing is judged in {where}: {because}; use --verbose to see why, or name other paths")
    raise NothingFoundError(f"no Kubernetes object found in {where}; expected YAML or JSON with apiVersion and kind")


def _judged(
    request: CommandRequest, how: Options, bar: Progress, units: Sequence[Unit], others: Sequence[Unit]
) -> list[UnitResult]:
    """What comes of units, judged by processes of this machine or by workers."""
    judged = partial(running.judge_all, watch=partial(bar.watch, failed=lambda result: not result.built), reading=bar.watch)
    with workers_of(request.flags) as workers:
        cache, jobs = _cache(request), request.flags["jobs"]
        done = judged(units, how, jobs=jobs, others=others, cache=cache, workers=workers)
        if request.flags["verbose"] and workers and workers.missed:
            options.note(f"what workers did not check was checked on this machine: {workers.missed} times")
    return done


def note_all(workspace: Workspace, units: Iterable[Unit], done: Iterable[UnitResult]) -> None:
    """Say what was left alone, and for which release each unit was judged."""
    built: Container[str] = {each.target.folder for each in units if each.target and each.target.is_chart}
    for folder in workspace.found.folders:
        if (os.path.dirname(folder) or os.curdir) not in built:  # noqa: PTH120
            options.note(about_folder(folder))
    for target in chain.from_iterable(each.elsewhere for each in workspace.repositories):
        if own := target.delivery:
            options.note(f"{target.name}: the {kind_of(own.obj)} {own.name} applies {own.revision}, which is not judged")
    if workspace.idle:
        options.note(f"{counted(workspace.idle, 'kustomization')} without objects of KubeVirt: not built")
    several = not workspace.is_one_bundle
    for each in done:
        name = file_name(each.name) if each.name else ""
        for text in (*each.notes, *each.hidden, *[f"{ref} is external: it is not in git" for ref in each.external]):
            options.note(f"{name}: {text}" if name else text)
        if each.objects:
            called = f"{name or 'other files'}: " if several else ""
            options.note(f"{called}the target release is KubeVirt {each.release}")


def _note_unjudged(workspace: Workspace, units: Iterable[Unit]) -> None:
    """Say which files that may hold objects of KubeVirt nothing judges."""
    charts = [each.target.folder for each in units if each.target and each.target.is_chart]
    if files := [*map(file_name, written.unjudged(workspace.asked.folders, workspace.found, charts))]:
        about = f"not judged: {counted(len(files), 'file')} that may have objects of KubeVirt"
        options.note(f"{about}: {listed(files, 'and', most=MOST_NAMED)}")


def _check_cache(request: CommandRequest) -> None:
    """Raises: UsageError where the cache that is named could come with what is judged."""
    if request.flags["cache"] not in ("", users_folder()):
        _check_apart(request)


def _check_apart(request: CommandRequest) -> None:
    judged = (path for path in request.named if path != STDIN)
    check_apart(request.flags["cache"], judged)


def _cache(request: CommandRequest) -> Cache | None:
    folder, note = request.flags["cache"], options.note if request.flags["verbose"] else lambda _: None
    if not folder:
        return None
    try:
        _check_apart(request)
    except UsageError as error:  # the user's own folder: nobody has named it
        note(str(error))
        return None
    return Cache(folder, note=note)
