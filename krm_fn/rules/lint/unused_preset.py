"""A preset that reaches nothing.

What it finds: a VirtualMachineInstancePreset whose selector matches no template of a VM, a pool or a replica set and no
instance of its namespace, or that changes none of those it matches. A namespace without any is passed over: its machines
come from elsewhere.

Why it matters: what the preset says is in force nowhere, and nobody is told. Presets are matched against the labels of the
template (`spec.template.metadata.labels`), not against those of the VM, which is the usual slip.

Fix: correct the selector or the labels of the templates, or delete the preset. An instancetype or a preference does the same,
and says so where it is used.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstancePreset
    metadata: {name: two-cores}
    spec:
      selector: {matchLabels: {size: smal}}
      domain: {cpu: {cores: 2}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstance
    metadata: {name: web, labels: {size: small}}
    spec: {domain: {devices: {}}}
"""

from __future__ import annotations

from krm_fn.bundle import effective_namespace
from krm_fn.paths import as_list, as_map, get
from krm_fn.presets.selector import matches, problems
from krm_fn.resource import name_of
from krm_fn.rules import Hit, rule
from krm_fn.rules.machines import machines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from krm_fn.bundle import Entry
    from krm_fn.facts import BundleFacts
    from krm_fn.presets.facts import PresetFacts

    LabelSets = dict[str, dict[tuple[tuple[str, Any], ...], bool]]

KIND = "VirtualMachineInstancePreset"
SELECTOR = ("spec", "selector")


@rule(severity="info")
def unused_preset(facts: BundleFacts) -> Iterator[Hit]:
    presets = [entry for entry in facts.bundle.of_kind(KIND, "kubevirt.io") if not any(problems(get(entry.obj, SELECTOR)))]
    if not presets:
        return
    here, applied = _label_sets(facts, presets), _applied(facts)
    for preset in presets:
        namespace, selector = effective_namespace(preset.obj), get(preset.obj, SELECTOR)
        labels = here.get(namespace)
        if not labels or (namespace, name_of(preset.obj)) in applied:
            continue
        matched = [judged for each, judged in labels.items() if matches(selector, dict(each))]
        if not matched:
            yield Hit(
                message="no instance of the bundle has labels that this selector matches; correct it, or delete the preset",
                path=SELECTOR if selector is not None else ("spec",),
                current=selector,
                about=preset,
            )
        elif all(matched):
            yield Hit(
                message="the preset changes none of the instances that it matches; delete it, or see what is said of them",
                path=("spec", "domain"),
                about=preset,
            )


def _label_sets(facts: BundleFacts, presets: list[Entry]) -> LabelSets:
    """By namespace, the labels of instances, as far as some selector asks for them, so that they are few.

    True where it is known what presets do to all instances that have them.
    """
    asked = {key for preset in presets for key in _keys(get(preset.obj, SELECTOR))}
    judged = {id(entry.obj) for entry, _ in _told(facts)}
    found: LabelSets = {}
    for machine in machines(facts.bundle):
        labels = as_map(get(machine.entry.obj, (*machine.path[:-1], "metadata", "labels")))
        plain = tuple((key, labels[key]) for key in sorted(asked) if isinstance(labels.get(key), str))
        sets = found.setdefault(machine.namespace, {})
        sets[plain] = sets.get(plain, True) and id(machine.entry.obj) in judged
    return found


def _keys(selector: object) -> Iterator[str]:
    """The label keys that a valid selector asks for."""
    yield from as_map(get(selector, ("matchLabels",)))
    for expression in as_list(get(selector, ("matchExpressions",))):
        yield expression["key"]


def _applied(facts: BundleFacts) -> set[tuple[str, str]]:
    """Namespace and name of the presets that are applied somewhere."""
    return {(effective_namespace(entry.obj), name) for entry, presets in _told(facts) for name in presets.applied.applied}


def _told(facts: BundleFacts) -> Iterator[tuple[Entry, PresetFacts]]:
    """What presets do, by the object they do it to; none where they are ignored or the VM can't be rendered."""
    for vm in facts.vms:
        if vm.presets:
            yield vm.entry, vm.presets
    for instance in facts.instances:
        yield instance.entry, instance.presets
