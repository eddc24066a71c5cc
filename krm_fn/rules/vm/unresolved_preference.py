"""A VM's preference does not exist.

What it finds: a `spec.preference` that refers to no preference. Neither the bundle nor the builtin catalogue has one of that
name, it is in another namespace, it is of the other kind (namespaced or cluster-wide), or `kind` is neither of the two. For
files of a folder that no kustomization uses, a name that is like no other is a warning: the cluster may have more objects
than the repository.

Why it matters: without its preference the VM can't be rendered, and KubeVirt can't start it. Before 1.6 its webhook refuses
such a VM. Since 1.6 the VM is stored and waits.

Fix: correct the name or the kind, or add the preference to the bundle. A matcher without a kind means the cluster-wide kind.
A namespaced preference must be in the VM's own namespace.

Example:

    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachinePreference
    metadata: {name: linux-desktop}
    spec: {devices: {preferredDiskBus: virtio}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: desk}
    spec:
      preference: {name: linux-desktop}
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.unresolved import hits


@rule(severity="error", upstream="pkg/instancetype/preference/find/spec.go:FindPreference")
def unresolved_preference(facts: VmFacts) -> Iterator[Hit]:
    yield from hits(facts, "preference")
