"""KubeVirt refuses a volume.

What it finds: volumes without a source or with two, with a duplicate name, of a kind whose feature gate is disabled, or with
cloud-init data that is missing or too long.

Why it matters: the API server refuses the object when it is applied.

Fix: do what the message says. A volume has exactly one source, and long cloud-init data belongs in a Secret.

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

from krm_fn.rules import rule
from krm_fn.rules.refusals import hits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.facts import AdmissionFacts
    from krm_fn.rules import Hit


@rule(severity="error", upstream="pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:validateVolumes")
def refused_volume(facts: AdmissionFacts) -> Iterator[Hit]:
    yield from hits(facts, "volume")
