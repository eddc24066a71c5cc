"""A number is beyond what its field holds.

What it finds: a negative number where the API counts from zero, a number that is too large for the field, and one beyond the
bounds that a CustomResourceDefinition sets.

Why it matters: KubeVirt can't read the object, and its webhooks or the API server refuse it.

Fix: choose a number within the bounds that the message names.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template: {spec: {domain: {cpu: {cores: -1}, devices: {}}}}
"""

from __future__ import annotations

from krm_fn.limits import counted
from krm_fn.rules import Hit, rule
from krm_fn.rules.schemas import field_of, shown
from krm_fn.schema.flaws import RANGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.schema import ObjectFacts


@rule(severity="error", upstream="pkg/util/webhooks/webhooks.go:GetVMFromAdmissionReview")
def value_out_of_range(facts: ObjectFacts) -> Iterator[Hit]:
    for flaw in facts.flaws:
        if flaw.kind == RANGE:
            said = f"{field_of(flaw)} is {shown(flaw, flaw.current)}, which is out of range; use {flaw.expected}"
            yield Hit(
                message=counted(said, flaw.more),
                path=flaw.path,
                current=flaw.current,
                upstream=flaw.upstream,
            )
