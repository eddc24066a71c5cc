"""One unit of a run, judged: files that are read, or a target that is built. What comes of it goes from process to process."""

from __future__ import annotations

import json
import os
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from krm_fn.base import bundle
from krm_fn.base.bundle import Bundle
from krm_fn.base.objects import kind_of, ref_of
from krm_fn.base.value import Value
from krm_fn.findings import fingerprints, results
from krm_fn.kubevirt import configuration
from krm_fn.pipeline import stages
from krm_fn.pipeline.stages import Before, Judging
from krm_fn.repositories import building, charts, embedded, fixes, problems, sharing, wants
from krm_fn.repositories.fixes import Fixing
from krm_fn.repositories.homes import Homes
from krm_fn.repositories.material import Material
from krm_fn.repositories.templated import templated
from krm_fn.repositories.traces import read_built
from krm_fn.repositories.types import Problem
from krm_fn.rules.facts.bundles import NO_SURROUNDINGS
from krm_fn.sources import reading, unbuilt
from krm_fn.sources.builds import TIMEOUT
from krm_fn.sources.places import Places
from krm_fn.sources.reading import NothingFoundError, Sources
from krm_fn.sources.salvage import Doubts, passed_over, reported, salvage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Self

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object, Ref
    from krm_fn.findings.finding import Finding, Suppressed
    from krm_fn.kubevirt.releases import Release
    from krm_fn.kubevirt.settings import Config
    from krm_fn.pipeline.stages import Outcome
    from krm_fn.repositories.building import Builder, Built
    from krm_fn.repositories.builds import Builds
    from krm_fn.repositories.clusters import TargetSettings
    from krm_fn.repositories.sharing import Offer, Offered, Reach
    from krm_fn.repositories.types import Target
    from krm_fn.rules.facts.bundles import Surroundings
    from krm_fn.sources.salvage import Lost

VM = "VirtualMachine"


class Subject(Value):
    """One object that was checked: which, and the file it stands in, "" where that is not known."""

    ref: Ref
    file: str = ""
    item: int = -1
    inside: tuple[str | int, ...] = ()


class Unit(Value):
    """What is judged as one bundle: a target, or files that no kustomization uses; `name` is "" for these.

    `kustomized` are the folders with kustomizations. `before` is what the unit was at an earlier commit, for policies.
    """

    settings: TargetSettings
    name: str = ""
    target: Target | None = None
    files: tuple[str, ...] = ()
    kustomized: frozenset[str] = frozenset()
    before: Before | None = None


class Options(Value):
    """How all units of a run are read and judged.

    `using` is the program that builds kustomizations, None where there is none. `builds` has what was built before, None where
    nothing is kept. `quoted`: the lines of findings are wanted.
    `spool` is a file in which a target that is built waits to be judged again, "" where there is none. `listed`: every object
    that was judged is wanted. `kept`: what a unit may take of others is wanted, for a cache. `fixing`: so is what can be fixed;
    `proposing`: also values that a user has to decide on. `unchanged`: for policies, each object replaces itself.
    `describing` makes of a unit what else is wanted; it can be pickled, and so can what it gives. `runs` is the number of units
    that share the work of a run, rounded up to a power of two.
    """

    using: Builder | None = None
    builds: Builds | None = None
    timeout: float = TIMEOUT
    follow: bool = False
    ignores: bool = True
    definitions: bool = True
    schemas: tuple[Object, ...] = ()
    quoted: bool = False
    listed: bool = True
    kept: bool = False
    spool: str = ""
    fixing: bool = False
    proposing: bool = False
    unchanged: bool = False
    describing: Callable[[Material], Any] | None = None
    runs: int = 1


