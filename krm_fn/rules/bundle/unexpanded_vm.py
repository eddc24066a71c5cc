"""A VM still refers to an instancetype or a preference.

What it finds: a VirtualMachine, or the VM template of a pool, with `spec.instancetype` or `spec.preference`. The rule is off
unless `kubevirt-render check --expanded` or a severity in the config turns it on.

Why it matters: kustomize skips functions silently if a flag is missing (`--enable-exec`), and kubectl has no such flag at
all. VMs that should be rendered then reach the cluster as they were written, and nothing fails.

Fix: build with the flags that run the function, and pipe the output into `kubevirt-render check --expanded -`.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      instancetype: {name: u1.small}
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import get
from krm_fn.base.wording import show
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule

REFERENCES = (("instancetype", "an instancetype"), ("preference", "a preference"), ("flavor", "a flavor"))


@rule(severity="error", on_demand=True)
def unexpanded_vm(facts: BundleFacts) -> Iterator[Hit]:
    for each in facts.vms:
        for key, called in REFERENCES:
            given = get(each.vm, ("spec", key))
            if given is not None:
                name = get(given, ("name",))
                named = f"{called} ({show(name, (key, 'name'))})" if name else called
                yield Hit(
                    message=f"the VM still refers to {named}; run the function in the build, or render the VM",
                    path=(*each.prefix, "spec", key),
                    current=given,
                    about=each.entry,
                )
