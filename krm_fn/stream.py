"""Rendering a large list: object after object, each forgotten when it is done.

It says and changes what `core.render` does. What needs all objects at once (presets, instances, `validate`) is left to that.
"""

from __future__ import annotations

import sys

from krm_fn import core, modes, results, rules, schema
from krm_fn.bundle import Bundle
from krm_fn.gather import Work, work_on
from krm_fn.removed import TEMPLATES, VMS, removed_fields
from krm_fn.resource import IGNORE, kind_of
from krm_fn.schema import READ, ObjectFacts
from krm_fn.served import is_served

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.bundle import Entry
    from krm_fn.config import Config
    from krm_fn.facts import VmFacts
    from krm_fn.findings import Finding
    from krm_fn.paths import Path
    from krm_fn.resolve import Resolver
    from krm_fn.resource import Object
    from krm_fn.yamlio.plain.light import LightList

MODES = ("expand", "annotate")
# Nothing of the run looks into objects of other kinds.
LOOKED_INTO = READ | {kind for _, kind in (*TEMPLATES, *VMS)}
# The rule that looks at every object: the run has done so when it is asked.
REMOVED = frozenset(("removed_field",))


def fits(listing: LightList, settings: Config) -> bool:
    """True where nothing is asked for that needs all objects at once."""
    simple = settings.mode in MODES and settings.instances != "include" and "unexpanded-vm" not in settings.severity
    return simple and not listing.mentions(IGNORE)


def render(listing: LightList, settings: Config) -> tuple[Finding, ...] | None:
    """The findings in order; what changes is settled in the list. None where there are presets, which need all objects.

    Raises: Unreadable.
    """
    run = Run(listing, settings)
    if run.work.has_presets:
        return None
    for light in run.work.bundle.entries:
        if kind_of(light.obj) in LOOKED_INTO:
            run.pass_through(light)
    run.settle_inside()
    return run.findings()


class Run:
    """A run over a light list, and what it has found so far."""

    def __init__(self, listing: LightList, settings: Config) -> None:
        self.listing, self.settings = listing, settings
        self.work: Work = work_on(Bundle(listing.items), settings)
        self.resolver: Resolver = self.work.resolver()
        self.of_schemas: list[Finding] = []
        self.of_vms: list[Finding] = []
        self.catalogued: list[VmFacts] = []
        self.removed = False
        self.inside: list[tuple[Entry, Path, Object]] = []
        name = f"{modes.__name__}.{settings.mode}"
        __import__(name)
        self.mode: Any = sys.modules[name]

    def pass_through(self, light: Entry) -> None:
        """Say and change what there is to of one object."""
        release, severity = self.settings.release, self.settings.severity
        entry = light.but(obj=light.obj.whole()) if hasattr(light.obj, "whole") else light
        flaws = schema.strangers_in(entry, release)
        if flaws:
            self.of_schemas += rules.judge("schema", ObjectFacts(entry=entry, release=release, flaws=flaws), severity)
        if not self.removed and is_served(entry.obj, release):
            self.removed = any(True for _ in removed_fields(entry.obj))
        facts = self.work.vm(entry, self.resolver)
        if facts is None:
            return
        if facts.troubled:
            self.of_vms += rules.judge("vm", facts, severity)
        for changed, path, new in self.mode.changes(self.work.facts(vms=(facts,))):
            if changed.path:
                self.inside.append((light, (*changed.path, *path), new))
            else:
                self.listing.settle(changed.item, modes.put_in(entry.obj, path, new))
        self.keep(light, facts)

    def keep(self, light: Entry, facts: VmFacts) -> None:
        """Keep what the bundle's rules may ask for: the VMs that use the catalogue."""
        found = (facts.resolution.instancetype, facts.resolution.preference)
        if any(each is not None and each.origin == "catalogue" for each in found):
            vm = facts.vm if facts.prefix else light.obj
            resolution = facts.resolution.but(vm=vm)
            self.catalogued.append(
                facts.but(entry=light, vm=vm, resolution=resolution, admitted=vm, expansion=None, rendered=None)
            )

    def settle_inside(self) -> None:
        """Settle the changes of objects that stand in Lists."""
        lists: dict[int, Any] = {}
        for entry, path, new in self.inside:
            given = lists[entry.item] if entry.item in lists else self.listing.whole(entry.item)
            lists[entry.item] = modes.put_in(given, path, new)
        for number, new in lists.items():
            self.listing.settle(number, new)

    def findings(self) -> tuple[Finding, ...]:
        bundle = self.work.bundle
        facts = self.work.facts(vms=tuple(self.catalogued))
        of_bundle = rules.judge_bundle(facts, self.settings.severity, silent=() if self.removed else REMOVED)
        found = (*self.of_schemas, *self.of_vms, *of_bundle)
        return results.ordered(core.with_place(each, bundle) for each in found)
