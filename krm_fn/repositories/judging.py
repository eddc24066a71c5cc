"""One unit of a run, judged: files that are read, or a target that is built. What comes of it goes from process to process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from krm_fn.base import bundle
from krm_fn.base.bundle import Bundle, Entry
from krm_fn.base.objects import Ref, kind_of, ref_of
from krm_fn.base.value import Value
from krm_fn.findings import fingerprints, results
from krm_fn.findings.finding import Finding, Suppressed
from krm_fn.kubevirt import configuration
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline import stages
from krm_fn.pipeline.stages import Before, Judging, Outcome
from krm_fn.repositories import charts, delivering, fixes, names, written
from krm_fn.repositories.fixes import Fix, Fixing
from krm_fn.repositories.homes import Homes, Material
from krm_fn.repositories.leaving import lacking, leaving
from krm_fn.repositories.sharing import UNUSED, Taken
from krm_fn.repositories.templated import templated
from krm_fn.repositories.types import Problem
from krm_fn.rules import registry
from krm_fn.rules.facts.bundles import Surroundings
from krm_fn.rules.facts.inputs import InputFacts
from krm_fn.sources import unbuilt
from krm_fn.sources.places import Places
from krm_fn.sources.salvage import Doubts, passed_over, reported
from krm_fn.sources.source import Sources

if TYPE_CHECKING:
    from krm_fn.repositories.clusters import TargetSettings
    from krm_fn.repositories.loading import Options, Parsed, Unit


VM = "VirtualMachine"
# Rules about references to instancetypes and preferences, and about objects that nothing refers to.
OF_REFERENCES = frozenset(("unresolved-instancetype", "unresolved-preference", "missing-revision", "failed-inference", *UNUSED))
# Rules that say nothing of what leaves a step: it got objects that stay in git, to which labels for new VMs may refer, too.
OF_INPUTS = frozenset(("unknown-default-label", *UNUSED))
# Where these references stand: `former-name` is about others, too.
# Rules that are off in the function, which tells of a build, and on where a repository is judged.
ON_HERE = {"clear-text-password": "info"}
OUT_OF_SYNC = "out-of-sync"
FORMER_NAME, OF_MATCHERS = "former-name", (("instancetype", "name"), ("preference", "name"))


class CheckedObject(Value):
    """One object that was checked: which, and the file it stands in, "" where that is not known."""

    ref: Ref
    file: str = ""
    item: int = -1
    inside: tuple[str | int, ...] = ()


class UnitResult(Value):
    """What came of one unit, in little memory.

    `findings` are those that count, `suppressed` those that an annotation silences, `off` the numbers of those of rules that
    the config turns off. `objects` is the number of objects, `subjects` are these where they are wanted. `lines` are the lines
    of files that findings name, as far as they may be shown. `wants` are names of objects that this one lacks. `external` are
    objects outside of git that it uses, `notes` what was left alone, `hidden` notes about machines inside other objects.
    `severity` is that of the config, `items` is the number of items, `vms` that of VMs among them. `built` is False where a
    target can't be built. `fixing` is what can be fixed, where that is wanted, and `described` what else was wanted. `cluster`
    is the config's. `idle` is the number of kustomizations without objects of KubeVirt, where there is nothing else.
    """

    release: Release
    fail_on: str
    name: str = ""
    findings: tuple[Finding, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    off: dict[str, int] = {}  # noqa: RUF012  nobody writes into a Value
    subjects: tuple[CheckedObject, ...] = ()
    files: tuple[str, ...] = ()
    lines: dict[tuple[str, int], str] = {}  # noqa: RUF012
    external: tuple[Ref, ...] = ()
    notes: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    severity: dict[str, str] = {}  # noqa: RUF012
    items: int = 0
    objects: int = 0
    vms: int = 0
    wants: frozenset[str] = frozenset()
    built: bool = True
    fixing: Fixing | None = None
    described: Any = None
    cluster: str = ""
    idle: int = 0
    dropped: dict[tuple[str, int], list[Finding]] = {}  # noqa: RUF012

    def renumbered(self, before: int) -> Self:
        """The same behind so many items of other units; its findings name the target."""
        return self.but(
            findings=tuple(self._of_target(each, before) for each in self.findings),
            suppressed=tuple(each.but(finding=self._of_target(each.finding, before)) for each in self.suppressed),
            subjects=tuple(each.but(item=each.item + before) for each in self.subjects),
        )

    def _of_target(self, finding: Finding, before: int) -> Finding:
        item = (finding.item + before if before else finding.item) if finding.item >= 0 else -1  # a sum is another object
        return finding.but(item=item, targets=(self.name,) if self.name else ())


def judge(unit: Unit, parsed: Parsed, taken: Taken, options: Options) -> UnitResult:
    """What comes of a unit; `taken` is what it takes of the others of its cluster. Nothing is fixed in what can't be built.

    Raises: InputError for a document that can't be read where the config silences that.
    """
    result = of_no_object((), unit.settings)
    if parsed.found.sources or parsed.found.skipped or parsed.lost:
        result = _judged(unit, parsed, taken, options.but(fixing=False) if parsed.problem else options)
        result = _with_dropped(_with_steps(result, parsed, taken, unit, options), parsed, taken, unit, options)
    notes = (*parsed.notes, *taken.notes, *result.notes)
    if parsed.problem:
        about = judge_problem(unit, parsed.problem)
        notes = (*about.notes, *notes)
        fixing = Fixing(reads=unit.inputs) if options.fixing and unit.target else None
        result = result.but(findings=results.ordered([*about.findings, *result.findings]), built=False, fixing=fixing)
    return result.but(name=unit.name, cluster=unit.settings.cluster, notes=notes)


def _with_steps(result: UnitResult, parsed: Parsed, taken: Taken, unit: Unit, options: Options) -> UnitResult:
    """The result with what the steps say by which this program renders the objects: what they refuse never leaves.

    What leaves is judged as well, by this run's config: the config of a step is a file of the tree, and may change objects and
    turn rules off. A reference that the steps resolve is none any more in the cluster.
    """
    if not parsed.steps:
        return result
    left, places = leaving(parsed, taken, unit.settings), Places(parsed.found)
    said = [each for each in left.findings if each.item < len(parsed.found.items)]
    own = tuple(each for each in result.findings if each.rule != OUT_OF_SYNC)  # what leaves is what is compared
    if not (left.fails or all(step.sees_cluster for step in parsed.steps)):
        own = tuple(
            each
            for each in own
            if not (each.rule in OF_REFERENCES or (each.rule == FORMER_NAME and each.path[-2:] in OF_MATCHERS))
        )
        seen = {(each.rule, each.ref, each.path) for each in own}
        again = _judged_again(left.items, parsed, taken, unit, options)
        said += (each for each in again if (each.rule, each.ref, each.path) not in seen)
    found = places.located(said)
    found = Homes(unit.target, parsed.found, places).of(found) if unit.target else found
    known = {(each.rule, each.file, each.line, each.path) for each in own}
    new = [each for each in found if (each.rule, each.file, each.line, each.path) not in known]
    unseen = list(lacking(left, taken, unit.settings))
    findings = [*own, *fingerprints.printed(new), *(finding for finding, _ in unseen)]
    return _fixing(result, [fix for _, fix in unseen if fix]).but(findings=results.ordered(findings))


def _with_dropped(result: UnitResult, parsed: Parsed, taken: Taken, unit: Unit, options: Options) -> UnitResult:
    """The result with what there is to say of the objects that a build leaves out; of all, where nothing applies it now.

    That is a finding unless another target has the object: nobody knows that a kustomization is applied which deletes it.
    """
    target = unit.target
    if parsed.problem or target is None or not target.kustomizations:
        return result
    own = Sources(sources=()) if unit.is_suspended else parsed.found
    with delivering.entered(target):
        lacks = delivering.in_namespace(written.dropped(target, own, parsed.affixes), target, {})
    if not lacks.items:
        return result
    alone = parsed.but(found=lacks.but(sources=(*lacks.sources, *own.sources)), written=None, unlisted=frozenset())
    told = _judged(unit.but(target=None), alone, taken, options.but(fixing=False, describing=None))
    places = lacks.places
    found: dict[tuple[str, int], list[Finding]] = {place: [] for place in places}
    for each in told.findings:
        if 0 <= each.item < len(places):
            found[places[each.item]].append(each.but(item=-1))
    return result.but(dropped=found, lines={**told.lines, **result.lines})


def with_dropped(units: Sequence[Unit], found: Sequence[UnitResult]) -> list[UnitResult]:
    """The results with what they say of objects that no target has."""
    places, kept = {place for each in found for place in each.dropped}, set[tuple[str, int]]()
    for unit, result in zip(units, found, strict=True) if places else ():
        with delivering.entered(unit.target):
            is_built = unit.target and unit.target.kustomizations
            files = written.resources_of(unit.target) if unit.target and is_built else frozenset(unit.inputs)
        kept.update(each for each in places if each[0] in files and each not in result.dropped and not unit.is_suspended)
    done = []
    for result in found:
        new = [finding for place, own in result.dropped.items() if place not in kept for finding in own]
        kept.update(result.dropped)
        done.append(result.but(findings=results.ordered([*result.findings, *new]), dropped={}) if result.dropped else result)
    return done


def _fixing(result: UnitResult, more: Sequence[Fix]) -> UnitResult:
    """The result with more fixes, where these are wanted."""
    if not (result.fixing and more):
        return result
    reads = dict.fromkeys((*result.fixing.reads, *(fix.file for fix in more)))
    return result.but(fixing=Fixing(reads=tuple(reads), fixes=(*result.fixing.fixes, *more)))


def _judged_again(items: Sequence[Any], parsed: Parsed, taken: Taken, unit: Unit, options: Options) -> Iterator[Finding]:
    """The findings about what leaves, each at the object of which it was made."""
    config, found = unit.settings.config, parsed.found
    before = Before(items=items, config=config) if options.unchanged else None
    judging = _judging(_beside(parsed, taken, unit, options), options, before)
    sources = {ref_of(each.obj): each for each in bundle.entries(found.items)}
    for each in stages.render(items, config, schemas=options.schemas, judging=judging).findings:
        if each.rule not in OF_INPUTS:
            source = sources.get(each.ref) if each.ref else None
            file, index = found.places[source.item] if source else (unit.target.file if unit.target else "", 0)
            yield each.but(item=source.item if source else -1, inside=source.path if source else (), file=file, index=index)


def of_problem(each: Problem, severity: Mapping[str, str], release: Release) -> Iterator[Finding]:
    """The findings about a kustomization or a chart that is not built, at its place."""
    facts = InputFacts(charts=(each,), release=release) if each.is_chart else InputFacts(unbuilt=(each,), release=release)
    for finding in registry.judge_bundle(facts, severity, "input"):
        yield finding.but(file=each.file, line=each.line, column=each.column)


# Reasons of ApplicationSets: whether objects of KubeVirt would come of them is not known.
OF_SETS = ("unmade", "unknown")


def judge_problem(unit: Unit, problem: Problem, *, always: bool = False) -> UnitResult:
    """What there is to say of a target that can't be built: a note where it has no object of KubeVirt, unless `always`."""
    config = unit.settings.config
    found = of_problem(problem, config.severity, release_of(config))
    result = of_no_object((), unit.settings).but(name=unit.name, built=False)
    if problem.is_chart and not (unit.target and charts.makes_vms(unit.target)):
        return result.but(notes=("this chart is not built, and makes no VMs",))
    if not (problem.counts or always or problem.reason in OF_SETS):
        return result.but(notes=tuple(f"{each.message}; it has no object of KubeVirt" for each in found))
    return result.but(findings=tuple(fingerprints.printed(found)))


