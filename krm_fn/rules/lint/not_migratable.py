"""A drain of the node shuts a VM down that can't be live-migrated.

What it finds: a VM, or the VM in a pool, with the eviction strategy `LiveMigrateIfPossible`, its own or that of the cluster,
whose instance KubeVirt can't live-migrate. Claims that the bundle lacks are taken to be shared, and nothing is said of what
the configuration of a cluster decides that is not known.

Why it matters: the VM is down while its node is drained, and starts again elsewhere only if its run strategy says so.

Fix: remove what keeps the VM from migrating, or leave it as it is: the strategy `None` says that this is intended.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          evictionStrategy: LiveMigrateIfPossible
          domain: {memory: {guest: 1Gi}, devices: {interfaces: [{name: default, bridge: {}}]}}
          networks: [{name: default, pod: {}}]
"""

from __future__ import annotations

from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.drains import also_claim, worded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.rules.facts.bundles import BundleFacts


@rule(severity="info")
def not_migratable(facts: BundleFacts) -> Iterator[Hit]:
    for each in facts.evictions:
        if each.strategy == "LiveMigrateIfPossible":
            fact, fix = worded(each)
            yield Hit(
                message=f"{fact}, so a drain of its node shuts it down; {fix}set evictionStrategy to None if that is intended",
                path=each.path,
                about=each.entry,
                related=also_claim(each, facts.bundle),
            )
