"""A VM gets a single vCPU, because its release of KubeVirt does not know the preferred topology.

What it finds: a VM with an instancetype of several vCPUs, and a preference whose `preferredCPUTopology` the target release does
not know. KubeVirt 1.0 to 1.3 do not know the names `sockets`, `cores`, `threads`, `spread` and `any`, which 1.4 added. KubeVirt
1.0 does not know `preferSpread` and `preferAny` either.

Why it matters: these releases accept any text there, and report nothing. The VM starts with one socket, one core and one
thread, whatever its instancetype says. Releases since 1.4 refuse an unknown name.

Fix: use a name that the release knows. Releases since 1.4 accept the older names, too.

Example:

    # kubevirtVersion: "1.3"
    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachinePreference
    metadata: {name: cores}
    spec: {cpu: {preferredCPUTopology: cores}}
    ---
    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachineInstancetype
    metadata: {name: four}
    spec: {cpu: {guest: 4}, memory: {guest: 4Gi}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      instancetype: {kind: VirtualMachineInstancetype, name: four}
      preference: {kind: VirtualMachinePreference, name: cores}
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import get, is_set
from krm_fn.base.wording import show
from krm_fn.findings.finding import UNSET
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.parties import in_source, the_instancetype, the_preference, the_vm
from krm_fn.rules.shared.topologies import use_another

MATCHER = ("spec", "preference")
TOPOLOGY = ("spec", "cpu", "preferredCPUTopology")


@rule(severity="warning", upstream="pkg/instancetype/instancetype.go:applyCPU", until=(1, 4))
def lost_vcpus(facts: VmFacts) -> Iterator[Hit]:
    topology = facts.expansion.ignored_topology if facts.expansion else ""
    found = facts.resolution.instancetype
    if not topology or found is None:
        return
    vcpus, current = get(found.spec, ("cpu", "guest")), get(facts.vm, MATCHER)
    fact = f"KubeVirt {facts.release} does not know the topology {show(topology)} of {the_preference(facts)}"
    effect = f"{the_vm(facts)} gets 1 vCPU instead of the {vcpus} of {the_instancetype(facts)}"
    yield Hit(
        message=f"{fact}, so {effect}; {use_another(topology, facts.release)}",
        path=MATCHER,
        current=current if is_set(current) else UNSET,
        related=in_source(facts.resolution.preference, TOPOLOGY),
    )