class UnitResult(Value):
    """What came of one unit, in little memory.

    `findings` are those that count, `suppressed` those that an annotation silences, `off` the numbers of those of rules that
    the config turns off. `objects` is the number of objects, `subjects` are these where they are wanted. `lines` are the lines
    of files that findings name, as far as they may be shown. `offers` are the objects that other units may use, `wants` are
    names of objects that this one lacks. `external` are objects outside of git that it uses, `notes` what was left alone.
    `severity` is that of the config, `items` is the number of items, `vms` that of VMs among them.
    `built` is False where a target can't be built. `reach` is there where it was judged with what others offer, for a cache.
    `fixing` is what can be fixed, where that is wanted, and `described` what else was wanted. `cluster` is the config's.
    """

    release: Release
    fail_on: str
    name: str = ""
    findings: tuple[Finding, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    off: dict[str, int] = {}  # noqa: RUF012  nobody writes into a Value
    subjects: tuple[Subject, ...] = ()
    files: tuple[str, ...] = ()
    lines: dict[tuple[str, int], str] = {}  # noqa: RUF012
    offers: tuple[Offer, ...] = ()
    external: tuple[Ref, ...] = ()
    notes: tuple[str, ...] = ()
    severity: dict[str, str] = {}  # noqa: RUF012
    items: int = 0
    objects: int = 0
    vms: int = 0
    wants: frozenset[str] = frozenset()
    built: bool = True
    reach: Reach | None = None
    fixing: Fixing | None = None
    described: Any = None
    cluster: str = ""

    def renumbered(self, before: int) -> Self:
        """The same behind so many items of other units; its findings name the target."""
        return self.but(
            findings=tuple(self._of_target(each, before) for each in self.findings),
            suppressed=tuple(each.but(finding=self._of_target(each.finding, before)) for each in self.suppressed),
            subjects=tuple(each.but(item=each.item + before) for each in self.subjects),
        )

    def _of_target(self, finding: Finding, before: int) -> Finding:
        item = finding.item + before if finding.item >= 0 else -1
        return finding.but(item=item, targets=(self.name,) if self.name else ())


def judge(unit: Unit, options: Options, offered: Offered | None = None) -> UnitResult:
    """What comes of a unit; `offered` is what the units of its cluster offer one another, where that is known."""
    lost: list[Lost] = []
    notes: list[str] = []
    try:
        found = read_unit(unit, options, lost, notes)
    except NothingFoundError:
        return of_no_object((), unit.settings).but(name=unit.name, notes=tuple(notes))
    if isinstance(found, Problem):
        unbuilt = judge_problem(unit, found)
        return unbuilt.but(fixing=Fixing(reads=unit.target.inputs)) if options.fixing and unit.target else unbuilt
    reach = sharing.reach(found.items, b"\n".join(source.data for source in found.sources)) if offered else None
    taken = sharing.taken_by(reach, offered) if offered and reach else None
    surroundings = (taken or sharing.Taken()).surroundings(unit.settings.external, options.runs)
    result = judge_sources(found, lost, unit.settings, options, surroundings, target=unit.target, before=unit.before)
    if unit.target and result.wants and options.spool and offered is None and not lost:
        spooled(found, options.spool)
    offers = sharing.offers(found.items, unit.name, found.places)
    notes += taken.notes if taken else ()
    result = result.but(name=unit.name, cluster=unit.settings.cluster, offers=offers, notes=(*notes, *result.notes))
    return result.but(reach=reach) if options.kept else result


def read_unit(unit: Unit, options: Options, lost: list[Lost], notes: list[str]) -> Sources | Problem:
    """What a unit consists of; documents that can't be read go into `lost`."""
    if unit.target is None:
        return reading.read(
            (),
            found=unit.files,
            kustomized=unit.kustomized,
            unbuilt=False,
            follow=options.follow,
            note=notes.append,
            repair=repairing(lost, frozenset()),
            reports=True,
        )
    if unit.target.is_chart:
        return _read_chart(unit.target, options, lost)
    if options.spool and os.path.exists(options.spool):  # noqa: PTH110
        return _unspooled(unit.target, options.spool)
    built = built_of(unit.target, unit.settings.build_flags, options)
    return built if isinstance(built, Problem) else read_built(unit.target, built)


def built_of(target: Target, flags: Sequence[str], options: Options) -> Built | Problem:
    """What kustomize makes of a target, or why it makes nothing."""
    if options.using is None:
        return Problem(file=target.file, reason="program")
    build = options.builds.build if options.builds else building.build
    return build(target, options.using, flags=flags, timeout=options.timeout)


def _read_chart(chart: Target, options: Options, lost: list[Lost]) -> Sources | Problem:
    if options.spool and os.path.exists(options.spool):  # noqa: PTH110
        return _unspooled(chart, options.spool)
    built = charts.build(chart, options.timeout)
    return built if isinstance(built, Problem) else charts.read_built(chart, built, lost)


def spooled(found: Sources, spool: str) -> None:
    """Keep what was built of a target for the second time that it is judged. A process that dies leaves no half of it."""
    source = found.sources[0]
    with open(spool + ".new", "wb") as out:  # noqa: PTH123
        out.write(json.dumps(source.origins).encode() + b"\n" + source.data)
    os.replace(spool + ".new", spool)  # noqa: PTH105


def _unspooled(target: Target, spool: str) -> Sources:
    with open(spool, "rb") as kept:  # noqa: PTH123
        origins, _, data = kept.read().partition(b"\n")
    return reading.of_build(data, target.folder, json.loads(origins))


def repairing(lost: list[Lost], named: frozenset[str]) -> Callable[[bytes, str], bytes]:
    """What makes a text readable by emptying documents; it notes them in `lost`.

    A document in a folder that has neither apiVersion nor kind is no Kubernetes object (a playbook, say): it is left alone.
    """

    def repair(data: bytes, file: str) -> bytes:
        data, found = salvage(data, file)
        lost.extend(each.but(found=file not in named) for each in found if file in named or each.is_object)
        return data

    return repair


def judge_problem(unit: Unit, problem: Problem) -> UnitResult:
    """What there is to say of a target that can't be built."""
    config = unit.settings.config
    if problem.is_chart and not (unit.target and charts.makes_vms(unit.target)):
        return of_no_object((), unit.settings).but(
            name=unit.name, notes=("this chart is not built, and makes no VMs",), built=False
        )
    found = problems.findings((problem,), config.severity, release_of(config))
    return of_no_object(found, unit.settings).but(name=unit.name, built=False)


def of_no_object(found: Iterable[Finding], settings: TargetSettings) -> UnitResult:
    """A result that is only findings about no object, such as files that can't be read."""
    config = settings.config
    printed = tuple(fingerprints.printed(found))
    return UnitResult(release=release_of(config), fail_on=config.fail_on, severity=dict(config.severity), findings=printed)


def release_of(config: Config) -> Release:
    """The target release where no object decides it."""
    return configuration.release_of(Bundle(()), config)


def judge_sources(
    found: Sources,
    lost: list[Lost],
    settings: TargetSettings,
    options: Options,
    surroundings: Surroundings = NO_SURROUNDINGS,
    *,
    target: Target | None = None,
    before: Before | None = None,
) -> UnitResult:
    """What comes of what was read. Raises: InputError for a document that can't be read where the config silences that."""
    config = settings.config
    judging = Judging(
        ignores=options.ignores,
        definitions=options.definitions,
        off=True,
        units=found.units,
        surroundings=surroundings,
        before=Before(items=found.items, config=config) if options.unchanged else before,
    )
    outcome = stages.render(found.items, config, places=found.places, schemas=options.schemas, judging=judging)
    in_templates = templated(found, config, surroundings, judging, options.schemas)
    places = Places(found, lost, config.policies)
    result = _with_findings(found, in_templates.added_to(outcome), config, lost, places)
    result = _with_entries(result, [*bundle.entries(found.items), *in_templates.entries], outcome)
    result = result.but(notes=(*in_templates.notes, *embedded.notes(found)))
    if options.listed:
        result = result.but(subjects=tuple(_subjects(found, in_templates.entries)))
    homes = Homes(target, found, places) if target else None
    if options.fixing:
        reads = target.inputs if target else tuple(source.file for source in found.sources if source.file)
        origin = homes.origin if homes else partial(fixes.written_at, places)
        result = result.but(fixing=fixes.fixing(result.findings, reads, origin, certain=not options.proposing))
    if homes:
        silenced = homes.of(each.finding for each in result.suppressed)
        suppressed = tuple(each.but(finding=at) for each, at in zip(result.suppressed, silenced, strict=True))
        result = result.but(findings=results.ordered(homes.of(result.findings)), suppressed=suppressed)
    if options.describing:
        material = Material(
            found=found, settings=settings, surroundings=surroundings, places=places, target=target, homes=homes
        )
        result = result.but(described=options.describing(material))
    if options.quoted:
        named = [(finding.file, finding.line) for finding in result.findings if finding.line]
        result = result.but(lines={(file, line): places.line(file, line) for file, line in named})
    return result


def _with_findings(found: Sources, outcome: Outcome, config: Config, lost: list[Lost], places: Places) -> UnitResult:
    of_input = reported(lost, config.severity, outcome.release)
    of_input += passed_over(found.skipped, config.severity, outcome.release)
    silent = [each.finding for each in outcome.ignored]
    doubts = Doubts(lost)
    kept, parts = unbuilt.certain(outcome.findings, found)
    certain = [finding for finding in kept if not doubts.concern(finding)]
    certain += parts.findings(found, config.severity, outcome.release)
    marked = fingerprints.printed((*of_input, *places.located((*certain, *silent))))
    counted = len(of_input) + len(certain)
    return UnitResult(
        findings=results.ordered(marked[:counted]) if of_input else tuple(marked[:counted]),
        suppressed=tuple(each.but(finding=finding) for finding, each in zip(marked[counted:], outcome.ignored, strict=True)),
        off=dict(Counter(finding.rule for finding in outcome.off)),
        fail_on=config.fail_on,
        severity=dict(config.severity),
        release=outcome.release,
        items=len(found.items),
        files=tuple(dict.fromkeys(file for file, _ in found.places)),
        external=outcome.external,
    )


def _with_entries(result: UnitResult, entries: Sequence[Entry], outcome: Outcome) -> UnitResult:
    """The result with what is counted of all objects that were judged, and the names that they use."""
    return result.but(
        objects=len(entries),
        vms=sum(kind_of(entry.obj) == VM for entry in entries),
        wants=frozenset(wants.wanted(outcome.findings, [entry.obj for entry in entries])),
    )


def _subjects(found: Sources, in_templates: Iterable[Entry]) -> Iterator[Subject]:
    places = found.places
    for entry in (*bundle.entries(found.items), *in_templates):
        yield Subject(ref=ref_of(entry.obj), file=places[entry.item][0], item=entry.item, inside=entry.path)
