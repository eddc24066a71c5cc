"""Resolves the matchers of a VirtualMachine as the cluster does: inference, stored revisions, objects, catalogue.

The `reason` of a ResolutionError is one of these words. In brackets: what `wanted` (w), `candidates` (c) and `detail` (d) hold.

The matcher as written (its path is the wrong field, or the matcher)
        bad-shape                   it, or a field of it, has another type than in the API
    no-name                     it has neither name nor inferFromVolume
    name-and-inference          it has both; d `volume`
        kind-and-inference          it has a kind together with inferFromVolume; d `volume`
    bad-policy                  inferFromVolumeFailurePolicy is neither Ignore nor Reject; c the policies
Inference (path: inferFromVolume)
        unknown-volume              the VM has no volume of that name; c the nearest, or else all; d `near`, the nearest
    unsupported-volume          the volume is neither a claim nor a DataVolume; d `holds` its keys
        unsupported-source          the source of a DataVolume or DataSource has no labels; w that object; d `holds` or `kind`
        missing-label               the object at the end has no label with a name; w the object; d `label`
        empty-label                 the label is empty
    missing-source              an object on the way is not in the bundle; w the object; d `instead_of`, `namespaces`
Names (path: name or kind; inferFromVolume where the name was inferred, then d has `inferred`)
    unknown-name                no such object; w the object; c names; d `shipped`: releases whose catalogue has it
        wrong-namespace             the object exists only in other namespaces; w the object; c namespaces
    placeholder                 another step replaces the name, the kind, or what the vCPUs are; w the object; d `place`
    wrong-kind                  the name exists as the other kind, namespaced or cluster-wide; w the object; c kinds
        unexpected-kind             the kind is neither of the two; c the nearest of them; d `kind`
Revisions (path: revisionName, or the place in the VM's status)
    revision-missing            no such ControllerRevision; w it; c names; d `namespaces`
    revision-undecodable        it holds no instancetype or preference; w it
        revision-form-unreadable    it holds one in a form that this release can no longer read; w it
    revision-of-another-object  it holds a preference for an instancetype matcher, or the reverse; w it; d `holds`
Flavors: the words above, and those of `resolve.flavors`; `matcher` is "flavor"
"""

from __future__ import annotations

from krm_fn.base.bundle import Bundle
from krm_fn.base.objects import Object
from krm_fn.base.paths import as_map, get
from krm_fn.kubevirt.facts import Found, Resolution, ResolutionError
from krm_fn.kubevirt.holders import DOMAIN
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.resolve.find import Finder
from krm_fn.kubevirt.resolve.matcher import (
    BUNDLE_KINDS,
    IGNORE,
    INSTANCETYPE,
    MATCHERS,
    PREFERENCE,
    Lookup,
    Matcher,
    faults,
    inferred,
    policy_of,
    stage,
)
from krm_fn.kubevirt.resolve.revision import Payload, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.resolve.find import ReleaseCatalogue
    from krm_fn.kubevirt.resolve.flavors import FlavorFinder


__all__ = [
    "BUNDLE_KINDS",
    "INSTANCETYPE",
    "MATCHERS",
    "PREFERENCE",
    "Matcher",
    "Payload",
    "Resolver",
    "decode",
    "refers",
]

# The fields of a VM's spec that refer to something; `flavor` is the first form of `instancetype`.
REFERRING = frozenset((*(matcher.field for matcher in MATCHERS), "flavor"))


def refers(vm: Object) -> bool:
    """False for a VM that resolves to itself, without errors."""
    return not REFERRING.isdisjoint(as_map(vm.get("spec")))


