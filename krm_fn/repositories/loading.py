"""What a unit consists of: files that are read, or a target that is built. Each unit is loaded once in a run.

What was loaded waits as compressed text until all units of a run are loaded. Then each is parsed and worked on, with what the
others of its cluster offer.
"""

from __future__ import annotations

import copy
import os
import pickle
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from krm_fn.base import bundle
from krm_fn.base.errors import InputError
from krm_fn.base.objects import Object
from krm_fn.base.placeholders import with_defaults
from krm_fn.base.value import Value
from krm_fn.pipeline.stages import Before
from krm_fn.repositories import building, charts, delivering, names, sharing, templated, written
from krm_fn.repositories.building import Builder, Built
from krm_fn.repositories.homes import Homes, Material
from krm_fn.repositories.sharing import Offer, Reach, Taken
from krm_fn.repositories.types import Problem, Target
from krm_fn.rules.facts.bundles import Surroundings
from krm_fn.sources import reading, unbuilt
from krm_fn.sources.places import Places
from krm_fn.sources.reading import NothingFoundError, Texts, Watch, unwatched
from krm_fn.sources.salvage import Lost, repairing
from krm_fn.sources.source import Source, Sources
from krm_fn.sources.steps import Step

if TYPE_CHECKING:
    from krm_fn.repositories.builds import Builds
    from krm_fn.repositories.clusters import TargetSettings


FAST = 1  # level of compression
BUILT = "built"  # the kind of a unit of which nobody knows what applies it
NO_PROGRAM = Problem(file="", reason="program")  # of no file: it is told once for all targets


class Unit(Value):
    """What is applied together: a target, or files that no kustomization uses; `name` is "" for these.

    `texts` are those of what the user named as one: files, stdin, builds. `kustomized` are the folders with kustomizations,
    `unlisted` those of its files that nothing applies: the kustomization beside them does not list them.
    `before` is what the unit was at an earlier commit, for policies. `is_other`: nobody asked for it; it only offers objects.
    `package` is the folder of which a tool applies all files together, "" for none. `steps` are the calls of this program that
    follow those of kustomizations.
    """

    settings: TargetSettings
    name: str = ""
    target: Target | None = None
    files: tuple[str, ...] = ()
    texts: Texts | None = None
    is_other: bool = False
    kustomized: frozenset[str] = frozenset()
    unlisted: frozenset[str] = frozenset()
    before: Before | None = None
    package: str = ""
    notes: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()

    @property
    def inputs(self) -> tuple[str, ...]:
        """The files that it is made of."""
        return self.target.inputs if self.target else self.files

    @property
    def is_suspended(self) -> bool:
        """True where what applies it is switched off."""
        return bool(self.target and self.target.delivery and self.target.delivery.is_suspended)

    @property
    def kind(self) -> str:
        """What tells it from the other units of its folder, in other commits, too: "" for files."""
        if self.target is None:
            return ""
        return self.target.delivery.label if self.target.delivery else BUILT

    @property
    def called(self) -> str:
        """What a note calls it: its target, or the folder of its files."""
        return self.name or self.package or (os.path.dirname(self.files[0]) if self.files else "") or os.curdir  # noqa: PTH120


class Options(Value):
    """How all units of a run are read and judged.

    `using` is the program that builds kustomizations, None where there is none. `builds` has what was built before, None where
    nothing is kept. `quoted`: the lines of findings are wanted. `listed`: every object that was judged is wanted. `fixing`: so
    is what can be fixed; `proposing`: also values that a user has to decide on. `unchanged`: for policies, each object replaces
    itself. `describing` makes of a unit what else is wanted; it can be pickled, and so can what it gives. `runs` is the number
    of units that share the work of a run, rounded up to a power of two.
    """

    using: Builder | None = None
    builds: Builds | None = None
    timeout: float = building.TIMEOUT
    follow: bool = False
    ignores: bool = True
    definitions: bool = True
    schemas: tuple[Object, ...] = ()
    quoted: bool = False
    listed: bool = True
    fixing: bool = False
    proposing: bool = False
    unchanged: bool = False
    describing: Callable[[Material], Any] | None = None
    runs: int = 1


