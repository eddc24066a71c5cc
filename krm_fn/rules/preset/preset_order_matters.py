"""Presets whose result depends on the order in which KubeVirt takes them.

What it finds: several presets that match an instance without requests and that hold different sets of requests. Where they hold
the same key with another value they disagree, which is a rule of its own.

Why it matters: the first preset copies all its requests, and later ones find requests there and give nothing. KubeVirt takes
presets in no fixed order, so that the same manifests can start with different requests. The renderer goes by name.

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

from krm_fn.base.objects import name_of, ref_of
from krm_fn.rules.registry import Hit, also, path_text, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.kubevirt.presets.facts import PresetFacts


# More names and places than these help nobody.
MOST = 10


@rule(severity="warning")
def preset_order_matters(facts: PresetFacts) -> Iterator[Hit]:
    for fact in facts.applied.order:
        first, *later = fact.presets
        more = [f"{len(later) - MOST} more"] if len(later) > MOST else []
        others = " and ".join([*(name_of(entry.obj) for entry in later[:MOST]), *more])
        yield Hit(
            message=f"{ref_of(first.obj)} gives {path_text(fact.path)} here, but KubeVirt goes by no order and may take that "
            f"of {others} instead; put it into one preset",
            path=fact.path,
            related=tuple(place for entry in fact.presets[: MOST + 1] for place in also(entry, fact.path)),
        )
