"""KubeVirt refuses an access credential.

What it finds: SSH keys and passwords without a source or a propagation method, with two of either, or with a method that the
volumes do not support.

Why it matters: the API server refuses the object when it is applied.

Fix: set one Secret as source and one propagation method. Keys that cloud-init propagates need a cloud-init volume.

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

from krm_fn.rules import rule
from krm_fn.rules.refusals import hits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.facts import AdmissionFacts
    from krm_fn.rules import Hit


@rule(
    severity="error",
    upstream="pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:validateAccessCredentials",
)
def refused_credential(facts: AdmissionFacts) -> Iterator[Hit]:
    yield from hits(facts, "credential")
