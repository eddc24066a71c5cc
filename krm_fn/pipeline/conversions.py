"""The suggestions for the flat VMs of a bundle, with what of the pipeline they depend on."""

from __future__ import annotations

from functools import partial

from krm_fn.base.annotations import Any, Iterator, Mapping
from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import Object, kind_of, name_of
from krm_fn.base.paths import Path, get
from krm_fn.base.quantity import parse
from krm_fn.converting.conversion import (
    COMPARED,
    EXACT,
    HEADROOM,
    PodSize,
    Proof,
    StartContext,
    StartedVm,
    before,
    judged,
)
from krm_fn.converting.instancetypes import Fit, Peak, PeakKey, smaller
from krm_fn.converting.suggesting import ConversionWish, Suggesting, Suggestion
from krm_fn.kubevirt import catalogue
from krm_fn.kubevirt.holders import SERVED
from krm_fn.kubevirt.pods import LaunchContext, pod_size
from krm_fn.kubevirt.pods.amounts import ZERO, minus, read
from krm_fn.kubevirt.presets.index import NONE
from krm_fn.kubevirt.releases import is_measured
from krm_fn.kubevirt.resolve import MATCHERS, Resolver
from krm_fn.pipeline.equivalents import compiled, dumped
from krm_fn.pipeline.starts import OTHERS, PLACES, Starts
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.completed import ConversionFacts
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.sizing.demands import rendered

# What is read of a VM without the numbers of its sizes.
SIZES: tuple[Path, ...] = tuple(("spec", "template", "spec", *path) for group in COMPARED for path in group)
DEDICATED: Path = ("spec", "domain", "cpu", "dedicatedCpuPlacement")
LIMIT: Path = ("spec", "domain", "resources", "limits", "memory")


def sized(value: Any, _: object) -> Any:
    """A size of which only its sign counts."""
    amount = parse(value)
    return () if amount and amount.nanos > 0 else value


sizeless = compiled([*PLACES, *OTHERS, *((path, sized) for path in SIZES)])
sizeless_type = compiled([(("cpu", "guest"), sized), (("memory", "guest"), sized)])


class Conversions:
    """Converts the VMs of a bundle whose facts these are; they must be those of mode `validate`."""

    def __init__(self, facts: BundleFacts, wish: ConversionWish) -> None:
        self._facts, self._starts = facts, Starts(facts)
        self._presets = self._starts.instances.presets
        self._is_divided = any(facts.bundle.of_kind(matcher.kind) for matcher in MATCHERS)
        shipped = facts.config.catalogue != "none" and facts.cluster.deploys_catalogue(facts.release)
        known = catalogue.of(facts.release) if shipped else None
        resolver = Resolver(bundle=facts.bundle, release=facts.release, catalogue=known)
        self._suggesting = Suggesting(self.around, resolver, known, self.key, wish)

    def key(self, vm: VmFacts) -> Any:
        """All that the suggestion for a VM depends on; its namespace only where one has instancetypes of its own."""
        key = self._starts.key(vm)
        return key[1:] if key and not self._is_divided else key

    def effect_key(self, found: Suggestion) -> Any:
        """What decides what a conversion does to a VM that runs: its sizes count only as they compare. None where unknown."""
        vm, made = found.facts, found.converted
        key = self._starts.key(vm, sizeless)
        if key is None or made is None:
            return None
        given = dumped([sizeless_type(made.specs[0], {}), made.specs[1], *map(vm.vm["spec"].get, ("running", "runStrategy"))])
        return key, given, made.dropped, found.proof.relations, tuple(each.path for each in found.proof.changes)

    def suggestions(self) -> Iterator[Suggestion]:
        """The suggestion for each flat VM of the bundle itself."""
        return self._suggesting.all(self.vms)

    def fits(self, peaks: Mapping[PeakKey, Peak], spare: int) -> Iterator[Fit]:
        """The VMs of which peaks are known, each with an instancetype that is smaller and holds these and some percent more."""
        for vm in self.vms:
            key = effective_namespace(vm.entry.obj), name_of(vm.entry.obj)
            if (was := self.before(vm) if key in peaks else None) is not None:
                found = smaller(self._suggesting.choices(vm, self.around(vm)), was.size, peaks[key], spare)
                yield Fit(namespace=key[0], name=key[1], size=was.size, peak=peaks[key], smaller=found)

    @property
    def world(self) -> list[Object]:
        """What instances depend on, without VMs and what these refer to."""
        apart = {*(kind for _, kind in SERVED), *(kind for matcher in MATCHERS for kind in matcher.kinds)}
        return [entry.obj for entry in self._facts.bundle.entries if kind_of(entry.obj) not in apart]

    @property
    def vms(self) -> list[VmFacts]:
        """The VMs of the bundle itself."""
        return [vm for vm in self._facts.vms if not self._facts.bundle.is_context(vm.entry.item)]

    def before(self, vm: VmFacts) -> StartedVm | None:
        """A VM as it is made, None where it has no instance or no size."""
        found = None if vm.resolution.errors else before(vm, self.around(vm))
        return None if isinstance(found, str) else found

    def judged(self, was: StartedVm, vm: VmFacts) -> Proof | None:
        """What is different of a VM, None where KubeVirt refuses its instance otherwise than before."""
        return None if vm.resolution.errors else judged(was, vm, vm.resolution, self.around(vm))

    def around(self, vm: VmFacts) -> StartContext:
        """What a VM starts in."""
        facts, namespace = self._facts, effective_namespace(vm.entry.obj)
        launch = LaunchContext(bundle=facts.bundle, cluster=facts.cluster, release=facts.release, namespace=namespace)
        presets = self._presets.seen_by(vm.entry.obj["apiVersion"], namespace) if self._presets else NONE

        return StartContext(bundle=facts.bundle, presets=presets, pods=partial(_size, around=launch))


def with_conversions(facts: BundleFacts) -> BundleFacts:
    """The facts with those of the rule about flat VMs. Nothing is said of releases whose pods are not known."""
    if not is_measured("pods", facts.release):
        return facts
    found = (
        each
        for each in Conversions(facts, ConversionWish()).suggestions()
        if each.instancetype and each.sort in (EXACT, HEADROOM)
    )
    return facts.but(
        conversions=tuple(
            ConversionFacts(
                entry=each.facts.entry,
                prefix=each.facts.prefix,
                name=each.instancetype.name if each.instancetype else "",
                is_exact=each.sort == EXACT,
            )
            for each in found
        )
    )


def _size(instance: Object, around: LaunchContext) -> PodSize:
    """The size of the pod of an instance; nothing where KubeVirt renders none."""
    pod = rendered(instance, around, pod_size).result.get("pod", {})
    requests, limits, overhead = read(pod.get("requests")), read(pod.get("limits")), parse(pod.get("memoryOverhead")) or ZERO
    is_limited = get(instance, LIMIT) is not None or get(instance, DEDICATED)  # whose pod has the same limits as requests
    for amounts in (requests, *([limits] if is_limited else ())):
        if "memory" in amounts:
            amounts["memory"] = minus(amounts["memory"], overhead)
    return PodSize(requests=requests, limits=limits, overhead=overhead)
