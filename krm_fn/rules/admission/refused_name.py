"""A host name or DNS setting that KubeVirt refuses.

What it finds: host names and subdomains that are no DNS labels, DNS policies that are not known, and DNS settings that lack
what the policy needs.

Why it matters: the API server refuses the object when it is applied.

Fix: use lower-case letters, digits and dashes, at most 63 of them; with dnsPolicy None set dnsConfig.nameservers.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {memory: {guest: 1Gi}, devices: {}}
          hostname: Web_1
"""

from __future__ import annotations

from krm_fn.rules.registry import rule
from krm_fn.rules.shared.refusals import hits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.rules.facts import AdmissionFacts
    from krm_fn.rules.registry import Hit


@rule(
    severity="error",
    upstream="pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:validateHostNameNotConformingToDNSLabelRules",
)
def refused_name(facts: AdmissionFacts) -> Iterator[Hit]:
    yield from hits(facts, "name")