def of_no_object(found: Iterable[Finding], settings: TargetSettings) -> UnitResult:
    """A result that is only findings about no object, such as files that can't be read."""
    config = settings.config
    printed = tuple(fingerprints.printed(found))
    return UnitResult(release=release_of(config), fail_on=config.fail_on, severity=dict(config.severity), findings=printed)


def release_of(config: Config) -> Release:
    """The target release where no object decides it."""
    return configuration.release_of(Bundle(()), config)


def _judged(unit: Unit, parsed: Parsed, taken: Taken, options: Options) -> UnitResult:
    """What comes of what was read. Raises: InputError for a document that can't be read where the config silences that."""
    found, lost, settings = parsed.found, parsed.lost, unit.settings
    target = None if parsed.problem else unit.target
    config = settings.config.but(severity={**ON_HERE, **settings.config.severity})
    surroundings = _beside(parsed, taken, unit, options)
    before = Before(items=found.items, config=config) if options.unchanged else unit.before
    judging = _judging(surroundings, options, before).but(units=found.units)
    outcome = stages.render(found.items, config, places=found.places, schemas=options.schemas, judging=judging)
    in_templates = templated(found, config, surroundings, judging, options.schemas)
    places = Places(found, lost, config.policies)
    result = _with_findings(parsed, in_templates.added_to(outcome), config, places)
    result = _with_entries(result, [*bundle.entries(found.items), *in_templates.entries], outcome)
    result = result.but(notes=in_templates.notes, hidden=parsed.hidden)
    if options.listed:
        result = result.but(subjects=tuple(_subjects(found, in_templates.entries)))
    homes = Homes(target, found, places) if target else None
    if options.fixing:
        reads = target.inputs if target else tuple(source.file for source in found.sources if source.file)
        origin = homes.origin if homes else partial(fixes.written_at, places)
        found_fixes = tuple(fixes.proposed(result.findings, origin, certain=not options.proposing))
        result = result.but(fixing=Fixing(reads=reads, fixes=found_fixes))
    if homes:
        silenced = homes.of(each.finding for each in result.suppressed)
        suppressed = tuple(each.but(finding=at) for each, at in zip(result.suppressed, silenced, strict=True))
        result = result.but(findings=results.ordered(homes.of(result.findings)), suppressed=suppressed)
    if options.describing:
        material = Material(found=found, settings=settings, surroundings=surroundings, places=places, target=target)
        material = material.but(instances=outcome.instances, hosts=tuple(each.host for each in unit.steps))
        left = leaving(parsed, taken, settings) if parsed.steps else None
        unlisted = parsed.unlisted | unbuilt.only_parts(found)
        result = result.but(described=options.describing(material.but(homes=homes, unlisted=unlisted, left=left)))
    if options.quoted:
        named = [(finding.file, finding.line) for finding in result.findings if finding.line]
        result = result.but(lines={(file, line): places.line(file, line) for file, line in named})
    return result


