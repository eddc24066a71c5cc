"""The analysis of a bundle: it resolves and expands each VM. `facts` collects the results."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.objects import Object, annotations_of, name_of
from krm_fn.base.paths import Path, as_map, get, is_set
from krm_fn.base.value import Value
from krm_fn.findings.limits import ProductLimit
from krm_fn.kubevirt import expand
from krm_fn.kubevirt.configuration import Cluster, kubevirt_of, merged, release_of
from krm_fn.kubevirt.facts import Expansion, Found, Resolution
from krm_fn.kubevirt.holders import SERVED, vm_path
from krm_fn.kubevirt.releases import Release, require_measured
from krm_fn.kubevirt.resolve import Resolver
from krm_fn.kubevirt.settings import Config
from krm_fn.rules.facts.bundles import NO_SURROUNDINGS, BundleFacts, Surroundings
from krm_fn.rules.facts.vms import InstanceFacts, VmFacts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.presets.index import Presets
    from krm_fn.kubevirt.trace import Trace


VM = "VirtualMachine"
# Up to 1.4 the VMs that KubeVirt's expander gets have passed the mutating webhook, so they have all defaults.
ADMITTED_UNTIL = (1, 5)
UNRESOLVED_PASSED_OVER_SINCE = (1, 6)
# Any number of VMs may use an instancetype or preference of at most so many values; the largest that KubeVirt deploys have
# some fifty. For larger ones there is a limit, because the result grows with the product of their size and the number of VMs.
USUAL_VALUES = 100
VALUES, VALUES_PER_OBJECT = 300_000, 150


def cluster_of(bundle: Bundle, settings: Config, release: Release) -> Cluster:
    """The cluster that the bundle's KubeVirt object describes, or else its HyperConverged object.

    The config's `configuration` is merged over that of the object.
    """
    given, found = settings.configuration or {}, kubevirt_of(bundle)
    if found:
        own = as_map(get(found.obj, ("spec", "configuration")))
        return Cluster(configuration=merged(own, given), annotations=annotations_of(found.obj))
    operators = bundle.ordered(bundle.of_kind("HyperConverged", "hco.kubevirt.io"))
    if not operators:
        return Cluster(configuration=given, known=settings.states_cluster)
    from krm_fn.kubevirt.hyperconverged import configuration_of, kubevirt_annotations  # few bundles have such an object

    obj = operators[0].obj
    return Cluster(configuration=merged(configuration_of(obj, release), given), annotations=kubevirt_annotations(obj))


def analysis_of(bundle: Bundle, settings: Config, surroundings: Surroundings = NO_SURROUNDINGS) -> Analysis:
    """The analysis of a bundle under a config. Raises: ConfigError if it asks for what was not measured of the release."""
    release = release_of(bundle, settings)
    if settings.instances == "include":
        require_measured("instances", release, path="spec.instances")
    if settings.pod_size and settings.mode != "validate":
        require_measured("pods", release, path="spec.podSize")
    return Analysis(
        bundle=bundle,
        settings=settings,
        release=release,
        cluster=cluster_of(bundle, settings, release),
        given=_given(len(bundle.entries)),
        presets=_presets(bundle) if settings.presets != "ignore" else None,
        surroundings=surroundings,
    )


def _given(objects: int) -> ProductLimit:
    most = VALUES + VALUES_PER_OBJECT * objects
    fix = "write the large ones directly into the VMs that need them"
    return ProductLimit(most, f"instancetypes and preferences expand to more than {most:,} values in VMs; {fix}")


def _presets(bundle: Bundle) -> Presets | None:
    if not (bundle.of_kind("VirtualMachineInstancePreset") or bundle.of_kind("VirtualMachinePreset")):
        return None
    from krm_fn.kubevirt.presets.index import Presets  # few bundles have some

    return Presets(bundle)


def holds_vm(entry: Entry) -> Path | None:
    """The path from an object's root to its VM; None if it holds none that the renderer reads."""
    return vm_path(entry.obj, SERVED)


def large(resolution: Resolution) -> list[Found]:
    """The instancetype and preference of a VM, if they are larger than usual."""
    found = (resolution.instancetype, resolution.preference)
    return [each for each in found if each is not None and each.values > USUAL_VALUES]


