"""What presets and the start of instances add to the facts of a bundle; loaded where it has presets or instances are wanted."""

from __future__ import annotations

from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import group_of, kind_of
from krm_fn.base.paths import copy
from krm_fn.kubevirt import expand
from krm_fn.kubevirt.api_versions import is_first_instance
from krm_fn.kubevirt.facts import InstanceFacts
from krm_fn.kubevirt.presets import Group, PresetFacts, apply_presets, fold_presets, template_of
from krm_fn.kubevirt.presets.era import release_for
from krm_fn.kubevirt.presets.index import NONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.facts import VmFacts
    from krm_fn.kubevirt.presets import Applied
    from krm_fn.kubevirt.presets.owners import Owner
    from krm_fn.pipeline.analysis import Work

TEMPLATE: Path = ("spec", "template")


def instances(work: Work) -> Iterator[InstanceFacts]:
    """The facts of the instances that stand for themselves, which presets reach directly, and of owners of templates."""
    for entry in work.bundle.entries:
        owner = template_of(entry.obj) if work.settings.presets == "fold" else None
        if owner:
            yield _owner(work, entry, *owner)
        elif stands_for_itself(entry):
            yield _instance(work, entry)


def stands_for_itself(entry: Entry) -> bool:
    """True for instances that no VM owns: a VirtualMachineInstance, or the v1alpha1 VirtualMachine, which was one."""
    instance = group_of(entry.obj) == "kubevirt.io" and kind_of(entry.obj) == "VirtualMachineInstance"
    return instance or is_first_instance(entry.obj)


def _instance(work: Work, entry: Entry) -> InstanceFacts:
    given, namespace = entry.obj, effective_namespace(entry.obj)
    release = release_for(given, work.release)
    here = _seen(work, given, namespace)
    applied = apply_presets(given, here, release=work.release, namespace=namespace)
    if work.settings.defaults != "none":
        from krm_fn.kubevirt.presets.defaults_v0 import with_defaults

        applied = with_defaults(applied, given, release=release)
    facts = PresetFacts(entry=entry, applied=applied, release=release)
    return InstanceFacts(entry=entry, presets=facts, rendered=given if applied.refused else applied.instance)


def _owner(work: Work, entry: Entry, owner: Owner, path: Path) -> InstanceFacts:
    """The facts of an owner of instances that is no VM: its template takes the presets."""
    given, namespace = entry.obj, effective_namespace(entry.obj)
    here, release = _seen(work, given, namespace), release_for(given, work.release)
    applied = fold_presets(given, here, release=release, namespace=namespace, at=path, firmware_too=owner.firmware)
    facts = PresetFacts(entry=entry, applied=applied, release=release, prefix=path)
    return InstanceFacts(entry=entry, presets=facts, rendered=applied.instance)


def with_start(work: Work, facts: VmFacts) -> VmFacts:
    """The facts of a VM with what presets do to it, and with the instance that it starts as."""
    fold = work.presets and work.settings.presets == "fold" and facts.rendered is not None
    return _started(work, _folded(work, facts) if fold else facts)


def _folded(work: Work, facts: VmFacts) -> VmFacts:
    """The facts with the presets in the VM's template, where the cluster would apply them: before its own defaults."""
    namespace = effective_namespace(facts.entry.obj)
    bare = work.expansion(facts.admitted, facts.resolution, namespace=namespace, defaults=False)
    vm = bare.vm if bare and bare.vm is not None else facts.admitted
    found = fold_presets(vm, _presets(work, facts), release=facts.release, namespace=namespace)
    folded = found.instance
    if found.refused or folded is vm:
        return facts.but(presets=_preset_facts(facts, found))
    if facts.expansion and work.settings.defaults != "none":
        folded = copy(folded)
        spec = folded["spec"]["template"]["spec"]
        expand.set_instance_defaults(spec, work.cluster, facts.release, certain=not work.cluster.known)
    return facts.but(rendered=folded, presets=_preset_facts(facts, found))


def _started(work: Work, facts: VmFacts) -> VmFacts:
    """The facts with the instance that the VM starts as, and what the presets do to it."""
    from krm_fn.kubevirt.instance import start

    pinned = work.settings.defaults == "pinned"
    started = start(
        facts.resolution.but(vm=facts.admitted) if pinned else facts.resolution,
        owner=facts.entry.obj,
        namespace=effective_namespace(facts.entry.obj),
        bundle=work.bundle,
        cluster=work.cluster,
        release=facts.release,
        presets=_presets(work, facts),
    )
    told = facts.presets or (_preset_facts(facts, started.presets) if started.presets else None)
    wanted = work.settings.instances == "include"
    return facts.but(presets=told, instance=started.instance if wanted else None)


def _presets(work: Work, facts: VmFacts) -> Group:
    return _seen(work, facts.entry.obj, effective_namespace(facts.entry.obj))


def _seen(work: Work, obj: Object, namespace: str) -> Group:
    return work.presets.seen_by(obj["apiVersion"], namespace) if work.presets else NONE


def _preset_facts(facts: VmFacts, applied: Applied) -> PresetFacts:
    return PresetFacts(entry=facts.entry, applied=applied, release=facts.release, prefix=(*facts.prefix, *TEMPLATE))
