"""A preset's name is too long for an annotation key.

What it finds: a preset that is applied to an instance and has a name of more than 63 characters.

Why it matters: KubeVirt writes an annotation with the preset's name in its key. The API server refuses longer names there,
so no instance that the preset matches can be created.

Fix: give the preset a shorter name.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstancePreset
    metadata: {name: two-cores-for-every-virtual-machine-of-the-department-for-accounting}
    spec: {selector: {}, domain: {cpu: {cores: 2}}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstance
    metadata: {name: web}
    spec: {domain: {devices: {}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import name_of, ref_of
from krm_fn.kubevirt.presets.apply import APPLIED_PREFIX
from krm_fn.kubevirt.presets.facts import MAX_NAME, PresetFacts
from krm_fn.rules.registry import Hit, also, rule


@rule(severity="error")
def preset_name_too_long(facts: PresetFacts) -> Iterator[Hit]:
    for preset in facts.applied.too_long:
        name = name_of(preset.obj)
        yield Hit(
            message=f"{ref_of(preset.obj)} matches, but its name has {len(name)} characters, and an annotation key allows "
            f"{MAX_NAME}; shorten it",
            path=("metadata", "annotations", APPLIED_PREFIX + name),
            upstream="" if facts.prefix else "admission",
            related=also(preset, ("metadata", "name")),
        )
