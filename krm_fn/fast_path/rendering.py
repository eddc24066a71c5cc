"""Renders a listing object after object, and forgets each object when it is done.

It makes the same findings and changes as `pipeline.stages.render`. Lists that need all objects at once are left to that
function, and so are lists with Lists among the items, which hosts take apart.
"""

from __future__ import annotations

import sys

from krm_fn import config
from krm_fn.base.annotations import Any, BinaryIO, Iterable, Sequence, TextIO
from krm_fn.base.bundle import LIST, Entry, is_list
from krm_fn.base.errors import ConfigError, InputError
from krm_fn.base.objects import IGNORE, LIST_VERSIONS, PREVIOUS_NAMES, Object, annotations_of
from krm_fn.base.paths import put_in
from krm_fn.fast_path.edits import ListEdits
from krm_fn.fast_path.index import ListingBundle
from krm_fn.fast_path.listing import VM, Listing, Unreadable
from krm_fn.fast_path.shapes import Changes, ItemShape, Likeness
from krm_fn.findings.finding import Finding
from krm_fn.kubevirt import schema
from krm_fn.kubevirt.api_versions import is_served
from krm_fn.kubevirt.catalogue_names import NAMES as BUILTIN
from krm_fn.kubevirt.removed_fields import TEMPLATES, VMS, removed_fields
from krm_fn.kubevirt.resolve import Resolver
from krm_fn.kubevirt.schema import READ, ObjectFacts
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline import modes
from krm_fn.pipeline.analysis import Analysis, analysis_of, large
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.needs import NAMED, any_speaks
from krm_fn.yamlio.plain.lines import NotPlain

NOTHING: Object = {}
MODES = ("expand", "annotate")
OUTCOMES = 20_000  # that are kept
AT_ONCE = 50  # VMs that pass through each step together
# Policies are evaluated on all objects.
POLICIES = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
# The run does not read objects of other kinds.
LOOKED_INTO = READ | {kind for _, kind in (*TEMPLATES, *VMS)}
CATALOGUED = ("VirtualMachineClusterInstancetype", "VirtualMachineClusterPreference")
# The rules that check every object: the run knows whether they have findings.
REMOVED, NAMESAKES, RENAMED, DIFFERING = "removed_field", "duplicate_object", "former_name", "differing_catalogue_name"
# The rules about the catalogue entries that VMs use: they judge the first VM that uses an entry.
OF_USE = ("deprecated-instancetype", "removed-in-later-release", "undeployed-catalogue")


def run(data: bytes, out: BinaryIO, err: TextIO) -> int | None:
    """The exit code of the function, like `krm_fn.hosts.function.run`, with little more memory than the input needs.

    None, and nothing is written, if the list can't be rendered in this way, or is wrong: the full path reports why.
    """
    try:
        listing = Listing(data)
        settings = config.read(listing.head.get("functionConfig"))
        if listing.head.get("apiVersion") not in LIST_VERSIONS or not fits(settings):
            return None
        listing.load()
        passed = None if needs_all_objects(listing) else ListRun(listing, settings)
        findings = passed.findings() if passed and not passed.analysis.presets else None
    except (NotPlain, InputError, ConfigError, Unreadable):
        return None
    if passed is None or findings is None:
        return None
    if not findings:
        out.writelines(passed.edits.written())
        return 0
    from krm_fn.findings import results

    out.writelines(passed.edits.written(results.merge(listing.head.get("results"), findings)))
    results.report(findings, err)
    return results.exit_code(findings, settings.fail_on)


def fits(settings: Config) -> bool:
    """True if nothing in the config needs all objects at once."""
    if settings.patches or settings.policies or settings.schema_policies or settings.rule_packages:
        return False
    if "unexpanded-vm" in settings.severity or (settings.release and not settings.release.is_measured):
        return False
    return settings.mode in MODES and settings.instances != "include" and not settings.pod_size


def needs_all_objects(listing: Listing) -> bool:
    """True if the list has ignores, Lists, policies, or objects that kustomize may have renamed and that VMs name."""
    if listing.contains(IGNORE) or any(kind in POLICIES for _, kind in listing.types):
        return True
    renamed = any(kind in NAMED for _, kind in listing.types) and listing.contains(PREVIOUS_NAMES)
    return renamed or any(
        is_list(listing.value(number))
        for (_, kind), numbers in listing.types.items()
        if kind.endswith(LIST)
        for number in numbers
    )


