"""KubeVirt refuses a setting of a pool, preset, replica set, instancetype or preference.

What it finds: what the webhooks refuse outside an instance's spec: a missing template, selectors that don't match their
template, strategies of a pool that exclude each other, and sizes and topologies of instancetypes and preferences that can't
be applied.

Why it matters: the API server refuses the object when it is applied, and what refers to it does not find it.

Fix: do what the message says.

Example:

    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachineInstancetype
    metadata: {name: small}
    spec: {cpu: {guest: 1}, memory: {guest: 1Gi, overcommitPercent: 101}}
"""

from __future__ import annotations

from krm_fn.rules import rule
from krm_fn.rules.refusals import hits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.facts import AdmissionFacts
    from krm_fn.rules import Hit


@rule(severity="error", upstream="pkg/virt-api/webhooks/validating-webhook/admitters")
def refused_object(facts: AdmissionFacts) -> Iterator[Hit]:
    yield from hits(facts, "object")
