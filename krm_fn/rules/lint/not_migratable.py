"""A VM can't be live-migrated, although a migration asks for it, or else a drain of its node shuts it down.

What it finds: a VM, or the VM in a pool, with the eviction strategy `LiveMigrateIfPossible`, its own or that of the cluster,
whose instance KubeVirt can't live-migrate, and a VirtualMachineInstanceMigration of such a VM (a warning). Claims that the
bundle lacks are taken to be shared, and nothing is said of what the configuration of a cluster decides that is not known.

Why it matters: the VM is down while its node is drained, and starts again elsewhere only if its run strategy says so. KubeVirt
refuses the migration.

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

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import kind_of, name_of
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, also, rule
from krm_fn.rules.shared.drains import VMI_NAME, also_claim, migrated, worded

VM = "VirtualMachine"


@rule(
    severity="info", worst="warning", upstream="pkg/virt-api/webhooks/validating-webhook/admitters/migration-create-admitter.go"
)
def not_migratable(facts: BundleFacts) -> Iterator[Hit]:
    migrations = migrated(facts.bundle)
    for each in facts.evictions:
        name = name_of(each.entry.obj)
        migration = migrations.get((effective_namespace(each.entry.obj), name)) if kind_of(each.entry.obj) == VM else None
        if migration:
            fact, fix = worded(each)
            yield Hit(
                message=f"KubeVirt refuses this migration: {fact}; {fix}remove the migration",
                path=VMI_NAME,
                current=name,
                about=migration,
                severity="warning",
                related=also(each.entry, each.path),
            )
        if each.strategy == "LiveMigrateIfPossible":
            fact, fix = worded(each)
            yield Hit(
                message=f"{fact}, so a drain of its node shuts it down; {fix}set evictionStrategy to None if that is intended",
                path=each.path,
                about=each.entry,
                related=also_claim(each, facts.bundle),
            )
