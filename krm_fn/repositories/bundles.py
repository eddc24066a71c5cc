"""The objects of all units of a run, each with what the other units of its cluster offer it: what the cluster would have."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from krm_fn.base.value import Value
from krm_fn.repositories import judging, sharing, written
from krm_fn.repositories.pools import mapped
from krm_fn.repositories.running import name, offers_of_all
from krm_fn.repositories.types import Problem
from krm_fn.sources.reading import NothingFoundError
from krm_fn.sources.salvage import reported

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.findings.finding import Finding
    from krm_fn.repositories.judging import Options, Unit
    from krm_fn.repositories.sharing import Offer, Reach
    from krm_fn.sources.reading import Watch
    from krm_fn.sources.salvage import Lost

    Numbered = tuple[int, Unit]


class UnitObjects(Value):
    """The objects of one unit, and what it lacks and other units of its cluster offer.

    `is_whole` is False if the unit can't be built, or if a part of it can't be read; `findings` say why. `counts`: objects of
    KubeVirt are in it, or may be.
    """

    items: Sequence[Any] = ()
    taken: Sequence[Object] = ()
    offers: tuple[Offer, ...] = ()
    reach: Reach | None = None
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    is_whole: bool = True
    counts: bool = False


def read_all(units: Sequence[Unit], options: Options, *, jobs: int, watch: Watch) -> list[UnitObjects]:
    """The objects of each unit, in order. Raises: InputError."""
    work = partial(_read, options=options)
    numbered = list(enumerate(units))
    found = list(watch("Reading", mapped(work, numbered, jobs, named=name, start=_nothing), len(units)))
    clusters = [unit.settings.cluster for unit in units]
    offered = offers_of_all((cluster, each.offers) for cluster, each in zip(clusters, found, strict=True))
    return [_with_taken(each, offered.get(cluster)) for cluster, each in zip(clusters, found, strict=True)]


def _nothing() -> None:
    """What a process that reads begins with."""


def _with_taken(found: UnitObjects, offered: sharing.Offered | None) -> UnitObjects:
    if not offered or not found.reach:
        return found
    taken = sharing.taken_by(found.reach, offered)
    notes = (*found.notes, *taken.notes)
    return found.but(taken=tuple(offer.obj for offer in taken.offers), notes=notes, offers=(), reach=None)


def _read(numbered: Numbered, options: Options) -> UnitObjects:
    """Raises: InputError for a document that can't be read if the config silences the finding about it."""
    unit = numbered[1]
    lost: list[Lost] = []
    notes: list[str] = []
    try:
        found = judging.read_unit(unit, options, lost, notes)
    except NothingFoundError:
        return UnitObjects(notes=tuple(notes))
    config = unit.settings.config
    if isinstance(found, Problem):
        about = judging.judge_problem(unit, found.but(counts=True, instead="uncompared")).findings
        return UnitObjects(findings=about, notes=judging.judge_problem(unit, found).notes, is_whole=False, counts=found.counts)
    about_lost = reported(lost, config.severity, judging.release_of(config))
    is_whole = all(each.is_template for each in lost)
    return UnitObjects(
        items=found.items,
        offers=sharing.offers(found.items, _called(unit), found.places),
        reach=sharing.reach(found.items, b"\n".join(source.data for source in found.sources)),
        findings=tuple(about_lost),
        notes=tuple(notes),
        is_whole=is_whole,
        counts=not is_whole or written.has_kubevirt(found),
    )


def _called(unit: Unit) -> str:
    """What a note calls a unit: its target, or the folder of its files."""
    return unit.name or (os.path.dirname(unit.files[0]) if unit.files else "") or os.curdir  # noqa: PTH120
