"""The objects of one unit of a run, with what the other units of its cluster offer it: what the cluster would have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from krm_fn.base.bundle import entries
from krm_fn.base.objects import Object, ref_of
from krm_fn.base.value import Value
from krm_fn.findings.finding import Finding
from krm_fn.repositories import judging, written
from krm_fn.repositories.builds import digest, digest_of
from krm_fn.repositories.leaving import leaving
from krm_fn.repositories.sharing import Taken
from krm_fn.sources.places import Places
from krm_fn.sources.salvage import WRONG, passed_over, reported

if TYPE_CHECKING:
    from krm_fn.repositories.loading import Options, Parsed, Unit


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
