"""A preset matches an instance, but sets nothing in it.

What it finds: a preset whose selector matches an instance and of which nothing is applied, although nothing conflicts.

Why it matters: presets apply only to `resources.requests`, `cpu`, `firmware`, `clock`, `features`, `devices.watchdog` and
`ioThreadsPolicy`. Memory, disks, interfaces, the machine type and limits in a preset are ignored silently. Requests are
copied only if the instance has none.

Fix: set the values in the instance or the VM's template, or use an instancetype or a preference.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstancePreset
    metadata: {name: one-gig}
    spec:
      selector: {}
      domain: {memory: {guest: 1Gi}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstance
    metadata: {name: web}
    spec: {domain: {devices: {}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import ref_of
from krm_fn.base.paths import dotted
from krm_fn.kubevirt.fields.preset import sections
from krm_fn.kubevirt.presets.domain import DOMAIN, domain_of, offers
from krm_fn.kubevirt.presets.facts import PresetFacts
from krm_fn.kubevirt.releases import Release
from krm_fn.rules.registry import Hit, also, rule


@rule(severity="warning")
def preset_not_applied(facts: PresetFacts) -> Iterator[Hit]:
    for preset in facts.applied.idle:
        yield Hit(
            message=f"{ref_of(preset.obj)} matches, but {_reason(preset, facts.release)}; set the values here instead",
            path=DOMAIN,
            related=also(preset, DOMAIN),
        )


def _reason(preset: Entry, release: Release) -> str:
    domain = domain_of(preset.obj)
    if any(offers(domain, section) for section in sections(release)):
        return "is not applied, because the instance already has each section that it sets, with more or other keys"
    reached = ", ".join(dict.fromkeys(dotted(section.path[:2]) for section in sections(release)))
    return f"sets nothing that presets apply ({reached})"
