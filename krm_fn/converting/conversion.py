"""One VM converted: what it becomes with an instancetype, and what that changes in the instance, the guest and the pod.

The differences are those of the instances that KubeVirt starts before and after. The annotations that name the instancetype
and the preference are none: they say where values come from.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterable, Iterator
from krm_fn.base.bundle import Bundle, effective_namespace
from krm_fn.base.objects import Object, Ref, annotations_of
from krm_fn.base.paths import Path, as_map, copy, drop, get
from krm_fn.base.quantity import NANO, Quantity, parse
from krm_fn.base.redaction import redact
from krm_fn.base.value import Value
from krm_fn.converting.instancetypes import GUEST, Instancetype, Size, preference_name, size_of_guest
from krm_fn.kubevirt.expand import apply
from krm_fn.kubevirt.facts import Found, Resolution
from krm_fn.kubevirt.holders import INSTANCE_SPEC, TEMPLATE
from krm_fn.kubevirt.instance import NAMED_BY, start
from krm_fn.kubevirt.instance.refusals import start_causes
from krm_fn.kubevirt.pods.amounts import ZERO, Amounts
from krm_fn.kubevirt.presets import PresetGroup
from krm_fn.kubevirt.presets.index import NONE as NO_PRESETS
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.resolve import PREFERENCE
from krm_fn.kubevirt.resolve.matcher import API_VERSION
from krm_fn.kubevirt.updates.references import Difference, compared
from krm_fn.kubevirt.updates.stored_form import stored_spec
from krm_fn.rules.facts.vms import VmFacts

EXACT, HEADROOM, DIFFERS, NONE = "exact", "headroom", "differs", "none"
CLASSES = (EXACT, HEADROOM, DIFFERS, NONE)
TOPOLOGY = frozenset(f"/spec/domain/cpu/{key}" for key in ("sockets", "cores", "threads"))
GROWTH = frozenset(("/spec/domain/cpu/maxSockets", "/spec/domain/memory/maxGuest"))
# What a size is made of. An instancetype that changes something else, such as dedicated CPUs, is none of the same sort.
RESOURCES, POD = "/spec/domain/resources", "/pod/"
SIZES = TOPOLOGY | GROWTH | {"/spec/domain/memory/guest"}
# What an instancetype gives instead of the VM. What is left empty of these goes, too.
SIZED: tuple[Path, ...] = (
    ("domain", "cpu"),
    ("domain", "memory"),
    ("domain", "resources", "requests"),
    ("domain", "resources", "limits"),
    ("domain", "resources"),
)
NO_INSTANCE, NO_MEMORY = "its presets or its network are refused", "it has no memory"
WORDS = ("instancetype", "preference")
NAMES = frozenset(name for names in NAMED_BY.values() for name in names.values())

Specs = tuple[Object | None, Object | None]  # of an instancetype and a preference
Relations = tuple[tuple[int, ...], ...]
# The sizes of an instance that are compared with one another while it runs. Those of memory come first.
COMPARED: tuple[tuple[Path, ...], ...] = (
    (GUEST, (*GUEST[:-1], "maxGuest"), *(("domain", "resources", key, "memory") for key in ("requests", "limits"))),
    tuple(("domain", "cpu", key) for key in ("sockets", "maxSockets")),
    (("domain", "cpu", "cores"),),
    (("domain", "cpu", "threads"),),
    tuple(("domain", "resources", key, "cpu") for key in ("requests", "limits")),
)
UNSET = -1
BLOCKS = (NANO << 21, NANO << 30)  # to which memory is aligned, and without the second of which it can't grow

TYPE_CHECKING = False
if TYPE_CHECKING:
    Pods = Callable[[Object], "PodSize"]


class PodSize(Value):
    """What the pod of an instance requests and is limited to, without the memory that KubeVirt adds for itself, `overhead`."""

    requests: Amounts = {}  # noqa: RUF012  nobody writes into a Value
    limits: Amounts = {}  # noqa: RUF012
    overhead: Quantity = ZERO

    @property
    def parts(self) -> Iterator[tuple[str, Quantity]]:
        """Each amount with its place."""
        for word, amounts in (("requests", self.requests), ("limits", self.limits)):
            yield from ((f"{POD}{word}/{name}", amounts[name]) for name in sorted(amounts))


class StartContext(Value):
    """What a VM starts in: the objects and presets that it sees, and the pods of instances."""

    bundle: Bundle
    presets: PresetGroup = NO_PRESETS
    pods: Pods


class Converted(Value):
    """A VM with other matchers, the paths that it lost for them, from its root, and what it refers to."""

    vm: Object
    dropped: tuple[Path, ...]
    specs: Specs


class InstanceChange(Value):
    """A difference of the instance or the pod: where, and both values, None for none."""

    path: str
    old: object
    new: object


class Proof(Value):
    """What a conversion changes. `sort` is EXACT, HEADROOM, or DIFFERS. `fewer` names what the guest or the pod has less of.

    With HEADROOM, guest and pod have the same vCPUs, memory, requests and limits. The layout of the vCPUs differs, what the
    guest may grow to, or whether the instance states requests that its pod has anyway. `relations`: see `relations_of`.
    `keeps_size`: the guest and the pod have the same amounts of all.
    """

    sort: str
    changes: tuple[InstanceChange, ...] = ()
    fewer: tuple[str, ...] = ()
    relations: Relations = ()
    keeps_size: bool = True

    @property
    def is_of_sizes(self) -> bool:
        """True where nothing but sizes changes."""
        return all(each.path in SIZES or is_of_resources(each.path) or each.path.startswith(POD) for each in self.changes)


class StartedVm(Value):
    """A flat VM before it is converted: its instance in the form in which it is compared, and its size.

    `refused` says why KubeVirt does not let the instance start. A conversion must not change that.
    """

    facts: VmFacts
    instance: Object
    size: Size
    pod: PodSize
    refused: tuple[str, ...] = ()


def is_flat(facts: VmFacts) -> bool:
    """True for a VM that says its size itself."""
    spec = as_map(facts.vm.get("spec"))
    named = any(spec.get(field) is not None for field in ("instancetype", "flavor"))
    return not (named or facts.resolution.errors) and isinstance(get(facts.vm, INSTANCE_SPEC), dict)


def before(facts: VmFacts, around: StartContext) -> StartedVm | str:
    """The VM as it is made now, or why it has no instance or its instance no size."""
    instance, refused = _made(facts, facts.resolution, around)
    if instance is None:
        return NO_INSTANCE
    size = size_of_guest(instance)
    if size is None:
        return next(iter(refused), NO_MEMORY)
    return StartedVm(facts=facts, instance=_shown(instance), size=size, pod=around.pods(instance), refused=refused)


def _made(facts: VmFacts, resolution: Resolution, around: StartContext) -> tuple[Object | None, tuple[str, ...]]:
    """The complete instance of a VM with these references, None where there is none, and why KubeVirt refuses it."""
    instance = start(
        resolution,
        owner=facts.entry.obj,
        namespace=effective_namespace(facts.entry.obj),
        bundle=around.bundle,
        cluster=facts.cluster,
        release=facts.release,
        presets=around.presets,
    ).instance
    causes = start_causes(instance, cluster=facts.cluster, release=facts.release) if instance else ()
    return instance, tuple(cause.message for cause in causes if cause.sure)


def _shown(instance: Object) -> Object:
    """What counts of an instance, in the form in which the API server returns it."""
    notes = {key: value for key, value in annotations_of(instance).items() if key not in NAMES}
    return {"annotations": notes, "spec": stored_spec(as_map(instance["spec"]))}


def has_traits(was: StartedVm, traits: Iterable[tuple[Path, Any]]) -> bool:
    """False for an instancetype or a preference that surely changes more than sizes: it sets what the VM has otherwise."""
    return all(get(was.instance["spec"], path) == value for path, value in traits if path[:1] == ("domain",))


def converted(
    vm: Object, found: Instancetype, release: Release, *, has: Found | None = None, gets: Found | None = None
) -> Converted | None:
    """The VM with a reference to the instancetype, and without what then must not be set; None where it can't have both.

    `has` is its preference, `gets` one that it refers to from now on.
    """
    preference = gets or has
    specs = found.spec, preference.spec if preference else None
    made = freed(get(vm, TEMPLATE), *specs, release)
    if made is None:
        return None
    matchers: Object = {"instancetype": found.matcher}
    if gets:
        matchers["preference"] = {"kind": gets.ref.kind, "name": gets.ref.name}
    template = tidied(made[0], get(vm, TEMPLATE), SIZED)
    return Converted(
        vm=with_matchers({**vm, "spec": {**vm["spec"], "template": template}}, matchers), dropped=made[1], specs=specs
    )


def freed(
    template: Any, instancetype: Object, preference: Object | None, release: Release
) -> tuple[Object, tuple[Path, ...]] | None:
    """A template without what an instancetype gives, and the paths that are gone; None where it can't have one."""
    template, dropped = copy(as_map(template)), list[Path]()
    while conflicts := apply(copy(template), instancetype=instancetype, preference=preference, release=release):
        paths = [each.path for each in conflicts if each.path not in dropped]
        if not paths or any(path[: len(INSTANCE_SPEC)] != INSTANCE_SPEC for path in paths):
            return None
        for path in paths:
            drop(template, path[len(TEMPLATE) :])
        dropped += paths
    return template, tuple(dropped)


