"""The facts that only rules of the family `lint` judge, gathered where a bundle has what they are about."""

from __future__ import annotations

from krm_fn.base.paths import get
from krm_fn.kubevirt.holders import INSTANCE_SPEC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.rules.facts.bundles import BundleFacts

# The kinds that bound what VMs may need.
BOUNDS = ("ResourceQuota", "LimitRange", "ApplicationAwareResourceQuota", "ApplicationAwareClusterResourceQuota")
STRATEGY = (*INSTANCE_SPEC, "evictionStrategy")


def completed(facts: BundleFacts) -> BundleFacts:
    """The facts with those of quotas, LimitRanges and drains. They must be those of mode `validate`."""
    if any(facts.bundle.of_kind(kind) for kind in BOUNDS):
        from krm_fn.pipeline import bounds  # few bundles have any

        facts = bounds.with_bounds(facts)
    if facts.cluster.setting("evictionStrategy") or any(get(vm.vm, STRATEGY) for vm in facts.vms):
        from krm_fn.pipeline import evictions

        facts = evictions.with_evictions(facts)
    return facts
