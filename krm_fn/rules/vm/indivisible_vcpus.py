"""An instancetype's vCPUs can't be spread as the preference requires.

What it finds: a preference with the topology `spread` whose ratio does not divide the vCPUs of the VM's instancetype. When
vCPUs are spread across sockets, cores and threads, a core has two threads, so twice the ratio must divide them.

Why it matters: KubeVirt refuses such a VM. Its expander does not check this: it rounds down, and the VM gets fewer vCPUs
than its instancetype promises.

Fix: choose an instancetype whose vCPUs the ratio divides, or a preference with another ratio or topology.

Example:

    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachinePreference
    metadata: {name: two-cores}
    spec:
      cpu:
        preferredCPUTopology: spread
        spreadOptions: {ratio: 2}
    ---
    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachineInstancetype
    metadata: {name: three}
    spec: {cpu: {guest: 3}, memory: {guest: 4Gi}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      instancetype: {kind: VirtualMachineInstancetype, name: three}
      preference: {kind: VirtualMachinePreference, name: two-cores}
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import get, is_set
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.facts import Unmet
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.parties import in_source, the_instancetype, the_preference


@rule(severity="error", upstream="pkg/instancetype/preference/validation/cpu.go:CheckSpreadCPUTopology")
def indivisible_vcpus(facts: VmFacts) -> Iterator[Hit]:
    for unmet in facts.expansion.unmet if facts.expansion else ():
        if unmet.kind == "spread":
            current = get(facts.vm, unmet.path)
            yield Hit(
                message=_message(unmet, facts),
                path=unmet.path,
                current=current if is_set(current) else UNSET,
                upstream="admission",
                upstream_path=unmet.upstream_path,
                related=in_source(facts.resolution.preference, unmet.source_path),
            )


def _message(unmet: Unmet, facts: VmFacts) -> str:
    across = dict(unmet.detail)["across"]
    return (
        f"{the_preference(facts)} spreads vCPUs in groups of {unmet.required} ({across}), but {the_instancetype(facts)} has "
        f"{unmet.actual}; choose an instancetype with a multiple of {unmet.required} vCPUs"
    )
