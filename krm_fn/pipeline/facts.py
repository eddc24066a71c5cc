"""The facts of a bundle under a config: everything that the rules judge and the modes write."""

from __future__ import annotations

from krm_fn.base.annotations import Callable, Iterator
from krm_fn.base.bundle import Bundle, Entry
from krm_fn.base.keeping import keeper
from krm_fn.base.objects import kind_of
from krm_fn.kubevirt.resolve import Resolver
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline.analysis import VM, Analysis, analysis_of
from krm_fn.rules.facts.bundles import NO_SURROUNDINGS, BundleFacts, Surroundings
from krm_fn.rules.facts.vms import VmFacts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.pipeline.equivalents import Equivalents
    from krm_fn.pipeline.unchanged import Unchanged
Wanted = Callable[[Entry], bool]


def every(_: Entry) -> bool:
    return True


def gather(
    bundle: Bundle, settings: Config, surroundings: Surroundings = NO_SURROUNDINGS, wanted: Wanted = every
) -> BundleFacts:
    """The facts of a bundle, and of its wanted VMs.

    Raises: InputError if VMs get too many values from instancetypes and preferences.
    """
    analysis = analysis_of(bundle, settings, surroundings)
    if not analysis.starts_instances:
        return analysis.facts(vms=tuple(_vms(analysis, wanted)))
    from krm_fn.pipeline import instances  # few bundles have presets

    vms = (vm if vm.resolution.errors else instances.with_start(analysis, vm) for vm in _vms(analysis, wanted))
    return analysis.facts(vms=tuple(vms), instances=tuple(instances.instances(analysis)) if analysis.presets else ())


def _vms(analysis: Analysis, wanted: Wanted) -> Iterator[VmFacts]:
    """The facts of every wanted VM and pool's template, in the bundle's order."""
    resolver, entries = analysis.resolver(), filter(wanted, analysis.bundle.entries)
    if not _may_repeat(analysis):
        return (facts for entry in entries if (facts := analysis.vm(entry, resolver)))
    judging = _judging(analysis, resolver)

    def facts_of(entry: Entry) -> VmFacts | None:
        return judging.facts(entry) if kind_of(entry.obj) == VM else analysis.vm(entry, resolver)

    return filter(None, map(facts_of, entries))


def _judging(analysis: Analysis, resolver: Resolver) -> Equivalents | Unchanged:
    """What judges VMs, and may know some of them."""
    if kept := keeper():
        from krm_fn.pipeline.unchanged import Unchanged  # only a server that runs for long keeps something

        return Unchanged(analysis, resolver, kept.machines)
    from krm_fn.pipeline.equivalents import Equivalents

    return Equivalents(analysis, resolver)


def _may_repeat(analysis: Analysis) -> bool:
    """True if the VMs are only judged, so that VMs that repeat a sound one need not be checked."""
    started = analysis.starts_instances or analysis.settings.defaults == "pinned"
    return analysis.settings.mode == "validate" and not started and len(analysis.bundle.of_kind(VM)) > 1
