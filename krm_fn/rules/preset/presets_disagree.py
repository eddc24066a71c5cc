"""Presets that match one instance set different values.

What it finds: two presets in one namespace whose selectors match the same instance, and a part of the domain that both set
differently, even if they only write one quantity in two ways.

Why it matters: KubeVirt refuses such an instance, even if the instance itself sets that part. A VM then has no instance.
Releases up to 0.8 let the instance fail and apply no preset at all.

Fix: set the same value in both presets, or narrow one of the selectors.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstancePreset
    metadata: {name: two-cores}
    spec: {selector: {}, domain: {cpu: {cores: 2}}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstancePreset
    metadata: {name: four-cores}
    spec: {selector: {}, domain: {cpu: {cores: 4}}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstance
    metadata: {name: web}
    spec: {domain: {devices: {}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import ref_of
from krm_fn.base.paths import get
from krm_fn.base.wording import show
from krm_fn.findings.finding import UNSET
from krm_fn.rules.registry import Hit, also, path_text, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.presets.facts import Disagreement, PresetFacts


@rule(severity="error", upstream="pkg/virt-api/webhooks/mutating-webhook/mutators/preset.go:checkPresetConflicts")
def presets_disagree(facts: PresetFacts) -> Iterator[Hit]:
    labels = ("metadata", "labels")
    for pair in facts.applied.disagreements:
        yield Hit(
            message=_message(pair),
            path=labels,
            current=get(facts.entry.obj, (*facts.prefix, *labels), UNSET),
            # a VM is admitted; it is its instance that the webhook refuses
            upstream="" if facts.prefix else "admission",
            related=(*also(pair.preset, pair.clashes[0].path), *also(pair.other, pair.clashes[0].path)),
        )


def _message(pair: Disagreement) -> str:
    where = ", ".join(
        f"{path_text(one.path)} {show(one.value, one.path)} != {show(one.current, one.path)}" for one in pair.clashes
    )
    return (
        f"{ref_of(pair.preset.obj)} and {ref_of(pair.other.obj)} both match and set different values ({where}), so "
        "KubeVirt refuses the instance; set the same value, or narrow a selector"
    )
