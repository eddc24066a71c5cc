"""The facts that only rules of the family `lint` judge, gathered where a bundle has what they are about."""

from __future__ import annotations

from krm_fn.base.annotations import Iterable
from krm_fn.base.paths import get
from krm_fn.kubevirt.holders import INSTANCE_SPEC, SERVED
from krm_fn.rules.facts.admission import AdmissionFacts
from krm_fn.rules.facts.bundles import BundleFacts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.pipeline.stopped import Instances


# The kinds that bound what VMs may need.
BOUNDS = ("ResourceQuota", "LimitRange", "ApplicationAwareResourceQuota", "ApplicationAwareClusterResourceQuota")
# The kinds that make instances without a VM.
MIGRATION = "VirtualMachineInstanceMigration"
WITHOUT_VM = tuple(holder.kind for holder in SERVED.values() if holder.vm is None)
CONVERTIBLE = "could-use-instancetype"  # the rule is off unless the config asks for it
STRATEGY = (*INSTANCE_SPEC, "evictionStrategy")


def completed(facts: BundleFacts, instances: Instances, refused: Iterable[AdmissionFacts]) -> BundleFacts:
    """The facts with those of starts, quotas, LimitRanges, drains and Argo CD. They must be those of mode `validate`.

    `instances` are those of the bundle, `refused` the objects that KubeVirt does not let in.
    """
    if not all(vm.sound for vm in facts.vms) or any(facts.bundle.of_kind(kind) for kind in WITHOUT_VM):
        from krm_fn.pipeline import stopped

        out = {(each.entry.item, each.entry.path) for each in refused if each.causes}
        facts = facts.but(stopped=tuple(stopped.stopped(facts, instances, out)))
    if any(facts.bundle.of_kind(kind) for kind in BOUNDS):
        from krm_fn.pipeline import bounds  # few bundles have any

        facts = bounds.with_bounds(facts, instances)
    if (
        facts.cluster.setting("evictionStrategy")
        or any(get(vm.vm, STRATEGY) for vm in facts.vms)
        or facts.bundle.of_kind(MIGRATION)
    ):
        from krm_fn.pipeline import bounds

        facts = bounds.with_evictions(facts, instances)
    if facts.surroundings.ignored is not None:
        from krm_fn.pipeline import drift

        facts = drift.with_drifts(facts)
    if facts.config.severity.get(CONVERTIBLE, "off") != "off":
        from krm_fn.pipeline import conversions

        facts = conversions.with_conversions(facts)
    return facts
