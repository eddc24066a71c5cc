"""KubeVirt refuses a scheduling setting.

What it finds: affinity terms, tolerations, spread constraints, eviction and start strategies that no pod or instance can
have.

Why it matters: the API server refuses the object when it is applied.

Fix: do what the message says. These fields are those of a pod.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {memory: {guest: 1Gi}, devices: {}}
          evictionStrategy: Always
"""

from __future__ import annotations

from krm_fn.rules import rule
from krm_fn.rules.refusals import hits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.facts import AdmissionFacts
    from krm_fn.rules import Hit


@rule(
    severity="error",
    upstream="pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:ValidateVirtualMachineInstanceSpec",
)
def refused_scheduling(facts: AdmissionFacts) -> Iterator[Hit]:
    yield from hits(facts, "scheduling")
