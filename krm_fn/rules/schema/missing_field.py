"""An object lacks a required field.

What it finds: a map without one of its required keys. `spec.template.spec.domain.devices` is one of them: a VirtualMachine
needs at least `devices: {}`.

Why it matters: the API server refuses the object. KubeVirt's webhooks also refuse VirtualMachines, instances, replica sets
and presets that lack a map, a list or a quantity. They set a missing string or number to `""` or 0, which is rarely
intended.

Fix: add the field. Where an empty map is enough, the finding proposes it.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template: {spec: {domain: {}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.wording import show
from krm_fn.findings.finding import UNSET
from krm_fn.findings.limits import counted
from krm_fn.kubevirt.schema import ObjectFacts
from krm_fn.kubevirt.schema.flaws import MISSING
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.schemas import the_schema


@rule(severity="error", upstream="pkg/util/openapi/openapi.go:Validate")
def missing_field(facts: ObjectFacts) -> Iterator[Hit]:
    for flaw in facts.flaws:
        if flaw.kind == MISSING:
            name = flaw.path[-1]
            fix = "add it" if flaw.proposed is UNSET else f"add at least {show({name: flaw.proposed}, flaw.path[:-1])[1:-1]}"
            message = f"{name} is missing, which {the_schema(facts, flaw)} requires here; {fix}"
            yield Hit(
                message=counted(message, flaw.more),
                path=flaw.path,
                proposed=flaw.proposed,
                upstream=flaw.upstream,
            )
