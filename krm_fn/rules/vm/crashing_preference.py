"""A preference crashes KubeVirt's webhook.

What it finds: a VM without an instancetype whose preference has `preferredCPUFeatures`, while the VM has no `domain.cpu`; and
in KubeVirt 1.1 one whose preference has the topology `preferSpread`. The webhook then reads what is not there.

Why it matters: the API server refuses the VM with an internal error, which says nothing of the cause.

Fix: refer to an instancetype, or do what the message says.

Example:

    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachinePreference
    metadata: {name: nested}
    spec:
      cpu: {preferredCPUFeatures: [{name: vmx, policy: require}]}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      preference: {kind: VirtualMachinePreference, name: nested}
      template: {spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.kubevirt.expand.admitted import CRASHES
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.parties import in_source, the_preference


@rule(severity="error", upstream="pkg/instancetype/preference/apply/cpu.go:applyCPUPreferences")
def crashing_preference(facts: VmFacts) -> Iterator[Hit]:
    for row in [CRASHES[word] for word in facts.expansion.refusals if word in CRASHES] if facts.expansion else ():
        fact = f"{the_preference(facts)} has {row.has}, and the VM has {row.lacks}"
        yield Hit(
            message=f"{fact}: KubeVirt's webhook crashes, so the API server refuses the VM; {row.fix}",
            path=("spec", "preference"),
            upstream="admission",
            related=in_source(facts.resolution.preference, ("spec", *row.field)),
        )
