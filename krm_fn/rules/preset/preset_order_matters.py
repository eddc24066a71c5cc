"""The result of several presets depends on their order.

What it finds: several presets that match an instance without requests and that have different sets of requests. Where they
set the same key to different values, the rule `presets-disagree` reports them.

Why it matters: the first preset copies all its requests, and later presets then add none. KubeVirt applies presets in no
fixed order, so the same manifests can start with different requests. The renderer applies them in the order of their names.

Fix: put the requests into one preset, or into the instance or the VM's template.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstancePreset
    metadata: {name: cpu}
    spec: {selector: {}, domain: {resources: {requests: {cpu: "1"}}}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstancePreset
    metadata: {name: memory}
    spec: {selector: {}, domain: {resources: {requests: {memory: 1Gi}}}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstance
    metadata: {name: web}
    spec: {domain: {devices: {}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import name_of, ref_of
from krm_fn.rules.registry import Hit, also, path_text, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.presets.facts import PresetFacts


# A message names at most this many presets besides the first.
MOST = 10


@rule(severity="warning")
def preset_order_matters(facts: PresetFacts) -> Iterator[Hit]:
    for fact in facts.applied.order:
        first, *later = fact.presets
        more = [f"{len(later) - MOST} more"] if len(later) > MOST else []
        others = " and ".join([*(name_of(entry.obj) for entry in later[:MOST]), *more])
        yield Hit(
            message=f"{ref_of(first.obj)} sets {path_text(fact.path)} here, but KubeVirt applies presets in no fixed order and "
            f"may use {others} instead; set it in one preset",
            path=fact.path,
            related=tuple(place for entry in fact.presets[: MOST + 1] for place in also(entry, fact.path)),
        )
