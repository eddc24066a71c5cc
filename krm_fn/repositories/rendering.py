"""All units of a run, rendered: each as it is judged, and written by a function of the caller.

A unit that lacks what other units of its cluster have is rendered again, with what they offer.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from krm_fn.base import bundle, programs
from krm_fn.base.value import Value
from krm_fn.findings import results
from krm_fn.pipeline import stages
from krm_fn.pipeline.stages import Judging
from krm_fn.repositories import judging, sharing, wants
from krm_fn.repositories.homes import Homes
from krm_fn.repositories.judging import UnitResult
from krm_fn.repositories.pools import mapped
from krm_fn.repositories.running import is_offered, name, offers_of
from krm_fn.repositories.types import Problem
from krm_fn.sources.places import Places
from krm_fn.sources.reading import NothingFoundError
from krm_fn.sources.salvage import reported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from krm_fn.findings.finding import Finding
    from krm_fn.kubevirt.settings import Config
    from krm_fn.pipeline.stages import Outcome
    from krm_fn.repositories.judging import Options, Unit
    from krm_fn.repositories.sharing import Offered
    from krm_fn.sources.reading import Sources, Watch
    from krm_fn.sources.salvage import Lost

    Numbered = tuple[int, Unit]
    Write = Callable[[Sources, Outcome], Any]

NOT_BUILT, DUPLICATE = "kustomization-not-built", "duplicate-object"
# The kinds of objects that decide how VMs are rendered.
DECIDING = (*sharing.KINDS, "VirtualMachineInstancePreset", "KubeVirt", "HyperConverged")
# What the units of each cluster offer, in a process that renders again; it does not change.
_offered: Mapping[str, Offered] = {}


class RenderedUnit(Value):
    """What came of one unit: its findings, and what the caller's function wrote of it, None where there is nothing to write."""

    result: UnitResult
    written: Any = None


def render_all(units: Sequence[Unit], options: Options, write: Write, *, jobs: int, watch: Watch) -> list[RenderedUnit]:
    """What comes of each unit, in order; `write` is a function of a module, which other processes find there.

    Raises: InputError.
    """
    with programs.scratch() as scratch:
        work = partial(_rendered, options=options.but(spool=scratch, runs=sharing.runs(units)), write=write)
        numbered = list(enumerate(units))
        found = list(watch("Rendering", _all(work, numbered, jobs, {}), len(units)))
        offered = offers_of(units, [each.result for each in found])
        again = [each for each in numbered if is_offered(found[each[0]].result, offered.get(each[1].settings.cluster))]
        second = watch("Rendering", _all(work, again, jobs, offered), len(again))
        for (number, _), rendered in zip(again, second, strict=True):
            found[number] = rendered
    return [each.but(result=each.result.but(offers=())) for each in found]


def _all(
    work: Callable[[Numbered], RenderedUnit], units: Sequence[Numbered], jobs: int, offered: Mapping[str, Offered]
) -> Iterator[RenderedUnit]:
    yield from mapped(work, units, jobs, named=name, start=_take, given=(offered,))


def _take(offered: Mapping[str, Offered]) -> None:
    global _offered  # noqa: PLW0603  a pool starts its processes with it
    _offered = offered


def _rendered(numbered: Numbered, options: Options, write: Write) -> RenderedUnit:
    number, unit = numbered
    options = options.but(spool=os.path.join(options.spool, str(number)))  # noqa: PTH118
    return render_unit(unit, options, write, _offered.get(unit.settings.cluster))


def render_unit(unit: Unit, options: Options, write: Write, offered: Offered | None = None) -> RenderedUnit:
    """What comes of a unit; `offered` is what the units of its cluster offer one another, where that is known.

    Raises: InputError for a document that can't be read where the config silences that.
    """
    lost: list[Lost] = []
    notes: list[str] = []
    try:
        found = judging.read_unit(unit, options, lost, notes)
    except NothingFoundError:
        return RenderedUnit(result=judging.of_no_object((), unit.settings).but(name=unit.name, notes=tuple(notes)))
    if isinstance(found, Problem):
        return RenderedUnit(result=strict(judging.judge_problem(unit, found)))
    if unit.target and options.spool and offered is None:
        judging.spooled(found, options.spool)
    taken = sharing.context(found.items, _text(found), offered) if offered else sharing.Taken()
    outcome = rendered(found, unit, taken, ignores=options.ignores, runs=options.runs)
    result = _result(unit, found, outcome, lost).but(notes=(*notes, *taken.notes))
    return RenderedUnit(result=result, written=write(found, outcome))


def rendered(found: Sources, unit: Unit, taken: sharing.Taken, *, ignores: bool, runs: int = 1) -> Outcome:
    """What comes of the objects of a unit, which takes some of others."""
    how = Judging(ignores=ignores, units=found.units, surroundings=taken.surroundings(unit.settings.external, runs))
    outcome = stages.render(found.items, unit.settings.config, places=found.places, judging=how)
    return outcome.but(findings=results.ordered(_deciding(each, unit) for each in outcome.findings))


def _deciding(finding: Finding, unit: Unit) -> Finding:
    """The finding, as an error where two objects differ of which one decides how VMs are rendered.

    Other objects that differ may be variants in files of one folder; all of them are printed.
    """
    if finding.rule != DUPLICATE or DUPLICATE in unit.settings.config.severity:
        return finding
    return finding.but(severity="error") if finding.ref and finding.ref.kind in DECIDING else finding


def with_variants(found_in: Iterable[Finding], found: Sources, config: Config) -> Iterator[Finding]:
    """The findings; those about files of folders as a warning where two objects differ that decide nothing about VMs."""
    places = found.places
    for each in found_in:
        own = each.rule == DUPLICATE and DUPLICATE not in config.severity and each.ref and each.ref.kind not in DECIDING
        variants = own and each.item >= 0 and all(places[item][0] != places[each.item][0] for item in _others(each))
        yield each.but(severity="warning") if variants and found.is_found(places[each.item][0]) else each


def _others(finding: Finding) -> Iterator[int]:
    return (each.item for each in finding.related if each.item >= 0)


def _text(found: Sources) -> bytes:
    return b"\n".join(source.data for source in found.sources)


def _result(unit: Unit, found: Sources, outcome: Outcome, lost: Sequence[Lost]) -> UnitResult:
    config = unit.settings.config
    return UnitResult(
        name=unit.name,
        release=outcome.release,
        fail_on=config.fail_on,
        severity=dict(config.severity),
        findings=_findings(unit, found, outcome, lost),
        offers=sharing.offers(found.items, unit.name, found.places),
        wants=frozenset(wants.wanted(outcome.findings, [entry.obj for entry in bundle.entries(found.items)])),
        external=outcome.external,
        items=len(found.items),
        objects=sum(1 for _ in bundle.entries(found.items)),
        files=tuple(dict.fromkeys(file for file, _ in found.places)),
    )


def _findings(unit: Unit, found: Sources, outcome: Outcome, lost: Sequence[Lost]) -> tuple[Finding, ...]:
    """The findings at the places where the values are written. Raises: InputError for what is lost and not reported."""
    places = Places(found, lost)
    located = places.located(outcome.findings)
    if unit.target:
        located = Homes(unit.target, found, places).of(located)
    return results.ordered([*reported(lost, unit.settings.config.severity, outcome.release), *located])


def strict(result: UnitResult) -> UnitResult:
    """A target that is not built is missing from the output: an error, unless the config gives the rule a severity."""
    if NOT_BUILT in result.severity:
        return result
    return result.but(findings=tuple(each.but(severity="error") for each in result.findings))
