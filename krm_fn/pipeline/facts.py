"""The facts of a bundle under a config: everything that the rules judge and the modes write."""

from __future__ import annotations

from itertools import islice

from krm_fn.base.annotations import Callable, Iterator
from krm_fn.base.bundle import Bundle, Entry, LateEntry
from krm_fn.base.keeping import keeper
from krm_fn.base.objects import IGNORE, Object, annotations_of, kind_of
from krm_fn.base.paths import as_map, put_in
from krm_fn.kubevirt.resolve import MATCHERS, Resolver
from krm_fn.kubevirt.schema import flaws_of_read
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline import modes
from krm_fn.pipeline.analysis import VM, Analysis, analysis_of
from krm_fn.rules.facts.bundles import NO_SURROUNDINGS, BundleFacts, Surroundings
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.needs import has_removed_field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.pipeline.equivalents import Equivalents
    from krm_fn.pipeline.unchanged import Unchanged
Wanted = Callable[[Entry], bool]
# Writes the new value of a late item, by its number.
Write = Callable[[int, Object], None]

NOTHING: Object = {}
AT_ONCE = 50  # VMs whose values are kept at once


def every(_: Entry) -> bool:
    return True


def gather(
    bundle: Bundle,
    settings: Config,
    surroundings: Surroundings = NO_SURROUNDINGS,
    wanted: Wanted = every,
    write: Write | None = None,
) -> BundleFacts:
    """The facts of a bundle, and of its wanted VMs. With `write`, a late VM without findings is written and let go.

    Raises: InputError if VMs get too many values from instancetypes and preferences.
    """
    analysis = analysis_of(bundle, settings, surroundings)
    if not analysis.starts_instances:
        vms = _vms(analysis, wanted)
        if write:
            vms = _all_remaining(vms, analysis, write)
        return analysis.facts(vms=tuple(vms))
    from krm_fn.pipeline import instances  # few bundles have presets

    found = (vm if vm.resolution.errors else instances.with_start(analysis, vm) for vm in _vms(analysis, wanted))
    return analysis.facts(vms=tuple(found), instances=tuple(instances.instances(analysis)) if analysis.presets else ())


def _all_remaining(vms: Iterator[VmFacts], analysis: Analysis, write: Write) -> Iterator[VmFacts]:
    """The facts that remain to be judged. VMs pass through each step in groups, which takes a tenth less time."""
    while group := list(islice(vms, AT_ONCE)):
        yield from filter(None, [_remaining(facts, analysis, write) for facts in group])


def _remaining(facts: VmFacts, analysis: Analysis, write: Write) -> VmFacts | None:
    """The facts of a VM. If it is late and has no findings, its new value is written.

    Then only its references to the catalogue remain to be judged, and None if it has none.
    """
    entry, release = facts.entry, analysis.release
    if not isinstance(entry, LateEntry) or facts.troubled:
        return facts
    if IGNORE in annotations_of(entry.obj) or has_removed_field(entry, release):
        return facts
    if flaws_of_read(entry, release, handed_on=analysis.settings.mode in modes.HANDING_ON):
        return facts
    for _, path, new in modes.chosen(analysis.settings).changes(analysis.facts(vms=(facts,))):
        write(entry.item, put_in(entry.obj, path, new))
    entry.done()
    found = facts.resolution
    if not any(each and each.origin == "catalogue" for each in (found.instancetype, found.preference)):
        return None
    written = as_map(facts.vm.get("spec"))
    named = {"spec": {each.field: written[each.field] for each in MATCHERS if each.field in written}}
    return facts.but(vm=named, admitted=NOTHING, resolution=found.but(vm=NOTHING), expansion=None, rendered=None)


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
