"""A drain of the node waits forever for a VM that can't be live-migrated.

What it finds: a VM, or the VM in a pool, with the eviction strategy `LiveMigrate`, its own or that of the cluster, whose
instance KubeVirt can't live-migrate: a claim is not `ReadWriteMany`, it has a bridge to the pod network, a host device, and
so on. Claims that the bundle lacks are taken to be shared, and nothing is said of what the configuration of a cluster
decides that is not known.

Why it matters: KubeVirt refuses to evict the pod, and migrates nothing. `kubectl drain` of the node, and with it the upgrade
of the node, hangs until somebody stops the VM.

Fix: remove what keeps the VM from migrating, or set `evictionStrategy` to `LiveMigrateIfPossible` or `None`: then a drain
shuts the VM down.

Example:

    apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: web-root}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          evictionStrategy: LiveMigrate
          domain:
            memory: {guest: 1Gi}
            devices:
              disks: [{name: root, disk: {}}]
              interfaces: [{name: default, masquerade: {}}]
          networks: [{name: default, pod: {}}]
          volumes: [{name: root, persistentVolumeClaim: {claimName: web-root}}]
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.findings.finding import UNSET
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.drains import also_claim, worded


@rule(severity="warning", upstream="pkg/virt-api/webhooks/validating-webhook/admitters/pod-eviction-admitter.go")
def blocked_drain(facts: BundleFacts) -> Iterator[Hit]:
    for each in facts.evictions:
        if each.strategy != "LiveMigrate":
            continue
        fact, fix = worded(each)
        whose = "its" if each.own else "the cluster's"
        yield Hit(
            message=f"{fact}, and {whose} evictionStrategy is LiveMigrate, so a drain of its node hangs; "
            f"{fix}set evictionStrategy to LiveMigrateIfPossible or None",
            path=(*each.at, "evictionStrategy") if each.own else each.path,
            current="LiveMigrate" if each.own else UNSET,
            about=each.entry,
            related=also_claim(each, facts.bundle),
        )
