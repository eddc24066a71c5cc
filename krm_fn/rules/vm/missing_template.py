"""A VM has no template to render.

What it finds: a VM that refers to an instancetype or a preference, and has no `spec.template` or one that is not a map.

Why it matters: the cluster refuses such a VM, and its instancetype or preference has nothing to apply to.

Fix: give the VM a template: `template: {spec: {domain: {devices: {}}}}` is the smallest one.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      instancetype: {name: u1.medium}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.kubevirt.expand import NO_TEMPLATE
from krm_fn.kubevirt.holders import TEMPLATE
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.parties import the_vm


@rule(severity="error")
def missing_template(facts: VmFacts) -> Iterator[Hit]:
    if facts.expansion and NO_TEMPLATE in facts.expansion.refusals:
        yield Hit(
            message=f"{the_vm(facts)} has no template to render; add spec.template with a spec",
            path=TEMPLATE,
            upstream="admission",
        )
