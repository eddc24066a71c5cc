"""KubeVirt refuses a device.

What it finds: inputs, GPUs, host devices, watchdogs, sound cards, TPMs and other devices with a model, bus or name that no
instance can have, or that need a disabled feature gate.

Why it matters: the API server refuses the object when it is applied.

Fix: do what the message says. If a feature gate is missing, enable it in the KubeVirt object, and name it in the function
config's `configuration` if that object is not in the bundle.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {memory: {guest: 1Gi}, devices: {inputs: [{name: mouse, type: mouse, bus: usb}]}}
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
def refused_device(facts: AdmissionFacts) -> Iterator[Hit]:
    yield from hits(facts, "device")