def tidied(template: Object, was: Object, places: Iterable[Path]) -> Object:
    """A template without the maps of its spec that were not empty and are now."""
    for path in places:
        if get(template, ("spec", *path)) == {} and get(was, ("spec", *path)):
            drop(template, ("spec", *path))
    return template


def matchers_of(vm: Object) -> Object:
    """The matchers that a VM has."""
    return {key: value for key, value in as_map(vm.get("spec")).items() if key in WORDS}


def with_matchers(vm: Object, matchers: Object) -> Object:
    """The VM with these matchers, before its template; None takes one away."""
    spec: Object = {}
    for key, value in as_map(vm.get("spec")).items():
        if key == "template":
            spec |= matchers
        if key not in matchers or key in spec:
            spec.setdefault(key, value)
    return {**vm, "spec": spec | {key: value for key, value in matchers.items() if key not in spec}}


def specs_of(resolution: Resolution) -> Specs:
    """What a VM refers to."""
    size, preference = resolution.instancetype, resolution.preference
    return size.spec if size else None, preference.spec if preference else None


def again(vm: VmFacts, like: Converted) -> Converted:
    """The same for another VM of that shape."""
    given = vm.resolution.vm
    template = copy(get(given, TEMPLATE))
    for path in like.dropped:
        drop(template, path[len(TEMPLATE) :])
    template = tidied(template, get(given, TEMPLATE), SIZED)
    return like.but(vm=with_matchers({**given, "spec": {**given["spec"], "template": template}}, matchers_of(like.vm)))


