"""KubeVirt refuses a firmware, feature, machine or launch security setting.

What it finds: boot loaders, SMBIOS values, CPU and Hyper-V features, machine types, architectures, clocks and launch
security that no instance can have, or that exclude each other.

Why it matters: the API server refuses the object when it is applied. Secure boot without SMM is the most common one.

Fix: do what the message says.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {memory: {guest: 1Gi}, firmware: {bootloader: {efi: {secureBoot: true}}}, devices: {}}
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
def refused_firmware(facts: AdmissionFacts) -> Iterator[Hit]:
    yield from hits(facts, "firmware")
