"""The objects that KubeVirt lets in and whose instances never start, although nothing is wrong with their references."""

from __future__ import annotations

from krm_fn.base.annotations import Container, Iterator
from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.objects import Object, metadata
from krm_fn.base.paths import Path, as_map, copy, get
from krm_fn.kubevirt.admission import Cause
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.facts import Found
from krm_fn.kubevirt.holders import INSTANCE_SPEC, SERVED, TEMPLATE, Holder
from krm_fn.kubevirt.instance import complete, start
from krm_fn.kubevirt.instance.refusals import is_sound, is_sure_to_start, start_causes
from krm_fn.kubevirt.presets import apply_presets
from krm_fn.kubevirt.presets.index import NONE, PresetGroup, Presets
from krm_fn.kubevirt.releases import Release
from krm_fn.pipeline.refusals import FieldOrigins, refusal, refused
from krm_fn.rules.facts.admission import AdmissionFacts
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.vms import VmFacts

PRESET = "VirtualMachineInstancePreset"
INSTANCE = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance"}


class Instances:
    """The instances that the objects of a bundle start, in the order of upstream: made, with presets, completed, admitted.

    Why the instance of a VM does not start is found out once, for all that asks.
    """

    def __init__(self, facts: BundleFacts) -> None:
        self.facts = facts
        self._refusals: dict[tuple[int, Path], AdmissionFacts | None] = {}
        presets = None if facts.config.presets == "ignore" else Presets(facts.bundle)
        self.presets = presets if presets and facts.bundle.of_kind(PRESET) else None

    def of_vm(self, vm: VmFacts) -> Object | None:
        """The instance of a VM whose references are resolved, None where conflicts or presets forbid it."""
        namespace = effective_namespace(vm.entry.obj)
        return made(vm, self.facts.bundle, self._seen(vm.entry.obj["apiVersion"], namespace))

    def refusal(self, vm: VmFacts, instance: Object | None = None) -> AdmissionFacts | None:
        """Why the instance of a VM that is let in does not start, None where it starts or there is none."""
        place = vm.entry.item, vm.entry.path
        if place not in self._refusals:
            self._refusals[place] = self._refused(vm, instance)
        return self._refusals[place]

    def _refused(self, vm: VmFacts, instance: Object | None) -> AdmissionFacts | None:
        if not self.presets and (vm.sound or is_sure(vm, self.facts.bundle)):
            return None
        instance = instance or self.of_vm(vm)
        return _stopped(vm.entry, vm, instance, (*vm.prefix, *TEMPLATE)) if instance else None

    def known_refusal(self, vm: VmFacts) -> AdmissionFacts | None:
        """The refusal that was found out already, None where there is none or nobody has asked."""
        return self._refusals.get((vm.entry.item, vm.entry.path))

    def with_presets(self, entry: Entry, holder: Holder) -> Object | None:
        """The instance that stands for itself, or that a replica set makes, with presets; None where these refuse it."""
        template = as_map(get(entry.obj, holder.template)) if holder.template else entry.obj
        given = {**template, **INSTANCE, "metadata": {**metadata(template), "name": metadata(entry.obj).get("name")}}
        namespace = effective_namespace(entry.obj)
        seen = self._seen(INSTANCE["apiVersion"], namespace)
        applied = apply_presets(given, seen, release=self.facts.release, namespace=namespace)
        return None if applied.refused else applied.instance

    def completed(self, instance: Object) -> Object:
        """The instance with the defaults of the webhook."""
        found: Object = copy(instance)
        complete(found, self.facts.cluster, self.facts.release)
        return found

    def refusal_of(self, entry: Entry, holder: Holder, instance: Object) -> AdmissionFacts | None:
        """Why a complete instance that no VM makes does not start."""
        return _stopped(entry, self.facts, instance, holder.template)

    def _seen(self, version: str, namespace: str) -> PresetGroup:
        return self.presets.seen_by(version, namespace) if self.presets else NONE


