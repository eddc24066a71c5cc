"""KubeVirt refuses a probe.

What it finds: liveness and readiness probes without a handler or with two, or with a handler that the instance's networks
don't allow.

Why it matters: the API server refuses the object when it is applied.

Fix: give the probe exactly one handler; `httpGet` and `tcpSocket` need the pod network.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {memory: {guest: 1Gi}, devices: {}}
          livenessProbe: {initialDelaySeconds: 5}
"""

from __future__ import annotations

from krm_fn.rules import rule
from krm_fn.rules.refusals import hits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.facts import AdmissionFacts
    from krm_fn.rules import Hit


@rule(severity="error", upstream="pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:validateProbe")
def refused_probe(facts: AdmissionFacts) -> Iterator[Hit]:
    yield from hits(facts, "probe")