class Analysis(Value):
    """One bundle, with everything that its VMs are expanded with. `presets` are those that apply, or None.

    `given` is the budget for what large instancetypes and preferences set; `trace` gets what rendering writes, if one asks.
    """

    bundle: Bundle
    settings: Config
    release: Release
    cluster: Cluster
    given: ProductLimit
    presets: Presets | None = None
    surroundings: Surroundings = NO_SURROUNDINGS
    trace: Trace | None = None

    @property
    def starts_instances(self) -> bool:
        """True if the facts of a VM include its instance, or the effect of presets on it."""
        return bool(self.presets) or self.settings.instances == "include"

    def vm(self, entry: Entry, resolver: Resolver) -> VmFacts | None:
        """The facts of the VM in an object, or of the template in a pool; None if it holds none."""
        resolved = self.resolved(entry, resolver)
        return self.of_vm(entry, *resolved) if resolved else None

    def resolved(self, entry: Entry, resolver: Resolver) -> tuple[Path, Object, Resolution] | None:
        """The path to the VM in an object, the VM, and the objects that it refers to; None if there is no VM."""
        prefix = holds_vm(entry)
        if prefix is None:
            return None
        vm = get(entry.obj, prefix)
        found = resolver.resolve(vm, namespace=effective_namespace(entry.obj))
        if found.errors and self.bundle.units(entry.item):
            from krm_fn.pipeline import surroundings  # only folders have them

            found = surroundings.in_open_bundle(found)
        return prefix, vm, found

    def resolver(self) -> Resolver:
        given: dict[str, Any] = {"bundle": self.bundle, "release": self.release, "catalogue": self._catalogue()}
        if not (self.surroundings.external or self.surroundings.ambiguous or self.surroundings.affixes):
            return Resolver(**given)
        from krm_fn.pipeline.surroundings import KnowingResolver  # only repositories have them

        return KnowingResolver(self.surroundings, **given)

    def facts(self, *, vms: tuple[VmFacts, ...], instances: tuple[InstanceFacts, ...] = ()) -> BundleFacts:
        """The facts of the bundle, from those of its VMs and instances."""
        return BundleFacts(
            bundle=self.bundle,
            config=self.settings,
            cluster=self.cluster,
            release=self.release,
            vms=vms,
            instances=instances,
            surroundings=self.surroundings,
        )

    def of_vm(self, entry: Entry, prefix: Path, vm: Object, resolution: Resolution) -> VmFacts:
        """The facts of a VM that was resolved; `prefix` is its path from the object's root. Raises: InputError."""
        self.count_values(resolution)
        admitted = self._admitted(entry, prefix, resolution)
        expansion = self.expansion(admitted, resolution, namespace=effective_namespace(entry.obj))
        return VmFacts(
            entry=entry,
            vm=vm,
            release=self.release,
            cluster=self.cluster,
            resolution=resolution,
            admitted=admitted,
            expansion=expansion,
            rendered=None if resolution.errors else expansion.vm if expansion else admitted,
            prefix=prefix,
        )

    def count_values(self, resolution: Resolution) -> None:
        """Count the values that a VM gets from its references. Raises: InputError if VMs get too many."""
        for found in large(resolution):
            self.given.take(found.values)

    def _admitted(self, entry: Entry, prefix: Path, resolution: Resolution) -> Object:
        """The VM as the expansion gets it, which may differ from what is written.

        Admission sets the preferred storage class in DataVolume templates, and the preference is removed by rendering.
        """
        preference = resolution.preference.spec if resolution.preference else None
        release, namespace = self.release, effective_namespace(entry.obj)
        pinned = self.settings.defaults == "pinned"
        stored = self.settings.defaults != "none" and self.cluster.known and release.within(until=ADMITTED_UNTIL)
        if resolution.errors or not (pinned or stored):
            if not is_set(get(preference, ("volumes", "preferredStorageClassName"))):
                return resolution.vm
            from krm_fn.kubevirt.expand.admitted import with_storage_classes  # few preferences set it

            return with_storage_classes(resolution.vm, preference or {}, release, trace=self.trace)
        from krm_fn.kubevirt.expand.admitted import admit

        admitted = admit(
            resolution.vm,
            preference=preference,
            namespace=namespace,
            bundle=self.bundle,
            cluster=self.cluster,
            release=release,
            trace=self.trace,
        )
        if not pinned:
            return admitted
        from krm_fn.kubevirt.expand.pinned import pin

        return pin(admitted, name="" if prefix else name_of(entry.obj), namespace=namespace, release=release)

    def _expanded_for_admission(self, resolution: Resolution, namespace: str) -> Expansion:
        """The result of admission's own expansion, whose fields it then checks."""
        from krm_fn.kubevirt.admission.expansion import expand_for_admission

        return expand_for_admission(
            resolution, namespace=namespace, bundle=self.bundle, cluster=self.cluster, release=self.release
        )

    def expansion(
        self, vm: Object, resolution: Resolution, *, namespace: str, defaults: bool | None = None
    ) -> Expansion | None:
        """None if the VM has no references, so that KubeVirt does not change it, or if the result cannot be known.

        From 1.6 on admission ignores a reference that cannot be resolved, and checks the VM with the other one.
        """
        if self.settings.mode == "validate":
            return self._expanded_for_admission(resolution, namespace)
        looked_at = not resolution.errors or self.release.within(since=UNRESOLVED_PASSED_OVER_SINCE)
        if not looked_at or not (resolution.instancetype or resolution.preference):
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
            release=self.release,
            defaults=defaults,
            table=found.table if found else "instancetype",
            trace=self.trace,
        )
        # Together with an instancetype it has no effect, and it must not get one when the instancetype is removed.
        return without_flavor(expansion, found) if found and get(vm, ("spec", "flavor")) is not None else expansion

    def _catalogue(self) -> Any:
        if self.settings.catalogue == "none" or not self.cluster.deploys_catalogue(self.release):
            return None
        return LateCatalogue(self.release)


class LateCatalogue:
    """The catalogue of a release, read when it is first needed: most bundles have all objects that their VMs refer to."""

    def __init__(self, release: Release) -> None:
        self._release = release

    def __getattr__(self, name: str) -> Any:
        from krm_fn.kubevirt import catalogue

        return getattr(catalogue.of(self._release), name)


def without_flavor(expansion: Expansion, flavor: Found) -> Expansion:
    """The expansion of a VM with a flavor: the VM without the reference, and conflicts with paths in the flavor's object."""
    conflicts = tuple(found.but(source_path=(*flavor.root, *found.source_path[1:])) for found in expansion.conflicts)
    vm = expansion.vm
    if vm is not None:
        vm = {**vm, "spec": {key: value for key, value in vm["spec"].items() if key != "flavor"}}
    return expansion.but(vm=vm, conflicts=conflicts)
