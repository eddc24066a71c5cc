"""The facts about presets and about the start of instances; loaded only if a bundle has presets or instances are wanted."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import Entry, effective_namespace
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, copy
from krm_fn.kubevirt import expand
from krm_fn.kubevirt.holders import TEMPLATE, Holder, template_path
from krm_fn.kubevirt.presets import Applied, PresetFacts, PresetGroup, apply_presets, fold_presets, template_of
from krm_fn.kubevirt.presets.index import NONE
from krm_fn.kubevirt.presets.merge import release_for
from krm_fn.pipeline.analysis import Analysis
from krm_fn.rules.facts.vms import InstanceFacts, VmFacts


def instances(analysis: Analysis) -> Iterator[InstanceFacts]:
    """The facts of instances without an owner, to which presets apply directly, and of owners of templates."""
    return filter(None, (of_entry(analysis, entry) for entry in analysis.bundle.entries))


def of_entry(analysis: Analysis, entry: Entry) -> InstanceFacts | None:
    """The facts of an instance without an owner, or of an owner of templates; None for other objects."""
    owner = template_of(entry.obj) if analysis.settings.presets == "fold" else None
    if owner:
        return _owner(analysis, entry, *owner)
    return _instance(analysis, entry) if stands_for_itself(entry) else None


def stands_for_itself(entry: Entry) -> bool:
    """True for instances that no VM owns: a VirtualMachineInstance, or the v1alpha1 VirtualMachine, which was one."""
    return template_path(entry.obj) == ()


def _instance(analysis: Analysis, entry: Entry) -> InstanceFacts:
    given, namespace = entry.obj, effective_namespace(entry.obj)
    release = release_for(given, analysis.release)
    here = _seen(analysis, given, namespace)
    applied = apply_presets(given, here, release=analysis.release, namespace=namespace, trace=analysis.trace)
    if analysis.settings.defaults != "none":
        from krm_fn.kubevirt.presets.defaults_v0 import with_defaults

        applied = with_defaults(applied, given, release=release)
    facts = PresetFacts(entry=entry, applied=applied, release=release)
    return InstanceFacts(entry=entry, presets=facts, rendered=given if applied.refused else applied.instance)


def _owner(analysis: Analysis, entry: Entry, owner: Holder, path: Path) -> InstanceFacts:
    """The facts of an owner of instances that is no VM: presets apply to its template.

    An instance of an OfflineVirtualMachine has a firmware uuid before presets apply, like an instance of a VM.
    """
    given, namespace = entry.obj, effective_namespace(entry.obj)
    here, release = _seen(analysis, given, namespace), release_for(given, analysis.release)
    applied = fold_presets(
        given, here, release=release, namespace=namespace, at=path, firmware_too=owner.vm is None, trace=analysis.trace
    )
    facts = PresetFacts(entry=entry, applied=applied, release=release, prefix=path)
    return InstanceFacts(entry=entry, presets=facts, rendered=applied.instance)


def with_start(analysis: Analysis, facts: VmFacts) -> VmFacts:
    """The facts of a VM with the effect of presets, and with the instance that it starts as."""
    return _started(analysis, folded(analysis, facts))


def folded(analysis: Analysis, facts: VmFacts) -> VmFacts:
    """The facts of a VM with presets in its template, if the config asks for that."""
    fold = analysis.presets and analysis.settings.presets == "fold" and facts.rendered is not None
    return _folded(analysis, facts) if fold else facts


def _folded(analysis: Analysis, facts: VmFacts) -> VmFacts:
    """The facts with the presets in the VM's template, applied before the cluster's own defaults, as the cluster does."""
    namespace = effective_namespace(facts.entry.obj)
    bare = analysis.expansion(facts.admitted, facts.resolution, namespace=namespace, defaults=False)
    vm = bare.vm if bare and bare.vm is not None else facts.admitted
    seen = _presets(analysis, facts)
    found = fold_presets(vm, seen, release=facts.release, namespace=namespace, trace=analysis.trace)
    folded = found.instance
    if found.refused or folded is vm:
        return facts.but(presets=_preset_facts(facts, found))
    completed = facts.release.within(since=expand.COMPLETED_SINCE)
    if facts.expansion and completed and analysis.settings.defaults != "none":
        folded = copy(folded)
        spec = folded["spec"]["template"]["spec"]
        expand.complete(spec, analysis.cluster, facts.release, trace=analysis.trace)
    return facts.but(rendered=folded, presets=_preset_facts(facts, found))


def _started(analysis: Analysis, facts: VmFacts) -> VmFacts:
    """The facts with the instance that the VM starts as, and the effect of presets on it."""
    from krm_fn.kubevirt.instance import start

    pinned = analysis.settings.defaults == "pinned"
    started = start(
        facts.resolution.but(vm=facts.admitted) if pinned else facts.resolution,
        owner=facts.entry.obj,
        namespace=effective_namespace(facts.entry.obj),
        bundle=analysis.bundle,
        cluster=analysis.cluster,
        release=facts.release,
        presets=_presets(analysis, facts),
    )
    presets = facts.presets or (_preset_facts(facts, started.presets) if started.presets else None)
    wanted = analysis.settings.instances == "include"
    return facts.but(presets=presets, instance=started.instance if wanted else None)


def _presets(analysis: Analysis, facts: VmFacts) -> PresetGroup:
    return _seen(analysis, facts.entry.obj, effective_namespace(facts.entry.obj))


def _seen(analysis: Analysis, obj: Object, namespace: str) -> PresetGroup:
    return analysis.presets.seen_by(obj["apiVersion"], namespace) if analysis.presets else NONE


def _preset_facts(facts: VmFacts, applied: Applied) -> PresetFacts:
    return PresetFacts(entry=facts.entry, applied=applied, release=facts.release, prefix=(*facts.prefix, *TEMPLATE))
