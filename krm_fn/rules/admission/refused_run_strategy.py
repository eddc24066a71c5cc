"""KubeVirt refuses a run strategy.

What it finds: a VM that sets neither `running` nor `runStrategy`, or both, or an unknown strategy.

Why it matters: the API server refuses the VM when it is applied.

Fix: set `runStrategy` to Always, RerunOnFailure, Manual, Once or Halted, and remove `running`.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Allways
      template:
        spec:
          domain: {memory: {guest: 1Gi}, devices: {}}
"""

from __future__ import annotations

from krm_fn.rules import rule
from krm_fn.rules.refusals import hits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.facts import AdmissionFacts
    from krm_fn.rules import Hit


@rule(severity="error", upstream="pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go:validateRunStrategy")
def refused_run_strategy(facts: AdmissionFacts) -> Iterator[Hit]:
    yield from hits(facts, "run-strategy")
