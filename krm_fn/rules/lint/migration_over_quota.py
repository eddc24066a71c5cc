"""A quota has no room for a VM that migrates.

What it finds: a quota that has room for the VMs of its namespaces, but not for a second pod of a VM with the eviction
strategy `LiveMigrate` or `LiveMigrateIfPossible`. Only VMs that the cluster starts by itself are counted. Application-
aware quotas do not count the second pod, unless the operator is set to `IgnoreVmiCalculator`.

Why it matters: during a live migration two pods exist. Without room for the second one, the VM can't leave its node:
draining the node waits, and so do updates of KubeVirt and changes that are applied by a migration.

Fix: leave room in the quota for the largest VM, or use an ApplicationAwareResourceQuota.

Example:

    apiVersion: v1
    kind: ResourceQuota
    metadata: {name: team, namespace: shop}
    spec: {hard: {pods: "1"}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web, namespace: shop}
    spec:
      runStrategy: Always
      template:
        spec:
          evictionStrategy: LiveMigrate
          domain: {devices: {}, memory: {guest: 1Gi}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import name_of
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, also, rule

NAMED = 3  # of the VMs


@rule(severity="warning")
def migration_over_quota(facts: BundleFacts) -> Iterator[Hit]:
    for quota in facts.quotas:
        if quota.exceeded or not quota.migrations:
            continue
        names = [name_of(entry.obj) for entry in quota.migrations]
        shown = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
        yield Hit(
            message=f"there is no room for a second pod during a live migration of {shown}; leave room for the largest VM",
            path=("spec",),
            about=quota.entry,
            related=also(quota.migrations[0], ("spec",)),
        )
