"""The pod or a claim of a VM is outside of the bounds of a LimitRange.

What it finds: a VM, pool, replica set or instance whose pod the API server refuses because of a LimitRange of the
namespace: a container, the whole pod or a claim is below a minimum, above a maximum, or has a limit too far above its
request. Also a container whose request is above the default limit that the LimitRange gives it.

Why it matters: KubeVirt admits the VM, but its pod or its claim is refused, so it never starts. KubeVirt sets no memory
limit for most VMs. The default limit of a LimitRange then holds for a whole guest, though it is meant for small
containers. The request of 5m of the container `guest-console-log` is often below a minimum.

Fix: change the LimitRange, set limits in the VM, or set `supportContainerResources` of the KubeVirt object.

Example:

    apiVersion: v1
    kind: LimitRange
    metadata: {name: defaults, namespace: shop}
    spec: {limits: [{type: Container, default: {memory: 512Mi}}]}
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
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule

SHOWN = 3  # of the reasons


@rule(severity="error")
def pod_outside_limit_range(facts: BundleFacts) -> Iterator[Hit]:
    for entry, why in facts.refused_pods:
        more = f"; and {len(why) - SHOWN} more" if len(why) > SHOWN else ""
        reasons = "; ".join(why[:SHOWN]) + more
        yield Hit(
            message=f"the API server refuses the pod: {reasons}; change the LimitRange, or set requests and limits",
            path=("spec",),
            about=entry,
        )
