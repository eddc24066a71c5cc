"""KubeVirt refuses a network or interface.

What it finds: interfaces without a network, networks without an interface, bindings that don't match the network, and ports,
MAC addresses, names and PCI addresses that no instance can have.

Why it matters: the API server refuses the object when it is applied.

Fix: do what the message says. Every interface has the name of one network, and every network has one interface.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {memory: {guest: 1Gi}, devices: {interfaces: [{name: lan, masquerade: {}}]}}
          networks: [{name: default, pod: {}}]
"""

from __future__ import annotations

from krm_fn.rules import rule
from krm_fn.rules.refusals import hits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.facts import AdmissionFacts
    from krm_fn.rules import Hit


@rule(severity="error", upstream="pkg/network/admitter/admitter.go:Validator.Validate")
def refused_network(facts: AdmissionFacts) -> Iterator[Hit]:
    yield from hits(facts, "network")
