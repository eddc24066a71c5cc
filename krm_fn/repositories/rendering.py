"""One unit of a run that is not judged: rendered and written by a function of the caller, or as the cluster has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from krm_fn.base import bundle
from krm_fn.base.bundle import entries
from krm_fn.base.objects import Object, ref_of
from krm_fn.base.value import Value
from krm_fn.findings import results
from krm_fn.findings.finding import Finding
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline import stages
from krm_fn.pipeline.stages import Judging, Outcome
from krm_fn.repositories import judging, names, written
from krm_fn.repositories.builds import digest, digest_of
from krm_fn.repositories.homes import Homes
from krm_fn.repositories.judging import UnitResult
from krm_fn.repositories.leaving import leaving
from krm_fn.repositories.sharing import Taken
from krm_fn.rules.facts.bundles import Surroundings
from krm_fn.sources.places import Places
from krm_fn.sources.salvage import WRONG, Lost, passed_over, reported
from krm_fn.sources.source import Sources
from krm_fn.sources.unbuilt import undeployed

if TYPE_CHECKING:
    from krm_fn.repositories.loading import Options, Parsed, Unit


Write = Callable[[Sources, Outcome], Any]


DUPLICATE = "duplicate-object"
# The kinds of objects that decide how VMs are rendered.
DECIDING = (*names.KINDS, "VirtualMachineInstancePreset", "KubeVirt", "HyperConverged")


class RenderedUnit(Value):
    """What came of one unit: its findings, and what the caller's function wrote of it, None where there is nothing to write."""

    result: UnitResult
    written: Any = None


def render_unit(unit: Unit, parsed: Parsed, taken: Taken, options: Options, *, write: Write) -> RenderedUnit:
    """What comes of a unit; `taken` is what it takes of the others of its cluster. `write` is a function of a module.

    Raises: InputError for a document that can't be read where the config silences that.
    """
    if parsed.problem:
        about = judging.judge_problem(unit, parsed.problem, always=True)  # it is missing from the output
        return RenderedUnit(result=about.but(idle=int(not parsed.problem.counts)))
    if not (parsed.found.sources or parsed.lost):
        found = passed_over(parsed.found.skipped, unit.settings.config.severity, judging.release_of(unit.settings.config))
        return RenderedUnit(result=judging.of_no_object(found, unit.settings).but(name=unit.name, notes=parsed.notes))
    parsed = parsed.but(found=parsed.written or parsed.found, written=None)  # a step after this one fills placeholders in
    applied = parsed.deployed
    beside = parsed.beside(taken, unit.settings, options.runs)
    outcome = rendered(applied, unit.settings.config, beside, ignores=options.ignores)
    result = _result(unit, parsed, applied, outcome).but(notes=(*parsed.notes, *taken.notes))
    return RenderedUnit(result=result, written=write(applied, outcome))


def rendered(found: Sources, config: Config, beside: Surroundings, *, ignores: bool) -> Outcome:
    """What comes of the objects of a unit, with what is known beside it."""
    how = Judging(ignores=ignores, units=found.units, surroundings=beside)
    outcome = stages.render(found.items, config, places=found.places, judging=how)
    findings = (_deciding(each, config) for each in outcome.findings)
    return outcome.but(findings=results.ordered(_with_variants(findings, found, config)))


def _deciding(finding: Finding, config: Config) -> Finding:
    """The finding, as an error where two objects differ of which one decides how VMs are rendered.

    Other objects that differ may be variants in files of one folder; all of them are printed.
    """
    if finding.rule != DUPLICATE or DUPLICATE in config.severity:
        return finding
    return finding.but(severity="error") if finding.ref and finding.ref.kind in DECIDING else finding


def _with_variants(found_in: Iterable[Finding], found: Sources, config: Config) -> Iterator[Finding]:
    """The findings; those about files of folders as a warning where two objects differ that decide nothing about VMs."""
    places = found.places
    for each in found_in:
        own = each.rule == DUPLICATE and DUPLICATE not in config.severity and each.ref and each.ref.kind not in DECIDING
        others = (places[other.item][0] for other in each.related if other.item >= 0)
        variants = own and each.item >= 0 and all(file != places[each.item][0] for file in others)
        yield each.but(severity="warning") if variants and found.is_found(places[each.item][0]) else each


