"""The VMs that `convert` converts and leaves alone, and the proof: nothing is written of which an instance differs untold.

The files are read, and kustomizations built, with their new texts. Then the instance of each VM is compared with the one
before, also of VMs that are not converted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import Object, kind_of, name_of
from krm_fn.cli.bundles import ReadBundle, read_again
from krm_fn.cli.progress import Progress
from krm_fn.cli.units import CommandRequest
from krm_fn.converting.conversion import InstanceChange, StartedVm
from krm_fn.converting.suggesting import ConversionWish
from krm_fn.pipeline.conversions import Conversions
from krm_fn.repositories.conversions import NOT_WRITTEN, WrittenVm, facts_of_material, planned, texts
from krm_fn.repositories.fixes import NewText
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.sources.files import with_unsaved

VANISHED = "it is not built any more with the new files"
Key = tuple[str, str, str, str]


class Job(NamedTuple):
    """A VM to convert: what was told of the changes of its instance, the instancetypes that are made for it, and words."""

    candidate: WrittenVm
    told: tuple[InstanceChange, ...] = ()
    manifests: tuple[Object, ...] = ()
    words: str = ""


class Left(NamedTuple):
    """A VM that is left alone, and why."""

    unit: str
    obj: Object
    reason: str


class ConversionWork:
    """The VMs that are converted and those that are left alone, which only grow."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.left: list[Left] = []
        self.closed: dict[Any, str] = {}  # bases that must stay, with the reasons

    def leave(self, each: WrittenVm, reason: str) -> None:
        """Leave a VM alone, with all others of its base."""
        self.closed.setdefault(each.base.key, reason)

    def settle(self) -> None:
        """Take out the VMs of bases that must stay."""
        open_jobs = [job for job in self.jobs if job.candidate.base.key not in self.closed]
        gone = (job.candidate for job in self.jobs if job.candidate.base.key in self.closed)
        self.left += (Left(each.unit, each.facts.entry.obj, self.closed[each.base.key]) for each in gone)
        self.jobs = open_jobs

    @property
    def manifests(self) -> list[Object]:
        """The objects that are made, each once."""
        found = {(kind_of(obj), name_of(obj)): obj for job in self.jobs for obj in job.manifests}
        return [found[key] for key in sorted(found)]


def _made(work: ConversionWork) -> list[NewText]:
    """The new texts of the files; what can't be written is left alone."""
    while True:
        work.settle()
        edits, refused = planned(job.candidate for job in work.jobs)
        made, unwritten = texts(edits)
        for each in refused:
            work.leave(each.candidate, each.reason)
        for edit in unwritten:
            for user in edit.users:
                work.leave(user, NOT_WRITTEN)
        if not (refused or unwritten):
            return made


def proven(
    request: CommandRequest, read: Sequence[ReadBundle], work: ConversionWork, more: Sequence[Object], bar: Progress
) -> list[NewText]:
    """The new texts with which each instance differs as told, and in nothing else."""
    built = [bundle for bundle in read if not bundle.parsed.problem]
    before = {key: found for bundle in built for key, found in _instances(bundle, more)}
    while True:
        made = _made(work)
        if not work.jobs:
            return []
        told = {_key(job.candidate.unit, job.candidate.facts): job for job in work.jobs}
        with with_unsaved({each.real: each.after for each in made}):
            again = read_again(request, bar)
        with bar.at("Proving"):
            failed = dict(_failures(before, again, told, [*more, *work.manifests]))
        if not failed:
            return made
        _leave_failed(work, failed)


def _leave_failed(work: ConversionWork, failed: Mapping[Any, str]) -> None:
    """Leave the VMs alone that failed; where none of the converted ones did, all of their unit, and else all."""
    keys = {_key(job.candidate.unit, job.candidate.facts): job for job in work.jobs}
    jobs = [keys[key] for key in failed if key in keys]
    units = {key[0] for key in failed}
    jobs = jobs or [job for job in work.jobs if job.candidate.unit in units] or work.jobs
    why = next(iter(failed.values()))
    for job in jobs:
        work.leave(job.candidate, failed.get(_key(job.candidate.unit, job.candidate.facts), why))


def _key(unit: str, vm: VmFacts) -> tuple[str, str, str, str]:
    obj = vm.entry.obj
    return unit, kind_of(obj), effective_namespace(obj), name_of(obj)


def _instances(bundle: ReadBundle, more: Sequence[Object]) -> Iterator[tuple[Any, StartedVm | None]]:
    found = Conversions(facts_of_material(bundle.material, more), ConversionWish())
    return ((_key(bundle.unit.name, vm), found.before(vm)) for vm in found.vms)


def _failures(
    before: Mapping[Any, StartedVm | None], again: Iterable[ReadBundle], told: Mapping[Any, Job], more: Sequence[Object]
) -> Iterator[tuple[Any, str]]:
    """The VMs that are not proven, with what is wrong."""
    seen = set()
    for bundle in again:
        if bundle.parsed.problem:
            continue
        found = Conversions(facts_of_material(bundle.material, more), ConversionWish())
        for vm in found.vms:
            key = _key(bundle.unit.name, vm)
            seen.add(key)
            if why := _unproven(before.get(key), found, vm, told[key].told if key in told else ()):
                yield key, why
    yield from ((key, VANISHED) for key in before if key not in seen)


def _unproven(was: StartedVm | None, found: Conversions, vm: VmFacts, told: Sequence[InstanceChange]) -> str:
    """What is wrong with a VM after the conversion; "" where nothing is."""
    proof = found.judged(was, vm) if was else None
    if was is None:
        return ""
    if proof is None:
        return "KubeVirt would start no instance of it afterwards"
    changes = [each for each in proof.changes if each not in told]
    missing = [each for each in told if each not in proof.changes]
    return f"its instance would differ otherwise than told: {(changes or missing)[0].path}" if changes or missing else ""
