"""A preset and an instance set different values.

What it finds: a preset whose selector matches an instance, and a part of the domain that both set to different values.
KubeVirt treats 1Gi and 1024Mi as different there; such a finding has the severity info.

Why it matters: the instance keeps its value, and KubeVirt reports this only in a log. A preset is copied section by section,
so one differing key excludes all of `cpu` or `features`. Sections that the instance lacks are still applied. The firmware of
a preset never reaches the instance of a VM, because that instance already has a firmware UUID.

Fix: set the same value in both, delete the section from one of them, or narrow the preset's selector.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstancePreset
    metadata: {name: two-cores}
    spec:
      selector: {matchLabels: {size: small}}
      domain: {cpu: {cores: 2}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstance
    metadata: {name: web, labels: {size: small}}
    spec: {domain: {cpu: {cores: 4}, devices: {}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import ref_of
from krm_fn.base.wording import show
from krm_fn.findings.finding import UNSET
from krm_fn.rules.registry import Hit, also, path_text, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.presets.facts import Clash, PresetConflict, PresetFacts


@rule(severity="warning")
def preset_conflict(facts: PresetFacts) -> Iterator[Hit]:
    for conflict in facts.applied.conflicts:
        for clash in conflict.clashes:
            yield Hit(
                message=_message(conflict, clash),
                path=clash.path,
                current=clash.current,
                upstream_path=clash.upstream,
                severity="info" if clash.same_amount else "",
                related=also(conflict.preset, clash.path),
            )


def _message(conflict: PresetConflict, clash: Clash) -> str:
    whose = f"{ref_of(conflict.preset.obj)} is {'applied in part' if conflict.partial else 'not applied'}"
    where = path_text(clash.path)
    theirs, own = show(clash.value, clash.path), show(clash.current, clash.path)
    if clash.current is UNSET:
        return f"{whose}: {where} of a preset never reaches a VM, whose instance has its own; set it in the VM's template"
    if clash.same_amount:
        return (
            f"{whose}: KubeVirt treats {where} {theirs} and {own} of the instance as different; write it the same way in both"
        )
    fact = f"{where} is {theirs} in the preset and {own} in the instance, which keeps it"
    return f"{whose}: {fact}; set the same value, or delete one"
