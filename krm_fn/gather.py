"""The facts of a bundle: every VM resolved and expanded, every instance with its presets."""

from __future__ import annotations

from krm_fn import expand
from krm_fn.bundle import effective_namespace
from krm_fn.cluster import of_bundle
from krm_fn.expand.admitted import admit, with_storage_classes
from krm_fn.facts import BundleFacts, InstanceFacts, VmFacts
from krm_fn.paths import copy, get
from krm_fn.resolve import Resolver
from krm_fn.resource import group_of, kind_of, name_of
from krm_fn.served import is_first_instance
from krm_fn.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from krm_fn.bundle import Bundle, Entry
    from krm_fn.cluster import Cluster
    from krm_fn.config import Config
    from krm_fn.facts import Expansion, Found, Resolution
    from krm_fn.paths import Path
    from krm_fn.presets import Applied, PresetFacts
    from krm_fn.presets.owners import Owner
    from krm_fn.releases import Release
    from krm_fn.resource import Object

# Where the VM stands in the kinds that hold one, by API group and kind.
VM_IN: dict[tuple[str, str], Path] = {
    ("kubevirt.io", "VirtualMachine"): (),
    ("pool.kubevirt.io", "VirtualMachinePool"): ("spec", "virtualMachineTemplate"),
}
TEMPLATE: Path = ("spec", "template")
# Up to 1.4 what KubeVirt's expander gets has passed the mutating webhook whole, defaults and all.
ADMITTED_UNTIL = (1, 5)
HALF_JUDGED_SINCE = (1, 6)


def gather(bundle: Bundle, settings: Config) -> BundleFacts:
    """What there is to know of a bundle under a config."""
    work = work_on(bundle, settings)
    return work.facts(vms=tuple(work.vms()), instances=tuple(work.instances()) if work.has_presets else ())


def work_on(bundle: Bundle, settings: Config) -> Work:
    return Work(
        bundle=bundle,
        settings=settings,
        cluster=of_bundle(bundle, settings.configuration),
        has_presets=settings.presets != "ignore"
        and bool(bundle.of_kind("VirtualMachineInstancePreset") or bundle.of_kind("VirtualMachinePreset")),
    )


def holds_vm(entry: Entry) -> Path | None:
    """The path from an object's root to the VM in it, None where it holds none that the renderer reads."""
    prefix = VM_IN.get((group_of(entry.obj), kind_of(entry.obj)))
    if prefix is None or not isinstance(get(entry.obj, prefix), dict):
        return None
    return None if is_first_instance(entry.obj) else prefix