def _beside(parsed: Parsed, taken: Taken, unit: Unit, options: Options) -> Surroundings:
    own = unit.target.delivery if unit.target else None
    return parsed.beside(taken, unit.settings, options.runs).but(ignored=own.ignored if own else None)


def _judging(surroundings: Surroundings, options: Options, before: Before | None) -> Judging:
    return Judging(
        ignores=options.ignores,
        definitions=options.definitions,
        off=True,
        surroundings=surroundings,
        before=before,
    )


def _is_left_out(finding: Finding, parsed: Parsed) -> bool:
    """True for a Service that selects nothing in a file that nothing applies: its VMs are those of the kustomization."""
    if finding.rule != "service-without-vm" or not parsed.unlisted:
        return False
    return parsed.found.places[finding.item][0] in parsed.unlisted


def _with_findings(parsed: Parsed, outcome: Outcome, config: Config, places: Places) -> UnitResult:
    found, lost = parsed.found, parsed.lost
    of_input = reported(lost, config.severity, outcome.release)
    of_input += passed_over(found.skipped, config.severity, outcome.release)
    silent = [each.finding for each in outcome.ignored]
    doubts = Doubts(lost)
    kept, parts = unbuilt.certain(outcome.findings, found)
    certain = [finding for finding in kept if not doubts.concern(finding) and not _is_left_out(finding, parsed)]
    certain += parts.findings(found, config.severity, outcome.release)
    certain += unbuilt.undeployed(found, parsed.unlisted, config.severity, outcome.release, parts.lacks)
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
        wants=frozenset(names.wanted(outcome.findings, [entry.obj for entry in entries])),
    )


def _subjects(found: Sources, in_templates: Iterable[Entry]) -> Iterator[CheckedObject]:
    places = found.places
    for entry in (*bundle.entries(found.items), *in_templates):
        yield CheckedObject(ref=ref_of(entry.obj), file=places[entry.item][0], item=entry.item, inside=entry.path)
