"""Rendering a large list: object after object, each forgotten when it is done.

It says and changes what `core.render` does. What needs all objects at once (presets, instances, `validate`) is left to that,
and so are Lists among the items, which hosts take apart.
"""

from __future__ import annotations

import sys

from krm_fn.base.bundle import LIST, Bundle, Entry, is_list
from krm_fn.base.objects import IGNORE, PREVIOUS_NAMES, annotations_of
from krm_fn.base.paths import get, put_in
from krm_fn.fast_path.light import Unreadable
from krm_fn.kubevirt import schema
from krm_fn.kubevirt.api_versions import is_served
from krm_fn.kubevirt.removed_fields import TEMPLATES, VMS, removed_fields
from krm_fn.kubevirt.schema import READ, ObjectFacts
from krm_fn.pipeline import modes
from krm_fn.pipeline.analysis import Analysis, analysis_of, large
from krm_fn.rules.needs import NAMED, any_asked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.fast_path.alike import Pattern, Shape, Twin
    from krm_fn.fast_path.light import Light, LightList
    from krm_fn.fast_path.stencil import Difference
    from krm_fn.findings.finding import Finding
    from krm_fn.kubevirt.resolve import Resolver
    from krm_fn.kubevirt.settings import Config
    from krm_fn.rules.facts import VmFacts

NOTHING: Object = {}
MODES = ("expand", "annotate")
OUTCOMES = 20_000  # that are remembered
# Nothing of the run looks into objects of other kinds.
LOOKED_INTO = READ | {kind for _, kind in (*TEMPLATES, *VMS)}
# The rules that look at every object: the run has done so when they are asked.
REMOVED, NAMESAKES = "removed_field", "duplicate_object"
FORMER = "former_name"


def fits(settings: Config) -> bool:
    """True where nothing is asked for that needs all objects at once."""
    return settings.mode in MODES and settings.instances != "include" and "unexpanded-vm" not in settings.severity


def render(listing: LightList, settings: Config) -> tuple[Finding, ...] | None:
    """The findings in order; what changes is settled in the list. None where presets, ignores or Lists need the other road.

    Raises: Unreadable.
    """
    if holds_lists(listing) or listing.mentions(IGNORE) or names_renamed(listing):
        return None
    run = Run(listing, settings)
    if run.analysis.presets:
        return None
    for number in run.analysis.bundle.numbers(LOOKED_INTO):
        run.pass_through(number)
    return run.findings()


def names_renamed(listing: LightList) -> bool:
    """True where kustomize may have renamed an object that VMs name: then each VM has to be looked at for such a name."""
    return any(kind in NAMED for _, kind in listing.types) and listing.mentions(PREVIOUS_NAMES)


def holds_lists(listing: LightList) -> bool:
    """True where an item holds others."""
    return any(is_list(listing.items[n]) for (_, kind), of in listing.types.items() if kind.endswith(LIST) for n in of)


