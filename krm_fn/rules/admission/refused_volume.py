"""A volume that KubeVirt refuses.

What it finds: volumes without a source or with two, named twice, of a kind whose feature gate is closed, or with cloud-init
data that is too long or missing.

Why it matters: the API server refuses the object when it is applied.

Fix: what the message says; a volume has exactly one source, and long cloud-init data belongs into a Secret.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {memory: {guest: 1Gi}, devices: {disks: [{name: root, disk: {}}]}}
          volumes: [{name: root}]
"""

from __future__ import annotations

from krm_fn.rules.registry import rule
from krm_fn.rules.shared.refusals import hits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.rules.facts import AdmissionFacts
    from krm_fn.rules.registry import Hit


@rule(severity="error", upstream="pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:validateVolumes")
def refused_volume(facts: AdmissionFacts) -> Iterator[Hit]:
    yield from hits(facts, "volume")
