"""The VMs of a namespace need more than its quota has.

What it finds: a ResourceQuota, ApplicationAwareResourceQuota or ApplicationAwareClusterResourceQuota whose amount of a
resource is smaller than what the VMs of the bundle need together that the cluster starts by itself. Pods count with
overhead and support containers, pools with their replicas. Other pods of the namespace are not known.

Why it matters: the API server refuses the pods that come last. Some VMs do not start, or not again after a restart, and
which ones depends on the order.

Fix: raise the quota, or make VMs smaller. `kubevirt-render capacity` shows what each VM needs.

Example:

    apiVersion: v1
    kind: ResourceQuota
    metadata: {name: team, namespace: shop}
    spec: {hard: {pods: "1"}}
    ---
    apiVersion: pool.kubevirt.io/v1beta1
    kind: VirtualMachinePool
    metadata: {name: web, namespace: shop}
    spec:
      replicas: 2
      selector: {matchLabels: {app: web}}
      virtualMachineTemplate:
        metadata: {labels: {app: web}}
        spec:
          runStrategy: Always
          template:
            metadata: {labels: {app: web}}
            spec: {domain: {devices: {}, memory: {guest: 1Gi}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import Path, get
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule

PLACES: tuple[Path, ...] = (("spec", "hard"), ("spec", "quota", "hard"))


@rule(severity="warning")
def quota_exceeded(facts: BundleFacts) -> Iterator[Hit]:
    for quota in facts.quotas:
        place = next((path for path in PLACES if get(quota.entry.obj, path)), PLACES[0])
        for name, need, allowed in quota.exceeded:
            path = (*place, name)
            yield Hit(
                message=f"the VMs need {need} of {name}, but the quota has {allowed}; raise it, or make VMs smaller",
                path=path,
                current=get(quota.entry.obj, path),
                about=quota.entry,
            )
