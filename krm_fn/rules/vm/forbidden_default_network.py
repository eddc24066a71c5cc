"""A VM has no networks, and the cluster forbids its default network.

What it finds: a VM without networks and interfaces in a cluster whose default can't be used: the bridge binding where
`network.permitBridgeInterfaceOnPodNetwork` is false, or slirp, which KubeVirt has removed.

Why it matters: KubeVirt can't complete such a VM. Its expander fails, and its admission webhook refuses the VM.

Fix: add networks and interfaces to the VM, set `devices.autoattachPodInterface: false`, or make masquerade the cluster's
default.

Example:

    apiVersion: kubevirt.io/v1
    kind: KubeVirt
    metadata: {name: kubevirt, namespace: kubevirt}
    spec:
      configuration:
        network: {permitBridgeInterfaceOnPodNetwork: false}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      instancetype: {name: u1.medium}
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import get, is_set
from krm_fn.kubevirt.expand import BRIDGE_FORBIDDEN, SLIRP_FORBIDDEN, SLIRP_REMOVED
from krm_fn.kubevirt.holders import DOMAIN, INSTANCE_SPEC
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.parties import the_vm

AUTOATTACH = (*DOMAIN, "devices", "autoattachPodInterface")
WHY = {
    BRIDGE_FORBIDDEN: "the cluster's default, a bridge on the pod network, is not permitted",
    SLIRP_FORBIDDEN: "the cluster's default, slirp, is not permitted",
    SLIRP_REMOVED: "the cluster's default is slirp, which KubeVirt has removed",
}


@rule(severity="error", upstream="pkg/network/vmispec/defaults.go:SetDefaultNetworkInterface")
def forbidden_default_network(facts: VmFacts) -> Iterator[Hit]:
    for refusal in facts.expansion.refusals if facts.expansion else ():
        if refusal in WHY:
            yield Hit(
                message=f"{the_vm(facts)} has no networks, and {WHY[refusal]}; add networks and interfaces to the VM",
                path=(*INSTANCE_SPEC, "networks"),
                upstream="expand" if _is_declined(facts) else "admission",
            )


def _is_declined(facts: VmFacts) -> bool:
    """True where the preference declines the network: admission applies it before the default, the expander after."""
    preference = facts.resolution.preference
    wish = get(preference.spec, ("devices", "preferredAutoattachPodInterface")) if preference else None
    return wish is False and not is_set(get(facts.vm, AUTOATTACH))
