"""The objects of a bundle that KubeVirt's webhooks refuse. Every object is judged in the form that they would get.

The origin of a refused value of an expanded VM is the field of its instancetype or preference without which the value differs.

upstream: pkg/virt-api/webhooks/validating-webhook
"""

from __future__ import annotations

from functools import partial

from krm_fn.base.annotations import Any, Callable, Iterable, Iterator
from krm_fn.base.bundle import Bundle, Entry
from krm_fn.base.objects import Object, group_of, kind_of, ref_of
from krm_fn.base.paths import Path, as_map, copy, get, is_set
from krm_fn.kubevirt.admission import Cause, admit_vm
from krm_fn.kubevirt.admission.expansion import expand_for_admission
from krm_fn.kubevirt.admission.gates import DISCONTINUED, state
from krm_fn.kubevirt.admission.objects import KINDS, admit_object
from krm_fn.kubevirt.admission.parts import by_part
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.facts import Found, Resolution
from krm_fn.kubevirt.holders import DOMAIN
from krm_fn.rules.facts.admission import AdmissionFacts, Origin, SourceFault
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.vms import VmFacts

INSTANCE = ("kubevirt.io", "VirtualMachineInstance")
# The smallest VM. Webhooks can refuse it only because of its instancetype.
BARE: Object = {"spec": {"template": {"spec": {"domain": {"devices": {}}}}}}


def examine(facts: BundleFacts) -> Iterator[AdmissionFacts]:
    """The refusals of each object, also those because of a closed feature gate; accepted objects are left out.

    The facts must be those of mode `validate`, in which a VM's expansion is that of admission.
    """
    presets = {(each.entry.item, each.entry.path): each.rendered for each in facts.instances}
    origins = FieldOrigins()
    for vm in facts.vms:
        if vm.prefix or vm.sound:
            continue
        found = refused(vm)
        if found:
            taken = {cause.path: origin for cause in found.causes if (origin := origins.of(vm, cause.path))}
            yield found.but(origins=taken)
    for entry in facts.bundle.entries:
        found = refused_object(entry, facts, presets.get((entry.item, entry.path), entry.obj))
        if found:
            yield found


def refused(vm: VmFacts) -> AdmissionFacts | None:
    """The refusal of a VM by the webhooks, or None. The facts are those of mode `validate`."""
    return refusal(vm.entry, vm, partial(_of_vm, vm))


def refused_object(entry: Entry, facts: BundleFacts, given: Object) -> AdmissionFacts | None:
    """What the webhooks refuse of an object of another kind, None where they refuse nothing.

    `given` is the object with what presets write into it.
    """
    kind = group_of(entry.obj), kind_of(entry.obj)
    if kind not in KINDS or (kind == INSTANCE and _lacks_domain(entry.obj)):
        return None
    completed = _completed(given, facts) if kind == INSTANCE else None
    return refusal(entry, facts, partial(_of_object, entry, completed, facts))


def refusal(entry: Entry, facts: VmFacts | BundleFacts, admit: Callable[[Cluster], tuple[Cause, ...]]) -> AdmissionFacts | None:
    """The refusal of an object by a cluster, or None.

    If the configuration is not known, any gate may be open. Then the object is judged with all gates open that it needs.
    """
    causes = admit(facts.cluster)
    if not causes:
        return None
    gated: dict[str, list[Cause]] = {}
    while not facts.cluster.known and (shut := [cause for cause in causes if cause.gate and cause.gate not in gated]):
        for cause in shut:
            gated.setdefault(cause.gate, []).append(cause)
        causes = admit(facts.cluster.opening(gated))
    # A gate that is still missing is unknown to the release. A discontinued gate has no effect, except on VMs of 1.3.
    still = {cause.path for cause in causes}
    useless = {cause.gate for cause in causes} | {
        gate
        for gate, found in gated.items()
        if state(gate, facts.release) == DISCONTINUED and not still.isdisjoint(cause.path for cause in found)
    }
    needed = tuple(cause for gate, found in gated.items() if gate not in useless for cause in found)
    return AdmissionFacts(entry=entry, causes=causes, parts=by_part(causes), release=facts.release, gated=needed)


def _of_vm(vm: VmFacts, cluster: Cluster) -> tuple[Cause, ...]:
    expanded = vm.expansion.vm if vm.expansion else None
    found = vm.resolution.instancetype
    return admit_vm(
        vm.resolution.vm,
        expanded=expanded,
        cluster=cluster,
        release=vm.release,
        instancetype=found.spec if found else None,
    )


def _of_object(entry: Entry, completed: Object | None, facts: BundleFacts, cluster: Cluster) -> tuple[Cause, ...]:
    return admit_object(entry.obj, completed=completed, cluster=cluster, release=facts.release)


def _lacks_domain(instance: Object) -> bool:
    """True for an instance that the mutating webhook's schema refuses before any other check runs."""
    return not isinstance(get(instance, ("spec", "domain")), dict)


def _completed(instance: Object, facts: BundleFacts) -> Object:
    """The instance with the defaults of the mutating webhook; unchanged if its shape does not allow them."""
    if _lacks_domain(instance):
        return instance
    spec = copy(instance["spec"])
    from krm_fn.kubevirt.instance.defaults import set_webhook_defaults  # needed only for instances

    set_webhook_defaults(spec, cluster=facts.cluster, release=facts.release)
    return {**instance, "spec": spec}