class Run:
    """A run over a light list, and what it has found so far."""

    def __init__(self, listing: LightList, settings: Config) -> None:
        self.listing, self.settings, self.items = listing, settings, listing.items
        self.analysis: Analysis = analysis_of(Bundle(listing.items, types=listing.types), settings)
        self.resolver: Resolver = self.analysis.resolver()
        self.of_schemas: list[Finding] = []
        self.of_vms: list[Finding] = []
        self.catalogued: list[tuple[int, VmFacts]] = []
        self.measured: list[VmFacts] = []
        self.removed = False
        self.flawless: set[Twin | None] = set()
        self.sound: set[tuple[Shape, str]] = set()
        self.outcomes: dict[tuple[Shape, Difference], tuple[Pattern, VmFacts | None]] = {}
        name = f"{modes.__name__}.{settings.mode}"
        __import__(name)
        self.mode: Any = sys.modules[name]

    def pass_through(self, number: int) -> None:
        """Say and change what there is to of one object."""
        light = self.items[number]
        if light.kind == "VirtualMachine":
            self.pass_vm(number, light)
        elif light.twin not in self.flawless:
            said = self.said
            self.examine(number, light)
            if light.twin and self.said == said:
                self.flawless.add(light.twin)

    def pass_vm(self, number: int, light: Light) -> None:
        """As `pass_through`, of a VM: where it is like one that nothing was said of, what became of that becomes of it."""
        twin = self.twin(light)
        known = self.outcomes.get((twin.shape, twin.differing)) if twin else None
        if twin and known:
            pattern, catalogued = known
            if pattern.changes:
                self.listing.settle_as(number, pattern.of(twin))
            if catalogued:
                self.catalogued.append((number, catalogued))
            return
        said = self.said
        sound = twin is not None and (twin.shape, light.api_version) in self.sound
        facts = self.examine_for_all(number, twin) if twin and sound else None
        facts = facts or self.examine(number, light, keys_known=sound)
        if facts is None or self.said != said or not _stands_for_others(facts):
            return
        if twin:
            self.remember(number, light, twin, of_catalogue(facts))

    def twin(self, light: Light) -> Twin | None:
        """What stands for a VM and others, as far as these are rendered alike."""
        return light.twin if self.settings.defaults != "pinned" else None

    def remember(self, number: int, light: Light, twin: Twin, catalogued: VmFacts | None) -> None:
        """Remember what became of a VM, for those that are like it."""
        changes = self.listing.settled.get(number, ())
        pattern = None if isinstance(changes, str) else twin.pattern(changes)
        if pattern:
            if len(self.outcomes) >= OUTCOMES:
                self.outcomes.clear()
            self.outcomes[twin.shape, twin.differing] = pattern, catalogued
            self.sound.add((twin.shape, light.api_version))

    def look_at_keys(self, entry: Entry) -> None:
        """Say what there is to of the keys of one object, which is the same for all of a shape and an apiVersion."""
        release, severity = self.analysis.release, self.settings.severity
        flaws = schema.flaws_of_read(entry, release, handed_on=self.settings.mode in modes.HANDING_ON)
        if flaws:
            from krm_fn.rules import registry  # most runs have nothing to say

            self.of_schemas += registry.judge("schema", ObjectFacts(entry=entry, release=release, flaws=flaws), severity)
        if not self.removed and is_served(entry.obj, release):
            self.removed = any(True for _ in removed_fields(entry.obj))

    def examine(self, number: int, light: Light, *, keys_known: bool = False) -> VmFacts | None:
        """Say and change what there is to of one object; the facts of the VM in it, where it holds one.

        Raises: Unreadable where it has an ignore that the letters of the list don't show: escapes may stand for them.
        """
        entry = Entry(obj=light.whole(), item=number)
        if IGNORE in annotations_of(entry.obj):
            raise Unreadable
        if not keys_known:
            self.look_at_keys(entry)
        facts = self.analysis.vm(entry, self.resolver)
        if facts is None:
            return None
        if facts.troubled:
            from krm_fn.rules import registry

            self.of_vms += registry.judge("vm", facts, self.settings.severity)
            if facts.expansion and facts.expansion.unmet:
                self.measured.append(without_vm(facts))
        for changed, path, new in self.mode.changes(self.analysis.facts(vms=(facts,))):
            self.listing.settle(changed.item, put_in(entry.obj, path, new))
        kept = of_catalogue(facts)
        if kept:
            self.catalogued.append((number, kept))
        return facts

    def examine_for_all(self, number: int, twin: Twin) -> VmFacts | None:
        """As `examine`, of what stands for a VM and its twins; None, and nothing done, where only the VM itself can tell."""
        stand_in = twin.stand_in()
        facts = self.analysis.vm(Entry(obj=stand_in, item=number), self.resolver) if stand_in is not None else None
        if facts is None or facts.troubled or facts.resolution.vm is not facts.vm:
            return None
        for changed, _, new in self.mode.changes(self.analysis.facts(vms=(facts,))):
            if not self.listing.settle_like(changed.item, twin, stand_in, new):
                return None
        kept = of_catalogue(facts)
        if kept:
            self.catalogued.append((number, kept))
        return facts

    @property
    def said(self) -> tuple[int, int, bool]:
        """How much was said so far."""
        return len(self.of_schemas), len(self.of_vms), self.removed

    def using_catalogue(self) -> Iterator[VmFacts]:
        """The facts of the VMs that use the catalogue, as far as they were kept, with the VMs themselves."""
        for number, facts in self.catalogued:
            entry = self.analysis.bundle.entries[number]
            yield facts.but(entry=entry, vm=get(entry.obj, facts.prefix))

    def findings(self) -> tuple[Finding, ...]:
        bundle, severity = self.analysis.bundle, self.settings.severity
        facts = self.analysis.facts(vms=tuple(self.using_catalogue()))
        silent = {rule for rule, speaks in ((REMOVED, self.removed), (NAMESAKES, self.has_namesakes())) if not speaks}
        silent.add(FORMER)  # lists in which it may speak go the other road
        if not (self.of_schemas or self.of_vms or any_asked(facts, silent)):
            return ()
        from krm_fn.findings import results
        from krm_fn.findings.limits import InAll
        from krm_fn.rules import registry

        limit = InAll(len(self.items))
        found = [*limit.first((*self.of_schemas, *self.of_vms, *registry.judge_bundle(facts, severity, silent=silent)))]
        if len(found) > 1:
            from krm_fn.pipeline import consequences

            found = consequences.roots(found, self.measured)
        return results.ordered(results.placed(each, bundle) for each in (*found, *limit.left_out()))

    def has_namesakes(self) -> bool:
        """True where two objects of one kind have the same name, or none."""
        names: dict[str, list[str | None]] = {}
        for (_, kind), numbers in self.listing.types.items():
            names.setdefault(kind, []).extend([self.items[number].name(0) for number in numbers])
        return any(len(set(of_kind)) < len(of_kind) for of_kind in names.values())


def _stands_for_others(facts: VmFacts) -> bool:
    """True where VMs that are like this one come to the same; what large instancetypes give is counted for each VM."""
    return not facts.troubled and facts.resolution.vm is facts.vm and not large(facts.resolution)


def of_catalogue(facts: VmFacts) -> VmFacts | None:
    """What the bundle's rules may ask of a VM that uses the catalogue; None of any other."""
    found = (facts.resolution.instancetype, facts.resolution.preference)
    instancetype, preference = (each if each and each.origin == "catalogue" else None for each in found)
    if not (instancetype or preference):
        return None
    resolution = facts.resolution.but(instancetype=instancetype, preference=preference)
    return without_vm(facts.but(entry=facts.entry.but(item=-1), resolution=resolution))


def without_vm(facts: VmFacts) -> VmFacts:
    """What is known of a VM without the VM itself, of which there may be many."""
    resolution, entry = facts.resolution.but(vm=NOTHING), facts.entry.but(obj=NOTHING)
    return facts.but(entry=entry, vm=NOTHING, resolution=resolution, admitted=NOTHING, expansion=None, rendered=None)
