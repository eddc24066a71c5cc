"""KubeVirt refuses a memory or resource setting.

What it finds: values below `domain.memory` and `domain.resources` that no instance can have: guest memory above its limit or
its maximum, huge pages that don't divide it, requests above limits, invalid quantities.

Why it matters: the API server refuses the object when it is applied. It also refuses memory that fits no page size or no
hotplug block, although the value looks correct.

Fix: do what the message says. Sizes in whole Mi or Gi fit.

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
def refused_memory(facts: AdmissionFacts) -> Iterator[Hit]:
    yield from hits(facts, "memory")
