"""KubeVirt refuses a host name or DNS setting.

What it finds: host names and subdomains that are not DNS labels, unknown DNS policies, and DNS settings that lack what the
policy requires.

Why it matters: the API server refuses the object when it is applied.

Fix: use at most 63 lower-case letters, digits and dashes. With dnsPolicy None, set dnsConfig.nameservers.

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

from krm_fn.rules import rule
from krm_fn.rules.refusals import hits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.facts import AdmissionFacts
    from krm_fn.rules import Hit


@rule(
    severity="error",
    upstream="pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:validateHostNameNotConformingToDNSLabelRules",
)
def refused_name(facts: AdmissionFacts) -> Iterator[Hit]:
    yield from hits(facts, "name")