def made(vm: VmFacts, bundle: Bundle, presets: PresetGroup = NONE) -> Object | None:
    """The complete instance of a VM whose references are resolved."""
    return start(
        vm.resolution,
        owner=vm.entry.obj,
        namespace=effective_namespace(vm.entry.obj),
        bundle=bundle,
        cluster=vm.cluster,
        release=vm.release,
        presets=presets,
    ).instance


def starts(vm: VmFacts, bundle: Bundle) -> bool:
    """True for a VM without presets whose instance starts."""
    if is_sure(vm, bundle):
        return True
    instance = made(vm, bundle)
    return instance is not None and not start_causes(instance, cluster=vm.cluster, release=vm.release)


def is_sure(vm: VmFacts, bundle: Bundle) -> bool:
    """True for a VM whose instance starts without presets, as far as its expansion shows that; False decides nothing."""
    spec = get(vm.expansion.vm, INSTANCE_SPEC) if vm.expansion and vm.expansion.vm else None
    if not isinstance(spec, dict) or not is_sure_to_start(spec, cluster=vm.cluster, release=vm.release):
        return False
    preference = vm.resolution.preference
    if preference is None or not preference.spec.get("devices"):
        return True
    known = bundle.derived(_preferences)
    key = id(preference.spec), vm.release
    if key not in known:
        known[key] = preference, is_sound(preference, cluster=vm.cluster, release=vm.release)
    return known[key][1]


def _preferences(_: Bundle) -> dict[tuple[int, Release], tuple[Found, bool]]:
    """The preferences that were tried, by the number of their spec, which is kept; filled by `is_sure`."""
    return {}


def _stopped(entry: Entry, facts: VmFacts | BundleFacts, instance: Object, template: Path) -> AdmissionFacts | None:
    def causes(cluster: Cluster) -> tuple[Cause, ...]:
        found = start_causes(instance, cluster=cluster, release=facts.release)
        return tuple(cause.but(path=(*template, *cause.path), upstream_path="") for cause in found)

    return refusal(entry, facts, causes)


def stopped(facts: BundleFacts, instances: Instances, out: Container[tuple[int, Path]]) -> Iterator[AdmissionFacts]:
    """The objects whose instances never start, without those that are `out`: KubeVirt does not let them in."""
    origins = FieldOrigins()
    for vm in facts.vms:
        if vm.sound or (vm.entry.item, vm.entry.path) in out or facts.bundle.is_context(vm.entry.item) or not _has_instance(vm):
            continue
        found = _refused_by_pool(vm) or instances.refusal(vm)
        if found and found.causes:
            given = ((cause.path, origins.of(vm, cause.path[len(vm.prefix) :])) for cause in found.causes)
            yield found.but(origins={path: origin for path, origin in given if origin})
    for entry, holder in _without_vm(facts):
        if (entry.item, entry.path) in out:
            continue
        instance = instances.with_presets(entry, holder)
        found = instances.refusal_of(entry, holder, instances.completed(instance)) if instance else None
        if found and found.causes:
            yield found


def _has_instance(vm: VmFacts) -> bool:
    """False for a VM that other rules say why it starts nothing."""
    found = vm.expansion
    return not vm.resolution.errors and found is not None and not (found.conflicts or found.unmet or found.refusals)


def _refused_by_pool(vm: VmFacts) -> AdmissionFacts | None:
    """Why KubeVirt refuses the VMs of a pool that it lets in: it does not expand the VM in the pool."""
    found = refused(vm) if vm.prefix else None
    if found is None or not found.causes:
        return None
    return found.but(causes=tuple(cause.but(path=(*vm.prefix, *cause.path), upstream_path="") for cause in found.causes))


def _without_vm(facts: BundleFacts) -> Iterator[tuple[Entry, Holder]]:
    """The replica sets, and the instances that nobody owns."""
    for (group, kind), holder in SERVED.items():
        if holder.vm is None:
            for entry in facts.bundle.of_kind(kind, group):
                if isinstance(get(entry.obj, (*holder.instance, "domain")), dict) and not facts.bundle.is_context(entry.item):
                    yield entry, holder
