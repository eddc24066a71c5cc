"""A VM's instancetype does not exist.

What it finds: a `spec.instancetype` that refers to no instancetype. Neither the bundle nor the builtin catalogue has one of
that name, it is in another namespace, it is of the other kind (namespaced or cluster-wide), or `kind` is neither of the two.
For files of a folder that no kustomization uses, a name that is like no other is a warning: the cluster may have more objects
than the repository.

Why it matters: without its instancetype the VM can't be rendered, and KubeVirt can't start it. Before 1.6 its webhook
refuses such a VM. Since 1.6 the VM is stored and waits.

Fix: correct the name or the kind, or add the instancetype to the bundle. A matcher without a kind means the cluster-wide
kind. A namespaced instancetype must be in the VM's own namespace.

Example:

    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachineInstancetype
    metadata: {name: small}
    spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      instancetype: {kind: VirtualMachineInstancetype, name: smal}
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.unresolved import hits


@rule(severity="error", upstream="pkg/instancetype/find/spec.go:Find")
def unresolved_instancetype(facts: VmFacts) -> Iterator[Hit]:
    yield from hits(facts, "instancetype")
