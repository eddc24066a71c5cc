"""KubeVirt refuses a label or annotation.

What it finds: labels that only KubeVirt itself may set on an instance, and annotations whose feature gate is disabled.

Why it matters: the API server refuses the object when it is applied.

Fix: remove the label. Enable the feature gate that the message names, or remove the annotation.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        metadata: {labels: {kubevirt.io/nodeName: node1}}
        spec:
          domain: {memory: {guest: 1Gi}, devices: {}}
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
    upstream="pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:ValidateVirtualMachineInstanceMetadata",
)
def refused_label(facts: AdmissionFacts) -> Iterator[Hit]:
    yield from hits(facts, "label")
