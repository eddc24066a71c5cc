"""KubeVirt refuses a CPU or IO thread setting.

What it finds: values below `domain.cpu`, `ioThreads` and `ioThreadsPolicy` that no instance can have: dedicated placement
without whole CPUs, realtime or NUMA without what they require, a topology above its own maximum, features with an unknown
policy.

Why it matters: the API server refuses the object when it is applied, which with a GitOps controller is long after the merge.
The rule checks the VM as it is after its instancetype and preference are applied.

Fix: do what the message says. If the value comes from an instancetype, choose another one or change it there.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {cpu: {cores: 2, isolateEmulatorThread: true}, memory: {guest: 1Gi}, devices: {}}
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
def refused_cpu(facts: AdmissionFacts) -> Iterator[Hit]:
    yield from hits(facts, "cpu")
