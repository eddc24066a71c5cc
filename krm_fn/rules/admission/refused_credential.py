"""An access credential that KubeVirt refuses.

What it finds: SSH keys and passwords without a source or a way into the guest, with two of either, or with a way that the
volumes don't offer.

Why it matters: the API server refuses the object when it is applied.

Fix: name one Secret as source and one propagation method; keys by cloud-init need a cloud-init volume.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {memory: {guest: 1Gi}, devices: {}}
          accessCredentials: [{sshPublicKey: {source: {secret: {secretName: keys}}, propagationMethod: {noCloud: {}}}}]
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: keys}
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
    upstream="pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:validateAccessCredentials",
)
def refused_credential(facts: AdmissionFacts) -> Iterator[Hit]:
    yield from hits(facts, "credential")