class ListRun:
    """A run over a listing, and its findings so far."""

    def __init__(self, listing: Listing, settings: Config) -> None:
        """Raises: Unreadable."""
        self.listing, self.settings, self.edits = listing, settings, ListEdits(listing)
        self.analysis: Analysis = analysis_of(ListingBundle(listing), settings)
        self.resolver: Resolver = self.analysis.resolver()
        self.of_schemas: list[Finding] = []
        self.of_vms: list[Finding] = []
        self.using_catalogue: dict[tuple[Any, ...], VmFacts] = {}  # the first VM that uses some of its entries
        self.unmet: list[VmFacts] = []
        self.removed = False
        self.missed = False  # an entry of the catalogue was not found
        self.sound: set[ItemShape] = set()  # their keys have no findings
        self.outcomes: dict[Likeness, Changes] = {}
        name = f"{modes.__name__}.{settings.mode}"
        __import__(name)
        self.mode: Any = sys.modules[name]

    def findings(self) -> tuple[Finding, ...] | None:
        """The findings in order, after all items; None if only the full path knows them.

        Raises: Unreadable.
        """
        waiting: list[int] = []  # VMs without a likeness
        for number in self.analysis.bundle.numbers(LOOKED_INTO):
            item = self.listing.items[number]
            likeness = item.likeness if item.kind != VM or self.settings.defaults != "pinned" else None
            if item.kind != VM:
                self.pass_other(number, likeness)
            elif likeness:
                self.pass_vm(number, likeness)
            else:
                waiting.append(number)
            if len(waiting) == AT_ONCE:
                self.examine(waiting)
                waiting = []
        self.examine(waiting)
        return self.findings_of_all()

    def pass_other(self, number: int, likeness: Likeness | None) -> None:
        """Report and change an object that is not a VM, if necessary."""
        if not likeness or likeness[0] not in self.sound:
            before = self.count
            self.examine([number])
            if likeness and self.count == before:
                self.sound.add(likeness[0])

    def pass_vm(self, number: int, likeness: Likeness) -> None:
        """Report and change a VM, if necessary. A VM with the likeness of one without findings changes in the same way."""
        changes = self.outcomes.get(likeness)
        if changes is not None:
            self.edits.add(number, changes)
            return
        before, sound = self.count, likeness[0] in self.sound
        facts = (self.examine_for_all(number, *likeness) if sound else None) or self.examine([number], keys_known=sound)
        if facts and self.count == before and _stands_for_others(facts):
            self.remember(number, likeness)

    def remember(self, number: int, likeness: Likeness) -> None:
        """Keep the changes of a VM for the VMs with the same likeness."""
        changes = self.edits.of(number)
        if changes is not None and likeness[0].keeps_unread_values(changes):
            if len(self.outcomes) >= OUTCOMES:
                self.outcomes.clear()
            self.outcomes[likeness] = changes
            self.sound.add(likeness[0])

    def examine(self, numbers: Sequence[int], *, keys_known: bool = False) -> VmFacts | None:
        """Report and change some objects, if necessary. Returns the facts of the VM in the last one, if it holds one.

        All of them pass through each step together, which takes a tenth less time than one after the other.
        Raises: Unreadable if one has an ignore that the list's bytes do not show, because it is written with escapes.
        """
        known = [self.listing.read(number) for number in numbers]
        entries = [Entry(obj=value, item=number) for number, (value, _) in zip(numbers, known, strict=True)]
        if any(IGNORE in annotations_of(entry.obj) for entry in entries):
            raise Unreadable
        for entry in entries if not keys_known else ():
            self.check_keys(entry)
        found = [self.analysis.vm(entry, self.resolver) for entry in entries]
        for facts, (value, layout) in zip(found, known, strict=True):
            if facts:
                self.report_vm(facts)
                for entry, path, new in self.mode.changes(self.analysis.facts(vms=(facts,))):
                    self.edits.turn(entry.item, value, put_in(value, path, new), layout)
                self.note_use(facts)
        return found[-1] if found else None

    def examine_for_all(self, number: int, shape: ItemShape, difference: tuple[int | str, ...]) -> VmFacts | None:
        """Report and change all VMs of a likeness, with an object that represents them.

        None, and nothing is done, if each VM must be read itself.
        """
        stand_in = shape.stand_in(difference)
        facts = self.analysis.vm(Entry(obj=stand_in, item=number), self.resolver)
        if facts is None or facts.troubled or facts.resolution.vm is not facts.vm:
            return None
        for _, _, new in self.mode.changes(self.analysis.facts(vms=(facts,))):
            if not self.edits.turn_as(number, stand_in, new, shape.layout):
                return None
        self.note_use(facts)
        return facts

    def check_keys(self, entry: Entry) -> None:
        """Report the flaws of one object's keys, which are the same for all objects of a shape."""
        release, severity = self.analysis.release, self.settings.severity
        flaws = schema.flaws_of_read(entry, release, handed_on=self.settings.mode in modes.HANDING_ON)
        if flaws:
            from krm_fn.rules import registry  # most runs have no findings

            self.of_schemas += registry.judge("schema", ObjectFacts(entry=entry, release=release, flaws=flaws), severity)
        if not self.removed and is_served(entry.obj, release):
            self.removed = any(True for _ in removed_fields(entry.obj, release))

    def report_vm(self, facts: VmFacts) -> None:
        """Report the findings of a VM."""
        if not facts.troubled:
            return
        from krm_fn.rules import registry

        self.of_vms += registry.judge("vm", facts, self.settings.severity)
        self.missed |= any(error.wanted and error.wanted.name in BUILTIN for error in facts.resolution.errors)
        if facts.expansion and facts.expansion.unmet:
            self.unmet.append(_without_vm(facts))

    def note_use(self, facts: VmFacts) -> None:
        """Note the entries of the catalogue that a VM uses."""
        found = (facts.resolution.instancetype, facts.resolution.preference)
        used = tuple([each.ref if each and each.origin == "catalogue" else None for each in found])
        if any(used) and used not in self.using_catalogue:
            self.using_catalogue[used] = _without_vm(facts)

    @property
    def count(self) -> tuple[int, int, bool]:
        """The number of findings so far, and whether there are removed fields."""
        return len(self.of_schemas), len(self.of_vms), self.removed

    def findings_of_all(self) -> tuple[Finding, ...] | None:
        """The findings in order, after all items; None if only the full path knows them."""
        bundle, severity = self.analysis.bundle, self.settings.severity
        facts = self.analysis.facts(vms=tuple(self.using_catalogue.values()))
        silent = self.silent_rules()
        if not (self.of_schemas or self.of_vms or any_speaks(facts, silent)):
            return ()
        if self.missed and facts.cluster.catalogue_gate(facts.release):
            return None  # a VM whose catalogue entry is not found has a finding of the bundle, too
        from krm_fn.findings import results
        from krm_fn.findings.limits import InAll
        from krm_fn.rules import registry

        of_bundle = tuple(registry.judge_bundle(facts, severity, silent=silent))
        if any(finding.rule in OF_USE for finding in of_bundle):
            return None  # other VMs may use the same entry, and have the finding too
        limit = InAll(len(self.listing.items))
        found = [*limit.first((*in_order(self.of_schemas), *in_order(self.of_vms), *of_bundle))]
        if len(found) > 1:
            from krm_fn.pipeline import consequences

            found = consequences.roots(found, self.unmet)
        return results.ordered(results.placed(each, bundle) for each in (*found, *limit.left_out()))

    def silent_rules(self) -> set[str]:
        """The rules about the bundle that have no findings, judged by the items' types and names."""
        names: dict[str, list[str | None]] = {}
        for (_, kind), numbers in self.listing.types.items():
            names.setdefault(kind, []).extend([self.listing.names(number)[0] for number in numbers])
        active = {
            REMOVED: self.removed,
            NAMESAKES: any(len(set(of_kind)) < len(of_kind) for of_kind in names.values()),
            RENAMED: False,  # lists in which it may have findings take the full path
            DIFFERING: any(name in BUILTIN for kind in CATALOGUED for name in names.get(kind, ())),
        }
        return {rule for rule, needed in active.items() if not needed}


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """The findings in the order of their objects."""
    return sorted(findings, key=lambda finding: finding.item)


def _stands_for_others(facts: VmFacts) -> bool:
    """True if VMs with the same likeness change in the same way. Results of large instancetypes are counted for each VM."""
    return not facts.troubled and facts.resolution.vm is facts.vm and not large(facts.resolution)


def _without_vm(facts: VmFacts) -> VmFacts:
    """The facts of a VM without the VM itself, because there may be many."""
    resolution, entry = facts.resolution.but(vm=NOTHING), facts.entry.but(obj=NOTHING)
    return facts.but(entry=entry, vm=NOTHING, resolution=resolution, admitted=NOTHING, expansion=None, rendered=None)