def proof(
    was: StartedVm, found: Instancetype, around: StartContext, *, gets: Found | None = None
) -> tuple[Converted, Proof] | None:
    """The VM with an instancetype, and all that this changes; None where KubeVirt would refuse it otherwise than before.

    `gets` is a preference that the VM gets as well.
    """
    facts = was.facts
    gets = gets or _own_preference(found)
    made = converted(facts.resolution.vm, found, facts.release, has=facts.resolution.preference, gets=gets)
    if made is None:
        return None
    preference = gets or facts.resolution.preference
    resolution = facts.resolution.but(vm=made.vm, instancetype=found.found, preference=preference)
    proven = judged(was, facts, resolution, around)
    return (made, proven) if proven else None


def _own_preference(found: Instancetype) -> Found | None:
    if found.topology is None:
        return None
    ref = Ref(api_version=API_VERSION, kind=PREFERENCE.cluster_kind, namespace="", name=preference_name(found))
    return Found(spec=found.topology, ref=ref, origin="bundle")


def judged(was: StartedVm, facts: VmFacts, resolution: Resolution, around: StartContext) -> Proof | None:
    """What is different of the instance of a VM with these references; None where KubeVirt refuses it otherwise than before."""
    instance, refused = _made(facts, resolution, around)
    if instance is None or refused != was.refused:
        return None
    after, size, pod = _shown(instance), size_of_guest(instance), around.pods(instance)
    changes = [InstanceChange(path=each.pointer, **_values(each)) for each in compared(was.instance, after)]
    of_pod, fewer = list(_of_pod(was.pod, pod)), tuple(_fewer(was, size, pod))
    same = size == was.size and not of_pod
    sort = EXACT
    if changes:
        sort = HEADROOM if same and all(is_headroom(each.path) for each in changes) else DIFFERS
    if was.pod.overhead.nanos != pod.overhead.nanos:  # KubeVirt's estimate of what it needs itself
        of_pod.append(_amounts(f"{POD}memoryOverhead", was.pod.overhead, pod.overhead))
    relations = relations_of(was.instance["spec"], after["spec"])
    return Proof(sort=sort, changes=(*changes, *of_pod), fewer=fewer, relations=relations, keeps_size=same)


def relations_of(old: Object, new: Object) -> Relations:
    """What a VM that runs notices of its sizes before and after: which are equal, which are larger, how memory is aligned."""
    groups = [[_nanos(get(spec, path)) for spec in (old, new) for path in paths] for paths in COMPARED]
    ranks = (tuple(map(sorted({UNSET, 0, *group}).index, group)) for group in groups)
    return *ranks, tuple(each % block == 0 and each >= block for each in groups[0] for block in BLOCKS)


def _nanos(value: object) -> int:
    amount = parse(value)
    return UNSET if amount is None else amount.nanos


def is_headroom(path: str) -> bool:
    """True for a place at which an instance may differ whose guest and pod keep their size."""
    return path in GROWTH | TOPOLOGY or is_of_resources(path)


def is_of_resources(path: str) -> bool:
    """True for the place of requests and limits of an instance."""
    return path == RESOURCES or path.startswith(f"{RESOURCES}/")


def _values(each: Difference) -> Object:
    return {"old": redact(each.before, each.steps), "new": redact(each.after, each.steps)}


def _of_pod(was: PodSize, now: PodSize) -> Iterator[InstanceChange]:
    old, new = dict(was.parts), dict(now.parts)
    for path in dict.fromkeys((*old, *new)):
        if old.get(path, ZERO).nanos != new.get(path, ZERO).nanos:
            yield _amounts(path, old.get(path), new.get(path))


def _amounts(path: str, old: Quantity | None, new: Quantity | None) -> InstanceChange:
    return InstanceChange(path=path, old=str(old) if old else None, new=str(new) if new else None)


def _fewer(was: StartedVm, size: Size | None, pod: PodSize) -> Iterator[str]:
    if size is None or size.vcpus < was.size.vcpus:
        yield "vCPUs"
    if size is None or size.nanos < was.size.nanos:
        yield "memory"
    for name, amount in was.pod.requests.items():
        if pod.requests.get(name, ZERO).nanos < amount.nanos:
            yield f"{name} requested by the pod"
