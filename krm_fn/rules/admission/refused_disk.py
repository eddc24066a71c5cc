"""KubeVirt refuses a disk or filesystem.

What it finds: disks and filesystems without a volume, with two targets, with a bus, boot order, block size or serial that no
instance can have, or with a duplicate name.

Why it matters: the API server refuses the object when it is applied.

Fix: do what the message says. Every disk has the name of one volume. Boot orders start at 1, and each is used once.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {memory: {guest: 1Gi}, devices: {disks: [{name: root, bootOrder: 0, disk: {bus: virtio}}]}}
          volumes: [{name: root, containerDisk: {image: example.com/linux:1}}]
"""

from __future__ import annotations

from krm_fn.rules import rule
from krm_fn.rules.refusals import hits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.facts import AdmissionFacts
    from krm_fn.rules import Hit


@rule(severity="error", upstream="pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:validateDisks")
def refused_disk(facts: AdmissionFacts) -> Iterator[Hit]:
    yield from hits(facts, "disk")
