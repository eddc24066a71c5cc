"""What a command was asked to read, found once: the configs, the units, and what there is to say of files that are not read.

All commands and the language server get their units here. Nothing is built or parsed yet.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from operator import attrgetter

from krm_fn.base.errors import UsageError
from krm_fn.base.suggestions import meant
from krm_fn.base.value import Value
from krm_fn.base.wording import listed
from krm_fn.kubevirt.settings import Config
from krm_fn.repositories import building, charts, clusters, deliveries, delivering, packages, written
from krm_fn.repositories.building import Builder
from krm_fn.repositories.clusters import Configs, TargetSettings, as_it_is
from krm_fn.repositories.discovery import discover, with_deliveries
from krm_fn.repositories.judging import UnitResult, judge_problem, of_no_object, release_of
from krm_fn.repositories.kustomization import joined, named_root
from krm_fn.repositories.loading import Unit
from krm_fn.repositories.packages import Package
from krm_fn.repositories.types import Discovery, Problem, Target
from krm_fn.sources.files import Paths, folder_of, is_in_repository, is_within, repository
from krm_fn.sources.reading import STDIN
from krm_fn.sources.salvage import passed_over
from krm_fn.sources.steps import PIPELINE, Step

NO_PACKAGE = Package(folder="")


def nothing(_: str) -> bool:
    """False for every path."""
    return False


class Asked(Value):
    """What a command was asked to read, and how.

    `near` are more paths whose configs count. `root` is the folder with the whole repository, "" for the git tree. `reach` is a
    folder beyond which nothing is read. `config_file` is the config that a flag names; `trusted`: who runs this names it, else
    a file of the repository does. `laid` lays the values of flags over a config, `checking` makes of that the config to judge
    with. `exclude` are globs, relative to the working directory; `leaves_out` is true of more paths that are not read. `target`
    and `cluster` are the names of the only target and the only cluster that are wanted, "" for all. `variables` are values that
    deliveries take from outside git. `apart`: the files of each folder are a unit of their own; else all files with the same
    settings are one. `whole`: all kustomizations are wanted, also those that hold nothing that counts. `applied`: what Flux
    applies is a target, in place of what it is made of. `using` gives what builds Kustomizations of Flux that apply others.
    """

    paths: tuple[str, ...] = (os.curdir,)
    kustomizations: tuple[str, ...] = ()
    root: str = ""
    reach: str = os.curdir
    near: tuple[str, ...] = ()
    config_file: str | None = None
    trusted: bool = True
    isolated: bool = False
    laid: Callable[[Config], Config] = staticmethod(as_it_is)
    checking: Callable[[Config], Config] = staticmethod(as_it_is)
    exclude: tuple[str, ...] = ()
    leaves_out: Callable[[str], bool] = staticmethod(nothing)  # a function would become a method
    build_flags: tuple[str, ...] = ()
    timeout: float = building.TIMEOUT
    follow: bool = False
    helm: bool = False
    target: str = ""
    cluster: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    apart: bool = False
    whole: bool = False
    applied: bool = True
    using: Callable[[], Builder | None] = staticmethod(building.builder)

    @property
    def folders(self) -> tuple[str, ...]:
        """The paths that are folders."""
        return tuple(path for path in self.paths if path != STDIN and os.path.isdir(path))  # noqa: PTH112

    @property
    def named(self) -> tuple[str, ...]:
        """The other paths."""
        folders = self.folders
        return tuple(path for path in self.paths if path not in folders)


class Workspace:
    """What is in the folders that were asked for. Each config is read once; units with the same settings share one value.

    Raises: ConfigError; InputError where a folder can't be listed.
    """

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.configs = Configs(
            (*asked.paths, *asked.near),
            file=asked.config_file,
            isolated=asked.isolated,
            flags=asked.laid,
            exclude=asked.exclude,
            build_flags=asked.build_flags,
            trusted=asked.trusted,
        )
        self._settings: dict[tuple[str, ...], TargetSettings] = {}
        self._searched: dict[tuple[str, ...], Discovery] = {}  # what is in folders, as nothing delivers it
        self._delivered: dict[str, list[Target]] = {}  # what is delivered of repositories
        self.repositories: list[deliveries.Deliveries] = []
        self.found = self._discovered(asked.folders)

    @cached_property
    def others(self) -> list[Unit]:
        """The units of the repository beside those that were asked for: they are part of the same clusters.

        Only beside folders: who names files alone has the rest of the repository not searched.
        """
        own = {unit.called for unit in self.units}
        left = [unit for unit in (*self.targets, *self.files, *self.charts) if unit.called not in own]
        found = (unit for each in self._beside for unit in each.units)
        return [unit.but(is_other=True) for unit in (*left, *found) if unit.called not in own]

    @cached_property
    def _beside(self) -> list[Workspace]:
        """The whole repositories of the folders that were asked for, where these are a part of them."""
        asked = [os.path.realpath(path) for path in self.asked.folders]
        roots = {repository(folder) for folder in asked if is_in_repository(folder)}
        if self.asked.root:
            roots = {os.path.realpath(self.asked.root)}
        beside = (root for root in sorted(roots) if not any(is_within(root, [folder]) for folder in asked))
        return [self.around(os.path.relpath(root)) for root in beside]

    def around(self, root: str) -> Workspace:
        """The same for the folder `root`, with what was read already."""
        made = object.__new__(Workspace)
        made.asked = self.asked.but(paths=(root,), whole=False, target="", cluster="")
        made.configs, made._settings = self.configs, self._settings
        made._searched, made._delivered, made.repositories = self._searched, self._delivered, self.repositories
        made.found = made._discovered((root,))
        return made

    def _discovered(self, folders: tuple[str, ...]) -> Discovery:
        if not folders:
            return Discovery()
        found = self._search(folders)
        if self.asked.applied:
            found = with_deliveries(found, self._applied(folders), folders)
        return found._replace(skipped=tuple(each for each in found.skipped if not self._excludes(each.file)))

    def _search(self, folders: tuple[str, ...]) -> Discovery:
        if folders not in self._searched:
            found = discover(folders, excludes=self._excludes, follow=self.asked.follow, reach=self.asked.reach)
            self._searched[folders] = found
        return self._searched[folders]

    def _applied(self, folders: Iterable[str]) -> Iterator[Target]:
        """What is delivered of the repositories that folders are in."""
        for root in dict.fromkeys(named_root(folder, self.asked.root or repository(folder)) for folder in folders):
            if root not in self._delivered:
                self.repositories.append(self._deliveries(root))
                self._delivered[root] = [*self.repositories[-1].deliveries()]
            yield from self._delivered[root]

    def _deliveries(self, here: str) -> deliveries.Deliveries:
        files = [file for file in (joined(".", each) for each in Paths([here]).files(here)) if not self._excludes(file)]
        helm, known = self.asked.helm or self.settings(here).helm, self.configs.clusters_at(here)
        how = deliveries.How(self.asked.using(), self.asked.timeout, helm=helm, clusters=known, whole=self.asked.whole)
        return deliveries.Deliveries(here, files, partial(self._search, (here,)), how)

    def _excludes(self, path: str) -> bool:
        return self.asked.leaves_out(path) or self.configs.excludes(path)

    def settings(self, place: str, cluster: str = "") -> TargetSettings:
        """The settings to judge with of what is in a folder, or of a file; `cluster` is the one of the config that it is for.

        Raises: ConfigError.
        """
        found = self.configs.settings_for(place or os.curdir, cluster)
        key = found.file, found.cluster
        if key not in self._settings:
            stated = (*found.variables, *self.asked.variables)
            stated = stated if self.asked.whole else delivering.unfilled(stated)
            self._settings[key] = found.but(config=self.asked.checking(found.config), variables=stated)
        return self._settings[key]

    @property
    def is_one_bundle(self) -> bool:
        """True if all that was asked for is one unit: only files, and no cluster of which a config knows anything.

        Raises: ConfigError.
        """
        found, asked = self.found, self.asked
        if found.targets or found.excluded or found.charts or asked.target or asked.cluster or self.unlisted:
            return False
        folders = dict.fromkeys(map(folder_of, self.found.files))
        if any(self._package(folder).steps for folder in folders):
            return False
        every = map(self.settings, folders)
        return not any(settings.external or settings.cluster or settings.rendered for settings in every)

    @cached_property
    def targets(self) -> list[Unit]:
        """The kustomizations that no other one uses, and that may hold something that counts.

        Also those of which the texts say that they can't be built: trying costs nothing, and what they lack may count.
        """
        counting = self.found.targets if self.asked.whole else filter(written.may_count, self.found.targets)
        return [self._unit(each, self._settings_of(each)) for each in counting]

    def _settings_of(self, target: Target) -> TargetSettings:
        """The settings of a target: what applies it decides for which cluster it is, where the config says so."""
        own, delivery = self.settings(target.folder), target.delivery
        if own.cluster or delivery is None:
            return own
        if delivery.cluster in self.configs.clusters_at(target.folder):
            return self.settings(target.folder, delivery.cluster)
        named = self.settings(folder_of(delivery.file)).cluster
        known = {each.delivery.cluster for found in self._delivered.values() for each in found if each.delivery}
        return own.but(cluster=named or (delivery.cluster if len(known) > 1 else ""))

    @property
    def idle(self) -> int:
        """The number of the other kustomizations, which are not built."""
        return len(self.found.targets) - len(self.targets)

    @cached_property
    def files(self) -> list[Unit]:
        """The files in folders that no kustomization uses."""
        return self.of_files(self.found.files)

    @cached_property
    def unlisted(self) -> frozenset[str]:
        """The files beside a kustomization that does not list them, and that nothing else of the repository uses."""
        listing = {folder for folder in self.found.listing if not packages.is_in_package(folder)}
        beside = frozenset(file for file in self.found.files if folder_of(file) in listing)
        return beside.difference(*(each.found.used for each in self._beside)) if beside else beside

    def of_files(self, files: Iterable[str]) -> list[Unit]:
        """The units of files. Raises: ConfigError."""
        kustomized = frozenset(folder for target in self.found.targets for folder in target.kustomizations)
        groups: dict[object, tuple[TargetSettings, Package, list[str]]] = {}
        of_folders: dict[str, list[str]] = {}  # the files of a group, by each folder that is in it
        for file in files:
            folder = folder_of(file)
            if folder not in of_folders:
                package = self._package(folder)
                settings = self.settings(package.folder or folder)
                key = package.folder or (folder if self.asked.apart else (settings.file, settings.cluster))
                of_folders[folder] = groups.setdefault(key, (settings, package, []))[2]
            of_folders[folder].append(file)
        return [
            Unit(
                settings=own,
                files=tuple(files),
                kustomized=kustomized,
                unlisted=self.unlisted.intersection(files),
                package=package.folder,
                notes=package.notes,
                steps=_steps(package.steps, own),
            )
            for own, package, files in groups.values()
        ]

    def _unit(self, target: Target, settings: TargetSettings) -> Unit:
        """The unit of a target."""
        own = self._plugins.steps(target.folder, target.delivery) if target.delivery else ()
        local = target.is_chart or target.is_files
        steps = (each.but(local=local or each.host == PIPELINE) for each in _steps(own, settings))
        return Unit(settings=settings, name=target.name, target=target, steps=tuple(steps))

    def _package(self, folder: str) -> Package:
        """What a tool applies together with the files of a folder that no kustomization uses; without a step, only `apart`."""
        package = self._kpt_packages.get(folder, NO_PACKAGE)
        return package if package.steps or self.asked.apart else NO_PACKAGE

    @cached_property
    def _kpt_packages(self) -> dict[str, Package]:
        tops = [joined(os.curdir, each) for each in self.asked.folders]
        return packages.kpt_packages(dict.fromkeys(map(folder_of, self.found.files)), tops)

    @cached_property
    def _plugins(self) -> packages.Plugins:
        """What Argo CD has this program render, also where the plugins stand elsewhere in the repository."""
        whole = (self, *self._beside)
        every = (file for each in whole for file in (*each.found.files, *each.found.used))
        tops = [self.asked.root or repository(folder) for folder in self.asked.folders if not self.asked.follow]
        return packages.Plugins(dict.fromkeys(sorted(every)), tops, lambda folder: self.settings(folder).stated)

    @cached_property
    def charts(self) -> list[Unit]:
        """The Helm charts that are to be built."""
        return [self._unit(each, own) for each, own in self._charts() if self.asked.helm or own.helm]

    def _charts(self) -> Iterator[tuple[Target, TargetSettings]]:
        """All charts; what only other charts use makes nothing by itself."""
        return ((each, self._settings_of(each)) for each in self.found.charts if not charts.is_library(each))

    @property
    def units(self) -> list[Unit]:
        """The units of the folders that are wanted. Raises: UsageError where none is."""
        return self.wanted([*self.targets, *self.files, *self.charts])

    def wanted(self, units: list[Unit], *, may_lack: bool = False) -> list[Unit]:
        """Those of the units whose target and cluster are asked for.

        Raises: UsageError for a name that no unit has, unless it `may_lack` here.
        """
        flags = (self.asked.target, "--target", "name"), (self.asked.cluster, "--cluster", "settings.cluster")
        for name, flag, of in ((name, flag, attrgetter(path)) for name, flag, path in flags):
            names = sorted({of(unit) for unit in units} - {""}) if name else []
            if name and name not in names and not may_lack:
                hint = f"did you mean {likely}" if (likely := meant(name, tuple(names))) else f"expected {listed(names)}"
                raise UsageError(f"{flag}: there is no {name}; {hint if names else 'there is none here'}")
            units = [unit for unit in units if not name or of(unit) == name]
        return units

    def passed_over(self) -> list[UnitResult]:
        """What there is to say of files that are not read."""
        owners = [(skipped, self.settings(os.path.dirname(skipped.file))) for skipped in self.found.skipped]  # noqa: PTH120
        return [
            of_no_object(passed_over((skipped,), own.config.severity, release_of(own.config)), own) for skipped, own in owners
        ]

    def about(self) -> list[UnitResult]:
        """What there is to say of charts that are not built, of files that are not read, and of the config at the root."""
        done = [
            judge_problem(Unit(settings=own, target=each), Problem(file=each.file, reason="flag", is_chart=True))
            for each, own in self._charts()
            if not (self.asked.helm or own.helm) and charts.makes_vms(each)
        ]
        done += [] if self.is_one_bundle else self.passed_over()  # what is read as one tells of its own
        if unmatched := self.configs.unmatched():
            own = self.settings(os.curdir)
            done.append(of_no_object(clusters.findings(unmatched, own.config.severity, release_of(own.config)), own))
        if self.idle and not (self.targets or self.files or self.charts):
            done.append(of_no_object((), self.settings(os.curdir)).but(idle=self.idle))
        return done


def _steps(own: tuple[Step, ...], settings: TargetSettings) -> tuple[Step, ...]:
    """The calls of this program that follow those of kustomizations."""
    return (*own, *((Step(host=PIPELINE, settings=settings.stated),) if settings.rendered else ()))