def faults(facts: BundleFacts, refused: Iterable[AdmissionFacts]) -> tuple[SourceFault, ...]:
    """The causes in instancetypes: every other VM that uses the instancetype would be refused too."""
    causes = {(each.entry.item, each.entry.path): each.causes for each in refused}
    users: dict[tuple[int, Path], list[VmFacts]] = {}
    for vm in facts.vms:
        source = vm.resolution.instancetype
        own = source and source.entry and source.origin == "bundle" and not facts.bundle.is_context(source.entry.item)
        if source and source.entry and own and (vm.entry.item, vm.entry.path) in causes:
            users.setdefault((source.entry.item, source.entry.path), []).append(vm)
    return tuple(fault for vms in users.values() for fault in _faults(vms, causes))


def _faults(vms: list[VmFacts], causes: dict[tuple[int, Path], tuple[Cause, ...]]) -> Iterator[SourceFault]:
    """The faults of the instancetype that all these VMs use."""
    refused: dict[tuple[Path, str], list[VmFacts]] = {}
    for vm in vms:
        for cause in causes[vm.entry.item, vm.entry.path]:
            if cause.path[: len(DOMAIN)] == DOMAIN and not is_set(get(vm.vm, cause.path)):
                refused.setdefault((cause.path, cause.message), []).append(vm)
    source = vms[0].resolution.instancetype
    if not refused or source is None or source.entry is None:
        return
    for cause in _of_bare(source, vms[0]):
        users = refused.get((cause.path, cause.message))
        if users:
            path = (*source.root, *_origin(cause.path, source.spec))
            names = tuple(sorted((ref_of(vm.entry.obj) for vm in users), key=str))
            yield SourceFault(entry=source.entry, path=path, message=cause.message, users=names)


def _of_bare(source: Found, vm: VmFacts) -> tuple[Cause, ...]:
    """The causes for which admission refuses the smallest VM with the instancetype, if it checks its fields at all."""
    resolution = Resolution(vm=BARE, instancetype=source)
    expansion = expand_for_admission(resolution, namespace="default", bundle=Bundle([]), cluster=vm.cluster, release=vm.release)
    if expansion.vm is None:
        return ()
    return admit_vm(BARE, expanded=expansion.vm, cluster=vm.cluster, release=vm.release, instancetype=source.spec)


def _origin(path: Path, spec: object) -> Path:
    """The place in the instancetype's spec that sets a place of the domain, or the nearest around it if names differ."""
    found: list[str] = []
    for step in path[len(DOMAIN) :]:
        here = as_map(spec)
        key = next((key for key in here if str(key).lower() == str(step).lower()), None)
        if key is not None:
            found.append(key)
            spec = here[key]
        elif step != "devices":
            break
    return tuple(found)


Key = tuple[int, int, Path]  # the instancetype's spec, that of the preference, and a place of VMs with any indices


MOST_VALUES = 200  # of one spec; each needs one more expansion
ANY = -1


class FieldOrigins:
    """The origins of VMs' values. VMs with the same instancetype and preference get the same place from the same field."""

    def __init__(self) -> None:
        self._known: dict[Key, Origin | None] = {}

    def of(self, vm: VmFacts, path: Path) -> Origin | None:
        """The field that sets the value at `path` of the expanded VM; None if the VM itself sets it, or if it is not set."""
        expanded = vm.expansion.vm if vm.expansion else None
        if expanded is None or is_set(get(vm.vm, path)) or not is_set(get(expanded, path)):
            return None
        place = tuple(ANY if isinstance(step, int) else step for step in path)
        key = _number(vm.resolution.instancetype), _number(vm.resolution.preference), place
        if key not in self._known:
            self._known[key] = _part_without(vm, path, get(expanded, path))
        return self._known[key]


def _number(source: Found | None) -> int:
    return id(source.spec) if source else 0


def _part_without(vm: VmFacts, path: Path, value: Any) -> Origin | None:
    sources: dict[str, Found | None] = {"preference": vm.resolution.preference, "instancetype": vm.resolution.instancetype}
    for matcher, source in sources.items():
        if source is None or source.values > MOST_VALUES:
            continue
        for field in _fields(source.spec):
            rest = vm.resolution.but(**{matcher: source.but(spec=_without(source.spec, field))})
            if _value(rest, vm, path) != value:
                return Origin(source=source, field=field, matcher=matcher)
    return None


def _value(resolution: Resolution, vm: VmFacts, path: Path) -> Any:
    expansion = expand_for_admission(resolution, namespace="default", bundle=Bundle([]), cluster=vm.cluster, release=vm.release)
    return get(expansion.vm, path) if expansion.vm else None


def _fields(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of all values of a spec, except maps with keys."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from _fields(below, (*path, key))
    elif path:
        yield path


def _without(spec: Object, path: tuple[str, ...]) -> Object:
    """The spec without one field; the maps on the way are copied."""
    key, rest = path[0], path[1:]
    if not rest:
        return {name: value for name, value in spec.items() if name != key}
    return {**spec, key: _without(spec[key], rest)}
