"""A VM says its size itself, and an instancetype has the same size.

What it finds: a VM without an instancetype, if the release's catalogue or the bundle has one with which the guest has the same
vCPUs and memory, and its pod the same requests. The rule is off unless the config gives it a severity.

Why it matters: with instancetypes, a fleet has few sizes, which can be changed, compared and charged in one place.

Fix: run `kubevirt-render convert`, which writes the reference and proves that the instance stays the same. `kubevirt-render
suggest` says what differs.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template: {spec: {domain: {cpu: {sockets: 2, cores: 1, threads: 1}, memory: {guest: 8Gi}, devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.kubevirt.holders import INSTANCE_SPEC
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="info", on_demand=True)
def could_use_instancetype(facts: BundleFacts) -> Iterator[Hit]:
    for each in facts.conversions:
        same = "the instance stays the same" if each.is_exact else "only headroom differs"
        word = "" if each.is_exact else " --only headroom"
        message = f"this VM says its size itself, and {each.name} has the same: {same}; run `kubevirt-render convert{word}`"
        yield Hit(message=message, path=(*each.prefix, *INSTANCE_SPEC, "domain"), about=each.entry)
