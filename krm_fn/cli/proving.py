"""The VMs that `convert` converts and leaves alone, and the proof: nothing is written of which an instance differs untold.

The files are read, and kustomizations built, with their new texts. Then the instance of each VM is compared with the one
before, also of VMs that are not converted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import Object, kind_of, name_of
from krm_fn.base.paths import Path
from krm_fn.cli.bundles import ReadBundle, read_again
from krm_fn.cli.progress import Progress
from krm_fn.cli.units import CommandRequest, Key, key_of
from krm_fn.converting.conversion import InstanceChange, Specs, specs_of
from krm_fn.converting.suggesting import ConversionWish
from krm_fn.pipeline.conversions import Conversions
from krm_fn.repositories.conversions import NOT_WRITTEN, WrittenVm, facts_of_material, planned, texts
from krm_fn.repositories.fixes import NewText
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.sources.files import with_unsaved
from krm_fn.yamlio.compare import same

VmKey = tuple[Key, int, Path]
VANISHED = "it is not built any more with the new files"


class Job(NamedTuple):
    """A VM to convert: what was told of the changes of its instance, the instancetypes that are made for it, and words.

    `expected` is its object afterwards. With `specs`, what it then refers to, the changes are proven.
    """

    unit: Key
    candidate: WrittenVm
    expected: Object
    specs: Specs | None = None
    told: tuple[InstanceChange, ...] = ()
    manifests: tuple[Object, ...] = ()
    words: str = ""

    @property
    def key(self) -> VmKey:
        """The VM among all that are read."""
        return _key(self.unit, self.candidate.facts)


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
    before = {key_of(bundle.unit): _conversions(bundle, more) for bundle in read if not bundle.parsed.problem}
    while True:
        made = _made(work)
        if not work.jobs:
            return []
        told = {job.key: job for job in work.jobs}
        with with_unsaved({each.real: each.after for each in made}):
            again = read_again(request, bar)
        with bar.at("Proving"):
            failed = dict(_failures(before, again, told, [*more, *work.manifests]))
        if not failed:
            return made
        _leave_failed(work, failed)


def _leave_failed(work: ConversionWork, failed: Mapping[VmKey, str]) -> None:
    """Leave the VMs alone that failed; where none of the converted ones did, all of their unit, and else all."""
    units = {unit for unit, _, _ in failed}
    jobs = [job for job in work.jobs if job.key in failed]
    jobs = jobs or [job for job in work.jobs if job.unit in units] or work.jobs
    why = next(iter(failed.values()))
    for job in jobs:
        work.leave(job.candidate, failed.get(job.key, why))


def _key(unit: Key, vm: VmFacts) -> VmKey:
    return unit, vm.entry.item, vm.entry.path


def _conversions(bundle: ReadBundle, more: Sequence[Object]) -> Conversions:
    return Conversions(facts_of_material(bundle.material, more), ConversionWish())


def _numbered(unit: Key, found: Conversions) -> Iterator[tuple[Any, VmFacts]]:
    """The VMs with what names each; of several with one name, also which one it is."""
    counts = Counter[Any]()
    for vm in found.vms:
        obj = vm.entry.obj
        key = unit, kind_of(obj), effective_namespace(obj), name_of(obj)
        yield (key, counts[key]), vm
        counts[key] += 1


def _failures(
    before: Mapping[Key, Conversions], again: Iterable[ReadBundle], told: Mapping[VmKey, Job], more: Sequence[Object]
) -> Iterator[tuple[VmKey, str]]:
    """The VMs that are not proven, as they were, with what is wrong."""
    left = {key: vm for unit, found in before.items() for key, vm in _numbered(unit, found)}
    for bundle in again:
        unit = key_of(bundle.unit)
        if bundle.parsed.problem or unit not in before:
            continue
        comparison = _Comparison(before[unit], _conversions(bundle, more))
        for key, vm in _numbered(unit, comparison.new):
            was = left.pop(key, None)
            if was and (why := comparison.wrong(was, vm, told.get(_key(unit, was)))):
                yield _key(unit, was), why
    yield from ((_key(key[0][0], vm), VANISHED) for key, vm in left.items())


class _Comparison:
    """The VMs of a unit before and after. Where all else is as expected, what counts of two VMs is compared once."""

    def __init__(self, old: Conversions, new: Conversions) -> None:
        self._old, self.new = old, new
        self._is_same_world = same(old.world, new.world)
        self._known: dict[Any, str] = {}

    def wrong(self, was: VmFacts, vm: VmFacts, job: Job | None) -> str:
        """What is wrong with a VM after the conversion; "" where nothing is."""
        expected, told = (job.expected, job.told) if job else (was.entry.obj, ())
        if not (self._is_same_world and (vm.entry.obj is expected or same(vm.entry.obj, expected))):
            return self._unproven(was, vm, told)
        if specs_of(vm.resolution) == (job.specs if job else specs_of(was.resolution)):
            return ""
        keys = self._old.key(was), self.new.key(vm)
        if told or None in keys:
            return self._unproven(was, vm, told)
        if keys not in self._known:
            self._known[keys] = self._unproven(was, vm, told)
        return self._known[keys]

    def _unproven(self, was: VmFacts, vm: VmFacts, told: Sequence[InstanceChange]) -> str:
        before = self._old.before(was)
        proof = self.new.judged(before, vm) if before else None
        if before is None:
            return ""
        if proof is None:
            return "KubeVirt would start no instance of it afterwards"
        changes = [each for each in proof.changes if each not in told]
        missing = [each for each in told if each not in proof.changes]
        return f"its instance would differ otherwise than told: {(changes or missing)[0].path}" if changes or missing else ""
