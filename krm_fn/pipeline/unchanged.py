"""VMs that the run before has judged, and that read the same now: a sound one is not judged again.

A judgement of a VM depends on its object, on what its matchers resolve to, on the release, the config and the cluster, and on
the DataSources from which an architecture may come. Objects are compared by identity, because a document that does not change
is not read again (`base.keeping`).
"""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object
from krm_fn.base.value import Value
from krm_fn.kubevirt.facts import Found, Resolution
from krm_fn.kubevirt.resolve import Resolver
from krm_fn.pipeline.analysis import Analysis
from krm_fn.pipeline.equivalents import Equivalents, judged
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.yamlio.compare import same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.base.keeping import Kept


class Judged(Value):
    """A judgement: of which object, with which specs, and whether it is sound. Objects that are kept keep their identity."""

    obj: Object
    specs: tuple[Any, ...]
    sound: bool


class Around:
    """What VMs are judged with, besides their own objects. There is one of each kind, and it keeps the DataSources."""

    def __init__(self, sources: tuple[Object, ...]) -> None:
        self.sources = sources


class Unchanged:
    """The VMs of a bundle. The judgements of the run before are in `kept`.

    What a sound VM gets from large instancetypes is not counted again (`Analysis.given`), because it is not expanded again.
    """

    def __init__(self, analysis: Analysis, resolver: Resolver, kept: Kept) -> None:
        self._analysis, self._resolver, self._kept = analysis, resolver, kept
        self._equivalents = Equivalents(analysis, resolver)
        self._around = _around(analysis, kept)

    def facts(self, entry: Entry) -> VmFacts | None:
        """The facts of the VM in an object; None if it has no VM that is rendered."""
        found = self._analysis.resolved(entry, self._resolver)
        if found is None:
            return None
        resolution = found[2]
        if resolution.errors or resolution.vm is not entry.obj:
            return self._analysis.of_vm(entry, *found)
        key, specs = (self._around, id(entry.obj)), _specs(resolution)
        known: Judged | None = self._kept.get(key)
        if known is None or not _are_same(known.specs, specs):
            facts = self._judged(entry)
            self._kept.put(key, Judged(obj=entry.obj, specs=specs, sound=facts.sound))
            return facts
        return self._sound(entry, resolution) if known.sound else self._analysis.of_vm(entry, *found)

    def _judged(self, entry: Entry) -> VmFacts:
        facts = self._equivalents.facts(entry)
        assert facts is not None  # noqa: S101  it has a VM
        return facts if facts.sound else judged(self._analysis, facts)

    def _sound(self, entry: Entry, resolution: Resolution) -> VmFacts:
        """The facts of a VM that is known to be sound: it is not expanded."""
        return VmFacts(
            entry=entry,
            vm=entry.obj,
            release=self._analysis.release,
            cluster=self._analysis.cluster,
            resolution=resolution,
            admitted=entry.obj,
            sound=True,
        )


def _around(analysis: Analysis, kept: Kept) -> Around:
    sources = tuple(entry.obj for entry in analysis.bundle.of_kind("DataSource"))
    key = repr((analysis.release, analysis.settings, analysis.cluster)), tuple(map(id, sources))
    found: Around | None = kept.get(key)
    if found is None:
        found = Around(sources)
        kept.put(key, found)
    return found


def _specs(resolution: Resolution) -> tuple[Any, ...]:
    return tuple(part for each in (resolution.instancetype, resolution.preference) for part in _of_found(each))


def _of_found(found: Found | None) -> tuple[Any, ...]:
    return (found.spec, found.table) if found else (None, "")


def _are_same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return all(a is b or same(a, b) for a, b in zip(one, other, strict=True))
