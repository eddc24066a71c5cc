"""The cluster replaces references that git keeps.

What it finds: a KubeVirt configuration (in the bundle or in the function config) whose `instancetype.referencePolicy` is
`expand` or `expandAll`, while VMs of the bundle refer to instancetypes or preferences. Up to 1.5 the policy is in force only
with the feature gate InstancetypeReferencePolicy.

Why it matters: KubeVirt then writes the expanded VM back and removes the references. What is in git and what is in the cluster
differ for good: Argo CD and Flux show drift, and applying the reference again clashes with the CPU and memory that the VM has
by now, so that admission refuses it.

Fix: commit or apply rendered VMs (mode `expand`), which hold no references, or set the policy to `reference`.

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

from krm_fn.cluster import kubevirt_of
from krm_fn.paths import get
from krm_fn.rules import Hit, also, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.facts import BundleFacts

PLACE = ("instancetype", "referencePolicy")
EXPANDING = ("expand", "expandAll")
GATE = "InstancetypeReferencePolicy"
GATED_UNTIL = (1, 6)


@rule(severity="warning", upstream="pkg/instancetype/controller/vm/controller.go:Sync")
def expanding_reference_policy(facts: BundleFacts) -> Iterator[Hit]:
    policy = facts.cluster.setting(*PLACE)
    gated = facts.release.within(until=GATED_UNTIL) and not facts.cluster.has_gate(GATE)
    if policy not in EXPANDING or gated:
        return
    referring = [
        vm for vm in facts.vms if any(isinstance(get(vm.vm, ("spec", name)), dict) for name in ("instancetype", "preference"))
    ]
    if not referring:
        return
    first, number = facts.bundle.ordered(vm.entry for vm in referring)[0], len(referring)
    entry = kubevirt_of(facts.bundle)
    path = ("spec", "configuration", *PLACE)
    count = "a VM refers" if number == 1 else f"{number} VMs refer"
    yield Hit(
        message=f"{count} to instancetypes or preferences, which the cluster replaces; apply rendered VMs, or set reference",
        path=path,
        current=policy,
        proposed="reference",
        about=entry if entry and get(entry.obj, path) == policy else None,
        related=also(first, (*next(vm.prefix for vm in referring if vm.entry is first), "spec")),
    )
