"""A preset changes no instance.

What it finds: a VirtualMachineInstancePreset whose selector matches no template of a VM, a pool or a replica set and no
instance in its namespace, or that changes none of those that it matches. A namespace without any is skipped: its machines
come from elsewhere.

Why it matters: the preset has no effect, and nothing reports it. Presets match the labels of the template
(`spec.template.metadata.labels`), not those of the VM, which is the usual mistake.

Fix: correct the selector or the labels of the templates, or delete the preset. An instancetype or a preference does the
same, and is visible where it is used.

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

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.bundle import Entry, effective_namespace
from krm_fn.base.objects import name_of
from krm_fn.base.paths import as_map, get
from krm_fn.kubevirt.presets import PresetFacts, PresetGroup, Presets
from krm_fn.kubevirt.presets.domain import DOMAIN, SELECTOR
from krm_fn.kubevirt.presets.index import KIND
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.machines import machines

LabelSets = dict[tuple[tuple[str, Any], ...], bool]


API_VERSION = "kubevirt.io/v1"


@rule(severity="info")
def unused_preset(facts: BundleFacts) -> Iterator[Hit]:
    namespaces = dict.fromkeys(effective_namespace(entry.obj) for entry in facts.bundle.of_kind(KIND, "kubevirt.io"))
    presets = Presets(facts.bundle)
    groups = {namespace: presets.seen_by(API_VERSION, namespace) for namespace in namespaces}
    here, applied = _label_sets(facts, groups), _applied(facts)
    for namespace, labels in here.items():
        group = groups[namespace]
        matched, unknown = _matched(group, labels)
        for number, preset in enumerate(group.presets):
            if preset.selector and number not in unknown and (namespace, name_of(preset.entry.obj)) not in applied:
                yield _without_effect(preset.entry) if number in matched else _unmatched(preset.entry)


def _unmatched(preset: Entry) -> Hit:
    selector = get(preset.obj, SELECTOR)
    return Hit(
        message="this selector matches the labels of no instance in the bundle; correct it, or delete the preset",
        path=SELECTOR if selector is not None else ("spec",),
        current=selector,
        about=preset,
    )


def _without_effect(preset: Entry) -> Hit:
    return Hit(
        message="the preset changes none of the instances that it matches; delete it, or see the findings about them",
        path=DOMAIN,
        about=preset,
    )


def _matched(group: PresetGroup, labels: LabelSets) -> tuple[set[int], set[int]]:
    """The numbers of the presets that match some labels, and of those whose effect there is unknown."""
    matched: set[int] = set()
    unknown: set[int] = set()
    for plain, known in labels.items():
        numbers = group.numbers(dict(plain))
        matched |= numbers
        if not known:
            unknown |= numbers
    return matched, unknown


def _label_sets(facts: BundleFacts, groups: dict[str, PresetGroup]) -> dict[str, LabelSets]:
    """By namespace, the labels of instances that some selector there uses; no others, so that they are few.

    True where the effect of presets on all instances with these labels is known.
    """
    keys_of = {namespace: _keys(group) for namespace, group in groups.items()}
    known = {id(entry.obj) for entry, _ in _effects(facts)}
    found: dict[str, LabelSets] = {}
    for machine in machines(facts.bundle):
        if machine.namespace not in groups:
            continue
        labels = as_map(get(machine.entry.obj, (*machine.path[:-1], "metadata", "labels")))
        keys = keys_of[machine.namespace]
        plain = tuple(sorted((key, value) for key, value in labels.items() if key in keys and isinstance(value, str)))
        sets = found.setdefault(machine.namespace, {})
        sets[plain] = sets.get(plain, True) and id(machine.entry.obj) in known
    return found


def _keys(group: PresetGroup) -> set[str]:
    """The label keys that the valid selectors use."""
    return {key for each in group.presets if each.selector for key in (*each.selector.wanted, *each.selector.unwanted)}


def _applied(facts: BundleFacts) -> set[tuple[str, str]]:
    """Namespace and name of the presets that are applied somewhere."""
    return {(effective_namespace(entry.obj), name) for entry, presets in _effects(facts) for name in presets.applied.applied}


def _effects(facts: BundleFacts) -> Iterator[tuple[Entry, PresetFacts]]:
    """The effect of presets, by the object; none where presets are ignored or the VM can't be rendered."""
    for vm in facts.vms:
        if vm.presets:
            yield vm.entry, vm.presets
    for instance in facts.instances:
        yield instance.entry, instance.presets