class Parsed(Value):
    """The objects of a unit, documents of it that can't be read, and what was left alone, a note each.

    `problem` says why a target can't be built; its objects are then those of its files, as they are written. A unit without
    objects may have only notes. `folder` is where it is. `steps` are the calls of this program before the objects are
    applied, in order; `names` are those that the objects have in their files, and `affixes` the prefixes and suffixes that
    kustomizations have given to names. `unlisted` are files whose machines nothing applies; with `is_suspended`, nothing
    applies any of the objects now. In `found`, the defaults of placeholders count; `written` has them as they are written,
    None where there is none.
    """

    folder: str
    found: Sources = Sources(sources=())
    written: Sources | None = None
    lost: tuple[Lost, ...] = ()
    notes: tuple[str, ...] = ()
    problem: Problem | None = None
    steps: tuple[Step, ...] = ()
    names: tuple[str, ...] = ()
    affixes: tuple[tuple[str, str], ...] = ()
    unlisted: frozenset[str] = frozenset()
    is_suspended: bool = False

    @property
    def deployed(self) -> Sources:
        """The objects without machines that nothing applies."""
        files = frozenset(source.file for source in self.found.sources) if self.is_suspended else self.unlisted
        return unbuilt.deployed(self.found, files)

    @property
    def hidden(self) -> tuple[str, ...]:
        """How many machines stand inside objects of other kinds, a note for each kind."""
        return tuple(templated.notes(self.found))

    @property
    def text(self) -> bytes:
        """All texts, one behind the other."""
        return b"\n".join(source.data for source in self.found.sources)

    def beside(self, taken: Taken, settings: TargetSettings, runs: int = 1) -> Surroundings:
        """What the objects are judged with; `taken` is what the unit takes of others."""
        pairs = enumerate(zip(self.written.items, self.found.items, strict=True) if self.written else ())
        written = {number: item for number, (item, counting) in pairs if item is not counting}
        return taken.surroundings(settings.externals, runs).but(affixes=self.affixes, written=written)

    def material(self, unit: Unit, taken: Taken) -> Material:
        """What the objects that are applied are sized, explained and shown by."""
        found = self.deployed
        target, places = unit.target if found.is_built else None, Places(found)
        return Material(
            found=found,
            settings=unit.settings,
            surroundings=self.beside(taken, unit.settings),
            places=places,
            target=target,
            homes=Homes(target, found, places) if target else None,
        )

    @property
    def reach(self) -> Reach:
        """What decides what the unit takes of others."""
        within = next((step.context for step in self.steps if step.context is not None), None)
        return sharing.reach(self.found.items, self.text, self.folder, within)


class Loaded(Value):
    """A unit that waits for the others of a run, in little memory: its texts, compressed, and what it offers others.

    `wants` are names of what its VMs refer to. `reach` decides what it takes of others, None where nobody asked for it.
    """

    texts: bytes = b""
    offers: tuple[Offer, ...] = ()
    wants: frozenset[str] = frozenset()
    reach: Reach | None = None
    built: bool = True


class UnitPiece(NamedTuple):
    """A unit as it goes to the process that works on it.

    `texts` is what was loaded of it, b"" where nothing was. `key` is the one that it has in a cache, b"" where nothing is kept.
    """

    number: int
    unit: Unit
    texts: bytes = b""
    key: bytes = b""


def texts_of(unit: Unit, options: Options) -> Texts | Problem:
    """The texts of a unit, or why its target can't be built. Raises: InputError."""
    with delivering.entered(unit.target):
        return _texts_of(unit, options)


def _texts_of(unit: Unit, options: Options) -> Texts | Problem:
    target = unit.target
    if unit.texts:
        return unit.texts
    if target is None or target.is_files:
        found = reading.texts((), found=unit.inputs, kustomized=unit.kustomized, unbuilt=False, follow=options.follow)
        return found.but(separate=target is None)
    if target.is_chart:
        from krm_fn.repositories.flux_targets import made_of_chart  # few repositories have charts

        made = made_of_chart(target, options.using, options.timeout)
        return made if isinstance(made, Problem) else Texts(given=(reading.Given(data=made, folder=target.folder),))
    built = built_of(target, unit.settings.build_flags, options)
    if isinstance(built, Problem):
        return built
    unknown: list[str] = []
    given = delivering.given(target, built, dict(unit.settings.variables), unknown)
    if isinstance(given, Problem):
        return given.but(counts=written.counts(target, given))
    return Texts(given=(given,), steps=built.steps, affixes=built.affixes, unknown=tuple(dict.fromkeys(unknown)))


