"""A VM's network needs a resource that only the network-resources-injector requests.

What it finds: a network of a VM, an instance, a pool or a replica set whose NetworkAttachmentDefinition has the annotation
`k8s.v1.cni.cncf.io/resourceName`, if the feature gate `ExternalNetResourceInjection` is open because the release says so
(since 1.9). A bundle that has the network-resources-injector, or names the gate in its KubeVirt object, is skipped.

Why it matters: until 1.8, KubeVirt itself wrote the resource into the pod. With the gate, the webhook of the
network-resources-injector has to do it. Without it, the pod gets no device, such as a virtual function of SR-IOV, and the VM
does not start. It is an info, because the webhook is often installed by other means.

Fix: install the network-resources-injector, or list the gate in `developerConfiguration.disabledFeatureGates`.

Example:

    apiVersion: k8s.cni.cncf.io/v1
    kind: NetworkAttachmentDefinition
    metadata:
      name: sriov
      namespace: shop
      annotations: {k8s.v1.cni.cncf.io/resourceName: intel.com/sriov}
    spec: {config: '{"cniVersion": "0.3.1", "name": "sriov", "type": "sriov"}'}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web, namespace: shop}
    spec:
      runStrategy: Always
      template:
        spec:
          domain:
            memory: {guest: 1Gi}
            devices: {interfaces: [{name: fast, sriov: {}}]}
          networks: [{name: fast, multus: {networkName: sriov}}]
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import effective_namespace
from krm_fn.base.paths import as_map, get
from krm_fn.kubevirt.default_gates import need, opened
from krm_fn.kubevirt.holders import SERVED
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="info")
def missing_resource_injector(facts: BundleFacts) -> Iterator[Hit]:
    rows = [row for row in opened(facts.cluster, facts.release) if row.certain]
    for holder in SERVED.values():
        for entry in facts.bundle.of_kind(holder.kind, holder.group) if rows else ():
            spec = as_map(get(entry.obj, holder.instance))
            for row in rows:
                if said := need(row, spec, effective_namespace(entry.obj), facts.bundle):
                    yield Hit(
                        message=f"feature gate {row.gate} is open by default, which needs {said}; provide it, or list the gate "
                        "in disabledFeatureGates",
                        path=(*holder.instance, "networks"),
                        about=entry,
                    )
