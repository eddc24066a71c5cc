"""The cluster replaces references that git keeps.

What it finds: a KubeVirt configuration (in the bundle or in the function config) whose `instancetype.referencePolicy` is
`expand` or `expandAll`, while VMs in the bundle refer to instancetypes or preferences. Up to 1.5 the policy takes effect
only with the feature gate InstancetypeReferencePolicy.

Why it matters: KubeVirt writes the expanded VM back and removes the references. Git and the cluster then differ permanently.
Argo CD and Flux show drift. Applying the reference again conflicts with the CPU and memory that the VM now has, so admission
refuses it.

In mode `snapshot` nothing is stored for these VMs, because the cluster would not keep a reference to it.

Fix: commit or apply rendered VMs (mode `expand`), which contain no references, or set the policy to `reference`.

Example:

    apiVersion: kubevirt.io/v1
    kind: KubeVirt
    metadata: {name: kubevirt, namespace: kubevirt}
    spec: {configuration: {instancetype: {referencePolicy: expandAll}}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      instancetype: {name: u1.medium}
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import get
from krm_fn.kubevirt.configuration import REFERENCE_POLICY, kubevirt_of
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, also, rule


@rule(severity="warning", upstream="pkg/instancetype/controller/vm/controller.go:Sync")
def expanding_reference_policy(facts: BundleFacts) -> Iterator[Hit]:
    policy = facts.cluster.expanding_policy(facts.release)
    if not policy:
        return
    referring = [
        vm for vm in facts.vms if any(isinstance(get(vm.vm, ("spec", name)), dict) for name in ("instancetype", "preference"))
    ]
    if not referring:
        return
    first, number = facts.bundle.ordered(vm.entry for vm in referring)[0], len(referring)
    entry = kubevirt_of(facts.bundle)
    path = ("spec", "configuration", *REFERENCE_POLICY)
    count = "a VM refers" if number == 1 else f"{number} VMs refer"
    unstored = ", so no ControllerRevision is stored" if facts.config.mode == "snapshot" else ""
    fix = "apply rendered VMs, or set the policy to reference"
    yield Hit(
        message=f"{count} to instancetypes or preferences, which the cluster replaces{unstored}; {fix}",
        path=path,
        current=policy,
        proposed="reference",
        about=entry if entry and get(entry.obj, path) == policy else None,
        related=also(first, (*next(vm.prefix for vm in referring if vm.entry is first), "spec")),
    )