def built_of(target: Target, flags: Sequence[str], options: Options) -> Built | Problem:
    """What kustomize makes of a target, or why it makes nothing."""
    build = options.builds.build if options.builds else building.build
    if options.using is None:
        return NO_PROGRAM.but(counts=written.counts(target, NO_PROGRAM))
    how = partial(build, using=options.using, flags=flags, timeout=options.timeout)
    found = how(target)
    if isinstance(found, Problem):
        found = delivering.unbuilt(target, found, how)
    return found.but(counts=written.counts(target, found)) if isinstance(found, Problem) else found


def parsed(unit: Unit, texts: Texts | Problem, watch: Watch = unwatched) -> Parsed:
    """The objects of the texts of a unit. Raises: InputError for what is built and can't be read."""
    with delivering.entered(unit.target):
        found = _parsed(unit, texts, watch)
    made: dict[int, Any] = {}
    written = found.written and delivering.in_namespace(found.written, unit.target, made)
    return found.but(found=delivering.in_namespace(found.found, unit.target, made), written=written)


def _parsed(unit: Unit, texts: Texts | Problem, watch: Watch) -> Parsed:
    lost: list[Lost] = []
    if isinstance(texts, Problem):
        own = written.read(unit.target, lost) if unit.target and texts.counts and not texts.is_chart else None
        problem = texts.but(instead="written" if own else "")
        found = own or Sources(sources=())
        return _with_defaults(Parsed(folder=unit.called, found=found, lost=tuple(lost), problem=problem))
    notes = [*unit.notes, *delivering.notes(unit.target, texts.unknown)]
    if unit.target and unit.target.is_chart:
        found = charts.read_built(unit.target, texts.given[0].data, lost)
    elif unit.target and not unit.target.is_files:
        found = reading.of_built(texts.given[0])
    else:
        try:
            repair = repairing(lost, texts.named)
            found = reading.parsed(texts, note=notes.append, repair=repair, reports=True, watch=watch)
        except NothingFoundError:
            found = Sources(sources=())
    names = texts.given[0].names if texts.steps else ()
    return _with_defaults(
        Parsed(
            folder=unit.called,
            found=found,
            lost=tuple(lost),
            notes=tuple(notes),
            steps=(*texts.steps, *unit.steps),
            names=names,
            affixes=texts.affixes,
            unlisted=unit.unlisted,
            is_suspended=unit.is_suspended,
        )
    )


def _with_defaults(of: Parsed) -> Parsed:
    """The same with the defaults of placeholders."""
    sources = tuple(map(_filled, of.found.sources))
    if all(old is new for old, new in zip(of.found.sources, sources, strict=True)):
        return of
    return of.but(found=of.found.but(sources=sources), written=of.found)


def _filled(source: Source) -> Source:
    if not any(mark in source.data for mark in (b"${", b"{{")):
        return source
    filled = copy.copy(source.text)
    filled.items = list(map(with_defaults, source.text.items))
    changed = any(old is not new for old, new in zip(source.text.items, filled.items, strict=True))
    return source.but(text=filled) if changed else source


def read(unit: Unit, options: Options, watch: Watch = unwatched) -> Parsed:
    """The objects of a unit. Raises: InputError."""
    return parsed(unit, texts_of(unit, options), watch)


def load(unit: Unit, options: Options, *, reach: bool = False) -> Loaded:
    """A unit that waits for the others. `reach`: what it may take of them is wanted.

    Raises: InputError, unless nobody asked for the unit: then it offers nothing.
    """
    try:
        texts = texts_of(unit, options)
        found = parsed(unit, texts)
    except InputError:
        if not unit.is_other:
            raise
        return Loaded(built=False)
    offers = sharing.offers(found.found.items, unit.called, found.found.places)
    if unit.is_other:  # nobody who names a folder expects that a distant one changes what KubeVirt deploys
        offers = tuple(offer for offer in offers if not sharing.is_deployed(offer))
    return Loaded(
        texts=b"" if unit.is_other else zlib.compress(pickle.dumps(texts), FAST),
        offers=offers,
        wants=frozenset(names.wanted((), [entry.obj for entry in bundle.entries(found.found.items)])),
        reach=found.reach if reach else None,
        built=found.problem is None,
    )


def unpacked(texts: bytes) -> Texts | Problem:
    """The texts of a `Loaded`, in a process of the same run."""
    found: Texts | Problem = pickle.loads(zlib.decompress(texts))  # noqa: S301  a process of this run made it
    return found
