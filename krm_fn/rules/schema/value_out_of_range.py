"""A number, a length or a count is out of range.

What it finds: a negative number where the API counts from zero, a number that is too large for the field, and a value
outside the limits that a CustomResourceDefinition sets for a number, the length of a string, or the number of entries in a
list or a map. For example, KubeVirt's own definitions allow at most 256 disks, interfaces, networks and volumes.

Why it matters: the API server or KubeVirt's webhooks refuse the object.

Fix: stay within the limits that the message names.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template: {spec: {domain: {cpu: {cores: -1}, devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.findings.finding import UNSET
from krm_fn.findings.limits import counted
from krm_fn.kubevirt.schema import ObjectFacts
from krm_fn.kubevirt.schema.flaws import COUNT, LENGTH, RANGE, Flaw
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.schemas import field_of, place_of, shown


@rule(severity="error", upstream="pkg/util/webhooks/webhooks.go:GetVMFromAdmissionReview")
def value_out_of_range(facts: ObjectFacts) -> Iterator[Hit]:
    for flaw in facts.flaws:
        if flaw.kind in (RANGE, COUNT, LENGTH):
            yield Hit(
                message=counted(f"{_fact(flaw)}, which is out of range; use {flaw.expected}", flaw.more),
                path=flaw.path,
                current=flaw.current if flaw.kind == RANGE else UNSET,
                upstream=flaw.upstream,
                severity="warning" if flaw.taken else "",
            )


def _fact(flaw: Flaw) -> str:
    if flaw.kind == RANGE:
        return f"{place_of(flaw)} is {shown(flaw, flaw.current)}"
    return f"{place_of(flaw) if flaw.kind == LENGTH else field_of(flaw)} has {flaw.found}"
