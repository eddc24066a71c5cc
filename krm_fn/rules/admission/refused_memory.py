"""A memory or resource setting that KubeVirt refuses.

What it finds: values below `domain.memory` and `domain.resources` that no instance can have: guest memory above its limit or
its maximum, huge pages that don't divide it, requests above limits, quantities that are none.

Why it matters: the API server refuses the object when it is applied. Memory that fits no page size or no block of hotplug is
refused too, though it reads well.

Fix: what the message says; sizes in whole Mi or Gi fit.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {memory: {guest: 1Gi, hugepages: {pageSize: 2Gi}}, devices: {}}
"""

from __future__ import annotations

from krm_fn.rules.registry import rule
from krm_fn.rules.shared.refusals import hits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.rules.facts import AdmissionFacts
    from krm_fn.rules.registry import Hit


@rule(
    severity="error",
    upstream="pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:ValidateVirtualMachineInstanceSpec",
)
def refused_memory(facts: AdmissionFacts) -> Iterator[Hit]:
    yield from hits(facts, "memory")
