"""The targets of a workspace, judged again when a file of theirs changes, with the text that is not saved yet."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from krm_fn.base.errors import RenderError
from krm_fn.base.keeping import Keeper
from krm_fn.config.keys import KIND
from krm_fn.config.repository import NAME
from krm_fn.findings import fingerprints
from krm_fn.findings.finding import Finding
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.settings import Config
from krm_fn.lsp.index import NameIndex, Occurrence, occurrences
from krm_fn.lsp.outline import Outline
from krm_fn.repositories import building, delivering
from krm_fn.repositories.builds import Builds
from krm_fn.repositories.clusters import validating
from krm_fn.repositories.fixes import Fix, agreed
from krm_fn.repositories.flux_values import DELIVERING, HOLDING
from krm_fn.repositories.homes import Material
from krm_fn.repositories.judging import UnitResult, judge, release_of
from krm_fn.repositories.kustomization import read as read_kustomization
from krm_fn.repositories.loading import Options, Parsed, Unit, built_of, read
from krm_fn.repositories.packages import is_below
from krm_fn.repositories.pools import tidied
from krm_fn.repositories.running import taken_of, used_by_others, without_used
from krm_fn.repositories.sharing import NOTHING, Offer, Taken, offered_by_cluster, offers, runs
from krm_fn.repositories.types import Target
from krm_fn.repositories.workspace import Asked
from krm_fn.repositories.workspace import Workspace as Searched
from krm_fn.sources.files import KUSTOMIZATIONS, SUFFIXES, content, is_within, read_found, repository, with_unsaved
from krm_fn.sources.salvage import findings as salvaged
from krm_fn.sources.salvage import salvage

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


# Files that decide what the targets are, or how they are judged.
DECIDING = frozenset((*KUSTOMIZATIONS, NAME))
# So does a text with what delivers, with values of its variables, or with the config of a step.
CONFIG = KIND.encode()


NOWHERE = Asked(paths=(), checking=validating)


class ReadUnit(NamedTuple):
    """A unit as it was read, and what it offers others."""

    parsed: Parsed
    offers: tuple[Offer, ...]


class EditorWorkspace:
    """The folder in which the server works: the working directory. Paths run from there, with forward slashes.

    `texts` are the unsaved texts of files, by path. `error` is that of a config that is wrong; nothing is judged then.
    With `afresh`, each judgement begins with nothing. While `may_build` is False, no kustomization or chart is built: they name
    programs, and their files have no findings then. Only one thread may use it.
    """

    def __init__(self, *, afresh: bool = False) -> None:
        self.texts: dict[str, str] = {}
        self.may_build = True
        self.error: RenderError | None = None
        self._searched = Searched(NOWHERE)
        self._options = Options(listed=False, fixing=True, proposing=True, builds=None if afresh else Builds())
        self._before = None if afresh else Builds()  # of older texts
        self._units: list[Unit] = []
        self._deciding: frozenset[str] = frozenset()  # the files that decided what the units are
        self._due: set[int] = set()  # the numbers of the units that are to be judged
        self._loaded: dict[int, ReadUnit] = {}  # each unit as it was read last
        self._judged: dict[
            int, tuple[ReadUnit, Taken, UnitResult]
        ] = {}  # what was read, what it takes of others, and the judgement
        self._results: list[tuple[Unit, UnitResult]] = []  # of the last judgement
        self._about: list[UnitResult] = []  # what there is to say of files that are not read
        self._outlines: dict[str, tuple[object, Outline, list[Occurrence]]] = {}
        self._keeping: AbstractContextManager[object] = nullcontext() if afresh else Keeper()

    def change(self, files: Iterable[str]) -> None:
        """Take note of the units that these files belong to; find the targets again if a file may have made others."""
        files = tuple(files)
        if not self._units or any(map(self._makes_others, files)):
            self._search()
        changed = {number for number, unit in enumerate(self._units) if any(uses(unit, file) for file in files)}
        self._due |= changed
        if self._options.builds:
            self._options.builds.forget_failed(self._units[number].name for number in changed)

    def builds_due(self) -> list[Callable[[], None]]:
        """What builds the targets that are to be judged, one each; see `_builds`."""
        return self._builds(self._units[number] for number in sorted(self._due))

    def builds_for(self, file: str) -> list[Callable[[], None]]:
        """What builds the target whose objects `objects` returns for a file; see `_builds`."""
        unit = self._unit(file)
        return self._builds([unit] if unit else ())

    def builds_with(
        self, file: str, texts_of: Callable[[Iterable[str]], Mapping[str, bytes] | None]
    ) -> list[Callable[[], None]]:
        """What builds the target whose objects `objects_with` returns for a file and these texts; see `_builds`."""
        unit = self._unit(file)
        options = self._options.but(builds=self._before)

        def build(unit: Unit) -> None:
            texts = texts_of(unit.inputs)
            if texts is not None:
                _build(unit, options, texts)

        return [partial(build, unit)] if unit and unit.target and self._before else []

    def _builds(self, units: Iterable[Unit]) -> list[Callable[[], None]]:
        """What builds the targets of units, with the texts as they are now. Any thread may call it."""
        texts = self._unsaved()
        return [partial(_build, unit, self._options, texts) for unit in units if unit.target and self._options.builds]

    def judge(self) -> None:
        """Judge the units that have changed, unless nothing could be found."""
        if self.error and not self._units:
            return
        # a whole workspace can be large: nothing is kept of its documents
        with self._reading(), self._keeping if self._loaded else nullcontext():
            try:
                self._loaded.update((number, self._load(self._units[number])) for number in sorted(self._due))
                self._complete()
                self._due.clear()
                self.error = None
            except RenderError as error:
                self.error = error

    def _makes_others(self, file: str) -> bool:
        """True for a file that may change what the targets are, or how: it decides that, has come, gone or become a link."""
        decides = file.rpartition("/")[2] in DECIDING or is_within(file, self._searched.configs.policy_paths)
        decides = decides or file in self._deciding or self._decides(file)
        return decides or self._unit(file) is None or os.path.islink(file) or not os.path.exists(file)  # noqa: PTH110, PTH114

    def _decides(self, file: str) -> bool:
        """True for a file with a text that decides what is applied, and how."""
        data = self.texts[file].encode(errors="surrogatepass") if file in self.texts else content(file)
        return bool(DELIVERING.search(data) or CONFIG in data or (self._deciding and HOLDING.search(data)))

    def _search(self) -> None:
        """Find the targets again: all of them are to be judged."""
        self._units, self._loaded, self._judged, self.error = [], {}, {}, None
        with self._reading():
            try:
                self._searched = Searched(NOWHERE.but(paths=(os.curdir,), using=self._builder))
                self._take_units()
                self._about = self._searched.passed_over()
                self._deciding = frozenset()
                self._deciding = frozenset(filter(self._decides, self.files()))
            except RenderError as error:
                self.error = error
                self._units, self._results = [], []
        self._due = set(range(len(self._units)))
        if self._options.builds:
            self._options.builds.forget_all_but(unit.name for unit in self._units)
            self._before = Builds()

    def findings(self) -> dict[str, list[Finding]]:
        """The findings of all units by file; those about no file are left out."""
        found: dict[str, list[Finding]] = {}
        each = [finding for _, result in self._results for finding in result.renumbered(0).findings]
        each += [finding for result in self._about for finding in result.findings]
        each += [finding for file in self.texts for finding in self._unreadable(file)]
        for finding in fingerprints.merged(each):
            if finding.file:
                found.setdefault(finding.file, []).append(finding)
        return found

    def fixes(self, file: str) -> dict[str, Fix]:
        """The fixes in a file on which all units agree, by the fingerprints of their findings."""
        found = agreed(result.fixing for _, result in self._results if result.fixing)
        return {fix.fingerprint: fix for fix in found if fix.file == file}

    def release(self, file: str) -> Release:
        """The release that a file is checked for."""
        found = next((result for unit, result in self._results if uses(unit, file)), None)
        return found.release if found else release_of(self.config(file))

    def releases(self) -> list[Release]:
        """The releases that the targets are judged for, each once."""
        return list(dict.fromkeys(result.release for _, result in self._results))

    def config(self, file: str) -> Config:
        """The config of a file's folder, or the default one where that is wrong."""
        try:
            return self._searched.settings(os.path.dirname(file)).config  # noqa: PTH120
        except RenderError:
            return validating(Config())

    def material(self, file: str) -> Material | None:
        """The first unit that uses a file, with what it took of others in the last judgement; None if it can't be read."""
        number = self._number(file)
        if number is None:
            return None
        unit, taken = self._units[number], self._judged[number][1] if number in self._judged else NOTHING
        with self._reading():
            found = self._read(unit, self._options)
        return found.material(unit, taken) if found else None

    def objects_with(self, file: str, texts: Mapping[str, bytes]) -> Sequence[Any] | None:
        """The objects of the same unit with these texts, by the resolved names of its files."""
        unit = self._unit(file)
        with tidied(), with_unsaved(texts):
            found = self._read(unit, self._options.but(builds=self._before)) if unit else None
        return found.found.items if found else None

    def inputs(self, file: str) -> tuple[str, ...]:
        """The files of the first unit that uses a file."""
        unit = self._unit(file)
        return unit.inputs if unit else ()

    def text(self, file: str) -> str:
        """The text of a file, unsaved or not; "" if it can't be read, or leads out of the repository."""
        if file in self.texts:
            return self.texts[file]
        try:
            return read_found(file)[0].decode(errors="replace") if is_within(file, (repository(os.curdir),)) else ""
        except OSError:
            return ""

    def _unreadable(self, file: str) -> Iterator[Finding]:
        """What can't be read of an open file that kustomize builds: it names the kustomization instead.

        Files of a chart that a kustomization names are left out: only helm reads them.
        """
        unit = self._unit(file)
        if unit and unit.target:
            data = self.texts[file].encode(errors="surrogatepass")
            try:
                _, lost = salvage(data, file)
            except RenderError:
                return
            if lost and not self._is_of_chart(file, unit.target):
                yield from salvaged(lost, self.config(file).severity, self.release(file))

    def _is_of_chart(self, file: str, target: Target) -> bool:
        """True for a file of the charts that the kustomizations of a target name."""
        files = [each for each in target.inputs if os.path.basename(each) in KUSTOMIZATIONS]  # noqa: PTH119
        with self._reading():
            found = [read_kustomization(os.path.dirname(each) or os.curdir, each) for each in files]  # noqa: PTH120
        return is_below(file, [chart.path for each in found if each for chart in each.kustomization.charts])

    def _unit(self, file: str) -> Unit | None:
        number = self._number(file)
        return None if number is None else self._units[number]

    def _number(self, file: str) -> int | None:
        return next((number for number, unit in enumerate(self._units) if uses(unit, file)), None)

    def _load(self, unit: Unit) -> ReadUnit:
        found = read(unit, self._options)
        return ReadUnit(found, offers(found.found.items, unit.called, found.found.places))

    def _read(self, unit: Unit, options: Options) -> Parsed | None:
        try:
            found = read(unit, options)
        except RenderError:
            return None
        return found if found.found.sources else None

    def outline(self, file: str) -> Outline:
        """The outline of a file, with its unsaved text."""
        return self._outlined(file)[0]

    def index(self) -> NameIndex:
        """The names in all files of the workspace."""
        return NameIndex({file: self._outlined(file)[1] for file in self.files()})

    def files(self) -> list[str]:
        """The files of the workspace that may have objects."""
        used = {file for target in self._searched.found.targets for file in target.inputs if file.endswith(SUFFIXES)}
        return sorted({*self._searched.found.files, *used, *self.texts})

    def _builder(self) -> building.Builder | None:
        """The program that builds, None where nothing may be built."""
        return building.builder() if self.may_build else None

    def _take_units(self) -> None:
        using = self._builder()
        self._options = self._options.but(using=using)
        self._units = [*(self._searched.targets if self.may_build else ()), *self._searched.files]
        self._options = self._options.but(runs=runs(self._units))

    def _complete(self) -> None:
        """Judge what has changed, or takes something else of others in its cluster than before."""
        clusters = [unit.settings.cluster for unit in self._units]
        loaded = [self._loaded[number] for number in range(len(self._units))]
        offered = offered_by_cluster(zip(clusters, (each.offers for each in loaded), strict=True))
        found = []
        for number, (unit, each) in enumerate(zip(self._units, loaded, strict=True)):
            taken, known = taken_of(unit, each.parsed, offered), self._judged.get(number)
            if not (known and self._options.builds and known[0] is each and known[1] == taken):
                known = self._judged[number] = each, taken, judge(unit, each.parsed, taken, self._options)
            found.append(known[2])
        used = used_by_others(self._units, found)
        self._results = [
            (unit, without_used(result, used[unit.settings.cluster])) for unit, result in zip(self._units, found, strict=True)
        ]

    def _outlined(self, file: str) -> tuple[Outline, list[Occurrence]]:
        text = self.texts.get(file)
        known = self._outlines.get(file)
        state: object = text
        if text is None:
            try:
                data, state = read_found(file)
            except OSError:
                data, state = b"", None
            text = data.decode(errors="replace") if not known or known[0] != state else ""
        if not known or known[0] != state:
            outline = Outline(text)
            known = self._outlines[file] = state, outline, list(occurrences(file, outline))
        return known[1:]

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Read the unsaved texts, and look for cycles of objects now and then: the command turns that off."""
        with tidied(), with_unsaved(self._unsaved()):
            yield

    def _unsaved(self) -> dict[str, bytes]:
        """The unsaved texts, by the resolved names of their files."""
        return {os.path.realpath(file): text.encode(errors="surrogatepass") for file, text in self.texts.items()}


def _build(unit: Unit, options: Options, texts: Mapping[str, bytes]) -> None:
    """Build the target of a unit, for a judgement that follows; that one says what is wrong with it."""
    if unit.target:
        with with_unsaved(texts), delivering.entered(unit.target), suppress(RenderError, OSError):
            built_of(unit.target, unit.settings.build_flags, options)


def uses(unit: Unit, file: str) -> bool:
    """True if a unit is made of a file."""
    return file in unit.inputs