class Resolver:
    """Resolves the VMs of one bundle, and keeps what it has looked up. `catalogue` None: there is no catalogue."""

    def __init__(self, *, bundle: Bundle, release: Release, catalogue: ReleaseCatalogue | None) -> None:
        self._release = release
        self._bundle = bundle
        self._lookup = Lookup(bundle)
        self._finder = Finder(lookup=self._lookup, release=release, catalogue=catalogue)
        self._flavor_finder: FlavorFinder | None = None

    def resolve(self, vm: Object, *, namespace: str) -> Resolution:
        """The objects of both matchers of `vm`; `namespace` is that of the VM. All errors are collected."""
        found: dict[str, Found | None] = {}
        errors: list[ResolutionError] = []
        for matcher in MATCHERS:
            vm, result = self._resolve_old(vm, matcher, namespace) or self._resolve_matcher(vm, matcher, namespace)
            if isinstance(result, list) and matcher == PREFERENCE:
                result = self._flavors().preference_object(vm, namespace) or result
            found[matcher.field] = result if isinstance(result, Found) else None
            errors += result if isinstance(result, list) else ()
        return Resolution(vm=vm, errors=tuple(errors), **found)

    def _resolve_old(
        self, vm: Object, matcher: Matcher, namespace: str
    ) -> tuple[Object, Found | list[ResolutionError] | None] | None:
        """The object of a matcher of a VM with a flavor; None if it refers to nothing in the group of flavors."""
        if get(vm, ("spec", "flavor")) is None or get(vm, ("spec", "instancetype")) is not None:
            return None
        result = (self._flavors().flavor if matcher == INSTANCETYPE else self._flavors().preference)(vm, namespace)
        return (vm, result) if result else None

    def _flavors(self) -> FlavorFinder:
        if self._flavor_finder is None:
            from krm_fn.kubevirt.resolve.flavors import FlavorFinder  # other VMs do not need it

            self._flavor_finder = FlavorFinder(self._bundle)
        return self._flavor_finder

    def _resolve_matcher(
        self, vm: Object, matcher: Matcher, namespace: str
    ) -> tuple[Object, Found | list[ResolutionError] | None]:
        written = get(vm, ("spec", matcher.field))
        if written is None:
            return vm, None
        wrong = list(faults(matcher, written, self._release))
        if wrong:
            return vm, wrong
        volume = written.get("inferFromVolume")
        if not volume:
            return vm, _listed(self._finder.find(vm, matcher, namespace))
        from krm_fn.kubevirt.resolve.infer import NotInferred, infer  # needed only for inference

        try:
            name, kind = infer(vm, matcher, namespace=namespace, lookup=self._lookup, release=self._release)
        except NotInferred as failed:
            ignored = failed.ignorable and policy_of(written, self._release) == IGNORE
            return (_without_matcher(vm, matcher), None) if ignored else (vm, [failed.error])
        stored = _with_inferred(vm, matcher, inferred(matcher, name=name, kind=kind, release=self._release), self._release)
        if not name:
            return stored, [self._empty_label(matcher, volume)]
        return stored, _listed(self._finder.find(stored, matcher, namespace), (matcher, volume, name))

    def _empty_label(self, matcher: Matcher, volume: str) -> ResolutionError:
        # Upstream admits the matcher without a name, and fails when it looks for the object.
        return ResolutionError(
            matcher=matcher.field,
            reason="empty-label",
            path=("spec", matcher.field, "inferFromVolume"),
            current=volume,
            detail=(("label", matcher.name_label),),
            upstream=stage(self._release),
        )


def _listed(
    result: Found | ResolutionError, inferred_from: tuple[Matcher, str, str] | None = None
) -> Found | list[ResolutionError]:
    """The result, with an error in a list. An error about an inferred name gets the path of inferFromVolume."""
    if isinstance(result, Found):
        return result
    if inferred_from is None or result.path[0] == "status":
        return [result]
    matcher, volume, name = inferred_from
    path = ("spec", matcher.field, "inferFromVolume")
    return [result.but(path=path, current=volume, detail=(*result.detail, ("inferred", name)))]


def _without_matcher(vm: Object, matcher: Matcher) -> Object:
    return {**vm, "spec": {key: value for key, value in vm["spec"].items() if key != matcher.field}}


def _with_inferred(vm: Object, matcher: Matcher, stored: Object, release: Release) -> Object:
    """The VM with the inferred matcher instead of the one with inferFromVolume.

    upstream: pkg/instancetype/infer/handler.go:Instancetype
    """
    policy = policy_of(vm["spec"][matcher.field], release)
    changed = {**vm, "spec": {**vm["spec"], matcher.field: stored}}
    if matcher == INSTANCETYPE and policy == IGNORE:
        # If a VM can do without an instancetype, upstream clears its memory, so that the two do not conflict.
        return _without(changed, *DOMAIN, "memory")
    return changed


def _without(value: Object, *path: str) -> Object:
    """The map without the value at `path`. Maps on the path are copied, the rest is shared."""
    if path[0] not in value:
        return value
    if len(path) == 1:
        return {key: below for key, below in value.items() if key != path[0]}
    return {**value, path[0]: _without(as_map(value[path[0]]), *path[1:])} if as_map(value[path[0]]) else value
