"""A preset sets a field that presets don't apply.

What it finds: a part of a preset's domain that KubeVirt copies to no instance, beside parts that it copies. The rule
[preset-not-applied](preset-not-applied.md) reports presets of which nothing is applied.

Why it matters: presets apply only `resources.requests`, `cpu`, `firmware`, `clock`, `features`, `devices.watchdog` and
`ioThreadsPolicy`. KubeVirt ignores all else silently: limits, memory, disks, interfaces and the machine type.

Fix: set the value in the instance or the VM's template, or use an instancetype or a preference.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstancePreset
    metadata: {name: large}
    spec:
      selector: {matchLabels: {size: large}}
      domain: {resources: {requests: {memory: 8Gi}, limits: {memory: 8Gi}}, devices: {}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstance
    metadata: {name: web, labels: {size: large}}
    spec: {domain: {devices: {}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Collection, Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, dotted, is_set
from krm_fn.findings.limits import counted, first
from krm_fn.kubevirt.fields.preset import sections
from krm_fn.kubevirt.presets.domain import DOMAIN, domain_of, offers
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="warning", upstream="pkg/virt-api/webhooks/mutating-webhook/mutators/preset.go:mergeDomainSpec")
def ignored_preset_field(facts: BundleFacts) -> Iterator[Hit]:
    applied = {(*row.path, key) if row.only else row.path for row in sections(facts.release) for key in row.only or ("",)}
    for entry in facts.bundle.of_kind("VirtualMachineInstancePreset", "kubevirt.io"):
        domain = domain_of(entry.obj)
        if any(offers(domain, row) for row in sections(facts.release)):
            for path, more in first(_ignored(domain, applied)):
                message = f"presets don't apply {dotted(path)}; set it in the instance or the VM's template"
                yield Hit(message=counted(message, more), path=(*DOMAIN, *path), about=entry)


def _ignored(around: Object, applied: Collection[Path], path: Path = ()) -> Iterator[Path]:
    """The outermost fields that have a value, and of which no part is applied."""
    for key, value in around.items():
        place = (*path, str(key))
        if place in applied or not is_set(value) or value == {}:
            continue
        if isinstance(value, dict) and any(each[: len(place)] == place for each in applied):
            yield from _ignored(value, applied, place)
        else:
            yield place