def _result(unit: Unit, parsed: Parsed, found: Sources, outcome: Outcome) -> UnitResult:
    config = unit.settings.config
    left = undeployed(parsed.found, parsed.unlisted, config.severity, outcome.release)
    findings = (*_findings(unit, found, outcome, parsed.lost), *Places(parsed.found).located(left))
    return UnitResult(
        name=unit.name,
        release=outcome.release,
        fail_on=config.fail_on,
        severity=dict(config.severity),
        findings=results.ordered(findings) if parsed.unlisted else findings,
        external=outcome.external,
        items=len(found.items),
        objects=sum(1 for _ in bundle.entries(found.items)),
        files=tuple(dict.fromkeys(file for file, _ in found.places)),
    )


def _findings(unit: Unit, found: Sources, outcome: Outcome, lost: Sequence[Lost]) -> tuple[Finding, ...]:
    """The findings, at the places where the values are written. Raises: InputError for what is lost and not reported."""
    severity = unit.settings.config.severity
    places = Places(found, lost, policies=unit.settings.config.policies)
    located = places.located(outcome.findings)
    if unit.target:
        located = Homes(unit.target, found, places).of(located)
    unread = [*reported(lost, severity, outcome.release), *passed_over(found.skipped, severity, outcome.release)]
    return results.ordered([*unread, *located])


ERROR, NO_FILE = "error", "unreadable-file"


class UnitObjects(Value):
    """The objects of one unit as they leave for the cluster, and what it lacks and other units of its cluster offer.

    `is_whole` is False if the unit can't be built, or if a part of it can't be read; `findings` say why. `counts`: objects of
    KubeVirt are in it, or may be. `hidden` are notes about machines inside other objects, `affixes` what was added to names.
    `made_of` are the files of a unit that is not whole, each with the digest of its text, None for one that can't be read.
    """

    items: Sequence[Any] = ()
    taken: Sequence[Object] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    is_whole: bool = True
    counts: bool = False
    affixes: tuple[tuple[str, str], ...] = ()
    made_of: tuple[tuple[str, str | None], ...] = ()

    def is_made_as(self, other: UnitObjects) -> bool:
        """True where both are not whole for the same reasons, because they are made of the same files."""
        return bool(self.made_of) and self.made_of == other.made_of and all(found for _, found in self.made_of)


def objects_of(unit: Unit, parsed: Parsed, taken: Taken, _: Options) -> UnitObjects:
    """The objects of a unit.

    Raises: InputError for a document that can't be read if the config silences the finding about it.
    """
    config = unit.settings.config
    if parsed.problem:
        about = judging.judge_problem(unit, parsed.problem.but(counts=True, instead="uncompared")).findings
        notes = judging.judge_problem(unit, parsed.problem).notes
        counts = parsed.problem.counts
        return UnitObjects(findings=about, notes=notes, is_whole=False, counts=counts, made_of=_made_of(unit))
    found = leaving(parsed.but(found=parsed.deployed), taken, unit.settings)
    release = judging.release_of(config)
    absent = [each for each in passed_over(parsed.found.skipped, config.severity, release) if each.rule == NO_FILE]
    is_whole = all(each.sort != WRONG for each in parsed.lost) and not (found.fails or absent)
    unread = [*reported(parsed.lost, config.severity, release), *absent]
    if found.fails:
        unread += Places(parsed.found).located(each for each in found.findings if each.severity == ERROR)
    return UnitObjects(
        items=found.items,
        taken=tuple(offer.obj for offer in taken.offers),
        findings=tuple(unread),
        notes=(*parsed.notes, *taken.notes),
        hidden=parsed.hidden,
        is_whole=is_whole,
        counts=not is_whole or written.has_kubevirt(parsed.found),
        affixes=parsed.affixes,
        made_of=() if is_whole else _made_of(unit),
    )


def _made_of(unit: Unit) -> tuple[tuple[str, str | None], ...]:
    if unit.texts is None:
        return tuple((file, digest_of(file)) for file in unit.inputs)
    read = [("", digest(each.data).hex()) for each in unit.texts.given]  # whatever the files are called
    return (*read, *((each.file, None) for each in unit.texts.skipped))


def together(found: Sequence[UnitObjects]) -> UnitObjects:
    """The objects of several units as those of one, which takes nothing that one of them has."""
    items = [item for each in found for item in each.items]
    own = {ref_of(entry.obj) for entry in entries(items)}
    return UnitObjects(
        items=items,
        taken=[obj for each in found for obj in each.taken if ref_of(obj) not in own],
        findings=tuple(finding for each in found for finding in each.findings),
        notes=tuple(note for each in found for note in each.notes),
        hidden=tuple(note for each in found for note in each.hidden),
        is_whole=all(each.is_whole for each in found),
        counts=any(each.counts for each in found),
        made_of=tuple(file for each in found for file in each.made_of),
    )
