"""A VM never starts under the quota of its namespace.

What it finds: a VM, pool, replica set or instance whose pod needs more of a resource than a quota of its namespace has
in all, or whose pod has a container without the request or limit that a ResourceQuota of CPU or memory demands of each
container.

Why it matters: KubeVirt admits the VM. The API server refuses its pod, so the VM does not start. An
ApplicationAwareResourceQuota holds the pod back.

Fix: raise the quota, make the VM smaller, or set the missing request or limit. Those of hook sidecars are set in
`supportContainerResources` of the KubeVirt object.

Example:

    apiVersion: v1
    kind: ResourceQuota
    metadata: {name: team, namespace: shop}
    spec: {hard: {requests.memory: 2Gi}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web, namespace: shop}
    spec:
      runStrategy: Always
      template:
        spec: {domain: {devices: {}, memory: {guest: 2Gi}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import ref_of
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, also, rule


@rule(severity="error")
def vm_over_quota(facts: BundleFacts) -> Iterator[Hit]:
    for quota in facts.quotas:
        what = "holds its pod back" if quota.aware else "refuses its pod"
        for entry, why in quota.stopped:
            yield Hit(
                message=f"{ref_of(quota.entry.obj)} {what}: {'; '.join(why)}; raise the quota, or change the VM",
                path=("spec",),
                about=entry,
                related=also(quota.entry, ("spec",)),
            )