class Work(Value):
    """One bundle on its way to facts."""

    bundle: Bundle
    settings: Config
    cluster: Cluster
    has_presets: bool

    def vms(self) -> Iterator[VmFacts]:
        """The facts of every VM and of every pool's template, in the bundle's order."""
        resolver = self.resolver()
        return (facts for entry in self.bundle.entries if (facts := self.vm(entry, resolver)))

    def vm(self, entry: Entry, resolver: Resolver) -> VmFacts | None:
        """The facts of the VM in an object, or of the template in a pool; None where it holds none."""
        prefix = holds_vm(entry)
        if prefix is None:
            return None
        vm = get(entry.obj, prefix)
        return self._vm(entry, prefix, vm, resolver.resolve(vm, namespace=effective_namespace(entry.obj)))

    def resolver(self) -> Resolver:
        return Resolver(bundle=self.bundle, release=self.settings.release, catalogue=self._catalogue())

    def facts(self, *, vms: tuple[VmFacts, ...], instances: tuple[InstanceFacts, ...] = ()) -> BundleFacts:
        """What is known of the bundle when these are known."""
        return BundleFacts(
            bundle=self.bundle,
            config=self.settings,
            cluster=self.cluster,
            release=self.settings.release,
            vms=vms,
            instances=instances,
        )

    def instances(self) -> Iterator[InstanceFacts]:
        """The facts of the instances that stand for themselves, which presets reach directly, and of owners of templates."""
        from krm_fn.presets import template_of

        for entry in self.bundle.entries:
            owner = template_of(entry.obj) if self.settings.presets == "fold" else None
            if owner:
                yield self._owner(entry, *owner)
            elif stands_for_itself(entry):
                yield self._instance(entry)

    def _instance(self, entry: Entry) -> InstanceFacts:
        from krm_fn.presets import PresetFacts, apply_presets, presets_for
        from krm_fn.presets.defaults_v0 import with_defaults
        from krm_fn.presets.era import release_for

        given, namespace = entry.obj, effective_namespace(entry.obj)
        release = release_for(given, self.settings.release)
        here = presets_for(self.bundle, given["apiVersion"], namespace)
        applied = apply_presets(given, here, release=self.settings.release, namespace=namespace)
        if self.settings.defaults != "none":
            applied = with_defaults(applied, given, release=release)
        facts = PresetFacts(entry=entry, applied=applied, release=release)
        return InstanceFacts(entry=entry, presets=facts, rendered=given if applied.refused else applied.instance)

    def _owner(self, entry: Entry, owner: Owner, path: Path) -> InstanceFacts:
        """The facts of an owner of instances that is no VM: its template takes the presets."""
        from krm_fn.presets import PresetFacts, fold_presets, presets_for
        from krm_fn.presets.era import release_for

        given, namespace = entry.obj, effective_namespace(entry.obj)
        here, release = presets_for(self.bundle, given["apiVersion"], namespace), release_for(given, self.settings.release)
        applied = fold_presets(given, here, release=release, namespace=namespace, at=path, firmware_too=owner.firmware)
        facts = PresetFacts(entry=entry, applied=applied, release=release, prefix=path)
        return InstanceFacts(entry=entry, presets=facts, rendered=applied.instance)

    def _vm(self, entry: Entry, prefix: Path, vm: Object, resolution: Resolution) -> VmFacts:
        admitted = self._admitted(entry, prefix, resolution)
        expansion = self._expansion(admitted, resolution, namespace=effective_namespace(entry.obj))
        facts = VmFacts(
            entry=entry,
            vm=vm,
            release=self.settings.release,
            cluster=self.cluster,
            resolution=resolution,
            admitted=admitted,
            expansion=expansion,
            rendered=None if resolution.errors else expansion.vm if expansion else admitted,
            prefix=prefix,
        )
        if resolution.errors or not (self.has_presets or self.settings.instances == "include"):
            return facts
        fold = self.has_presets and self.settings.presets == "fold" and facts.rendered is not None
        return self._started(self._folded(facts) if fold else facts)

    def _admitted(self, entry: Entry, prefix: Path, resolution: Resolution) -> Object:
        """The VM as it comes to be expanded: not quite as it is written.

        The preferred storage class goes into DataVolume templates at admission, and the preference is gone after rendering.
        """
        preference = resolution.preference.spec if resolution.preference else None
        release, namespace = self.settings.release, effective_namespace(entry.obj)
        pinned = self.settings.defaults == "pinned"
        whole = pinned or (self.settings.defaults != "none" and release.within(until=ADMITTED_UNTIL))
        if resolution.errors or not whole:
            return with_storage_classes(resolution.vm, preference or {})
        admitted = admit(
            resolution.vm,
            preference=preference,
            namespace=namespace,
            bundle=self.bundle,
            cluster=self.cluster,
            release=release,
        )
        if not pinned:
            return admitted
        from krm_fn.expand.pinned import pin

        return pin(admitted, name="" if prefix else name_of(entry.obj), namespace=namespace, release=release)

    def _judged(self, resolution: Resolution, namespace: str) -> Expansion:
        """What admission makes of the VM before it checks the fields."""
        from krm_fn.admission.judged import judge

        return judge(resolution, namespace=namespace, bundle=self.bundle, cluster=self.cluster, release=self.settings.release)

    def _expansion(
        self, vm: Object, resolution: Resolution, *, namespace: str, defaults: bool | None = None
    ) -> Expansion | None:
        """None where the VM refers to nothing, which KubeVirt leaves alone, and where nothing can be said of it.

        From 1.6 on admission passes over a reference that leads nowhere and judges the VM by the other one.
        """
        if self.settings.mode == "validate":
            return self._judged(resolution, namespace)
        judged = not resolution.errors or self.settings.release.within(since=HALF_JUDGED_SINCE)
        if not judged or not (resolution.instancetype or resolution.preference):
            return None
        found = self._expanded(vm, resolution, defaults=self.settings.defaults != "none" if defaults is None else defaults)
        return found.but(vm=None) if resolution.errors else found

    def _expanded(self, vm: Object, resolution: Resolution, *, defaults: bool) -> Expansion:
        found = resolution.instancetype
        expansion = expand.expand(
            vm,
            instancetype=found.spec if found else None,
            preference=resolution.preference.spec if resolution.preference else None,
            cluster=self.cluster,
            release=self.settings.release,
            defaults=defaults,
            table=found.table if found else "instancetype",
        )
        # beside an instancetype it means nothing, and must not come to mean something now that this is gone
        return without_flavor(expansion, found) if found and get(vm, ("spec", "flavor")) is not None else expansion

    def _folded(self, facts: VmFacts) -> VmFacts:
        """The facts with the presets in the VM's template, where the cluster would apply them: before its own defaults."""
        from krm_fn.presets import fold_presets

        namespace = effective_namespace(facts.entry.obj)
        bare = self._expansion(facts.admitted, facts.resolution, namespace=namespace, defaults=False)
        vm = bare.vm if bare and bare.vm is not None else facts.admitted
        found = fold_presets(vm, self._presets(facts), release=facts.release, namespace=namespace)
        folded = found.instance
        if found.refused or folded is vm:
            return facts.but(presets=self._preset_facts(facts, found))
        if facts.expansion and self.settings.defaults != "none":
            folded = copy(folded)
            expand.set_instance_defaults(folded["spec"]["template"]["spec"], self.cluster, facts.release)
        return facts.but(rendered=folded, presets=self._preset_facts(facts, found))

    def _started(self, facts: VmFacts) -> VmFacts:
        """The facts with the instance that the VM starts as, and what the presets do to it."""
        from krm_fn.instance import start

        pinned = self.settings.defaults == "pinned"
        started = start(
            facts.resolution.but(vm=facts.admitted) if pinned else facts.resolution,
            owner=facts.entry.obj,
            namespace=effective_namespace(facts.entry.obj),
            bundle=self.bundle,
            cluster=self.cluster,
            release=facts.release,
            presets=self._presets(facts),
        )
        told = facts.presets or (self._preset_facts(facts, started.presets) if started.presets else None)
        wanted = self.settings.instances == "include"
        return facts.but(presets=told, instance=started.instance if wanted else None)

    def _presets(self, facts: VmFacts) -> tuple[Entry, ...]:
        if not self.has_presets:
            return ()
        from krm_fn.presets import presets_for

        return presets_for(self.bundle, facts.entry.obj["apiVersion"], effective_namespace(facts.entry.obj))

    def _preset_facts(self, facts: VmFacts, applied: Applied) -> PresetFacts:
        from krm_fn.presets import PresetFacts

        return PresetFacts(entry=facts.entry, applied=applied, release=facts.release, prefix=(*facts.prefix, *TEMPLATE))

    def _catalogue(self) -> Any:
        if self.settings.catalogue == "none" or not self.cluster.deploys_catalogue:
            return None
        return LateCatalogue(self.settings.release)


class LateCatalogue:
    """The catalogue of a release, read when it is first asked: most bundles hold all that their VMs refer to."""

    def __init__(self, release: Release) -> None:
        self._release = release

    def __getattr__(self, name: str) -> Any:
        from krm_fn import catalogue

        return getattr(catalogue.of(self._release), name)


def without_flavor(expansion: Expansion, flavor: Found) -> Expansion:
    """What came of a VM and its flavor: the VM without the reference, conflicts that name places in the flavor's object."""
    conflicts = tuple(found.but(source_path=(*flavor.root, *found.source_path[1:])) for found in expansion.conflicts)
    vm = expansion.vm
    if vm is not None:
        vm = {**vm, "spec": {key: value for key, value in vm["spec"].items() if key != "flavor"}}
    return expansion.but(vm=vm, conflicts=conflicts)


def stands_for_itself(entry: Entry) -> bool:
    """True for instances that no VM owns: a VirtualMachineInstance, or the v1alpha1 VirtualMachine, which was one."""
    instance = group_of(entry.obj) == "kubevirt.io" and kind_of(entry.obj) == "VirtualMachineInstance"
    return instance or is_first_instance(entry.obj)
