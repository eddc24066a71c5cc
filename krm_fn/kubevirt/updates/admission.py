"""Admission of a VM that is created or updated: what the mutating webhook writes, and what refuses the VM.

upstream: pkg/virt-api/webhooks/mutating-webhook/mutators/vm-mutator.go:Mutate,
pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go:Admit
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object, group_of, kind_of
from krm_fn.base.paths import as_map, dotted, get
from krm_fn.base.value import Value
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission import admit_vm
from krm_fn.kubevirt.admission.expansion import expand_for_admission
from krm_fn.kubevirt.admission.objects import admit_object
from krm_fn.kubevirt.admission.scope import INVALID, REQUIRED, Cause, Open, settled
from krm_fn.kubevirt.expand.admitted import CRASHES, admit
from krm_fn.kubevirt.expand.pinned import pin
from krm_fn.kubevirt.facts import Expansion, Resolution, ResolutionError
from krm_fn.kubevirt.holders import SERVED
from krm_fn.kubevirt.releases import Release, Version
from krm_fn.kubevirt.resolve import MATCHERS, Matcher
from krm_fn.kubevirt.resolve.matcher import faults
from krm_fn.kubevirt.schema.checking import check
from krm_fn.kubevirt.schema.flaws import RANGE, TYPE, Flaw
from krm_fn.kubevirt.updates.references import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.updates.machine import Machine, World


# Who refuses a VM: the API server or the mutating webhook by its schema, then the webhooks.
SCHEMA, MUTATING, VALIDATING = "schema", "mutating", "validating"

# What the schema expects where an object branches.
SHAPES = ("a map", "a list")
# What is looked at only where a VM is created.
CREATION_ONLY = (
    "pkg/network/admitter/discontinued.go:validateDiscontinuedBindings",
    "pkg/virt-config/featuregate/validator.go:ValidateFeatureGates",
)
# upstream: pkg/virt-api/webhooks/validating-webhook/admitters/vmpool-admitter.go:ValidateVMPoolSpec
SELECTOR = ("spec", "selector")
# Errors of a matcher that the mutating webhook refuses, whatever stands in the cluster; inference fails there, too.
NAMES = ("unknown-name", "wrong-namespace", "wrong-kind", "unexpected-kind")
REVISIONS = ("revision-missing", "revision-undecodable", "revision-form-unreadable", "revision-of-another-object")
# Until this release a reference that leads nowhere is refused.
UNRESOLVED_REFUSED_UNTIL: Version = (1, 6)


class AdmissionVerdict(Value):
    """What admission makes of a VM: `vm` is what is stored. `stage` is "" where nothing is refused."""

    vm: Object
    stage: str = ""
    causes: tuple[Cause, ...] = ()

    @property
    def allowed(self) -> bool:
        return not self.stage


def misshapen(obj: Object, release: Release) -> tuple[Cause, ...]:
    """Where an object of a served kind has values that no type of the API takes, or no template: no cluster takes it."""
    holder = SERVED[group_of(obj), kind_of(obj)]
    if not isinstance(get(obj, holder.instance), dict):
        path = holder.template or holder.instance
        return (Cause(path=path, message=f"{dotted(holder.instance)} is missing; set it", reason=REQUIRED),)
    flaws = (flaw for flaw in check(obj, release) if flaw.kind == TYPE or (flaw.kind == RANGE and flaw.upstream))
    causes = (
        Cause(path=flaw.path, message=f"the value is {_found(flaw)}, but must be {flaw.expected}; correct it") for flaw in flaws
    )
    return settled(causes, obj)


def shape_is_open(obj: Object, release: Release) -> bool:
    """True where a placeholder stands for a map or a list: nobody knows what the object has there."""
    found = Open(obj)
    return any(
        flaw.kind == TYPE and flaw.expected in SHAPES and found.decides(flaw.path, flaw.current) for flaw in check(obj, release)
    )


def _found(flaw: Flaw) -> str:
    return flaw.found if flaw.kind == TYPE else show(flaw.current)


def update_causes(old: Object, new: Object, world: World) -> tuple[Cause, ...]:
    """Why admission refuses the update of a pool or a replica set."""
    found = admit_object(new, cluster=world.cluster, release=world.release)
    kept = tuple(cause for cause in found if cause.upstream not in CREATION_ONLY)
    if kind_of(new) == "VirtualMachinePool" and get(old, SELECTOR) != get(new, SELECTOR):
        kept += (Cause(path=SELECTOR, message="the selector of a pool cannot be changed; create another pool", reason=INVALID),)
    return kept


def admitted(machine: Machine, world: World, *, before: Object | None = None) -> AdmissionVerdict:
    """The verdict on the machine's VM, in the stored form; `before` is the VM that it updates, None where it is created."""
    changed = tuple(_pinned_elsewhere(machine.vm, before)) if before is not None else ()
    if changed:
        return AdmissionVerdict(vm=machine.vm, stage=MUTATING, causes=changed)
    found = find(machine, world)
    refused = _refused(machine, world, found)
    if refused:
        return AdmissionVerdict(vm=machine.vm, stage=MUTATING, causes=refused)
    vm = _mutated(machine, world, found, creating=before is None)
    causes = _causes(vm, machine, world, found, creating=before is None)
    return AdmissionVerdict(vm=vm, stage=VALIDATING if causes else "", causes=causes)


def written(machine: Machine, world: World) -> Object:
    """What the mutating webhook makes of a VM that is created; the VM as it is where the webhook refuses it."""
    found = find(machine, world)
    return machine.vm if _refused(machine, world, found) else _mutated(machine, world, found, creating=True)


def _refused(machine: Machine, world: World, found: Resolution) -> tuple[Cause, ...]:
    """Why the mutating webhook refuses a VM."""
    wrong = [fault for matcher in MATCHERS for fault in _faults(machine.vm, matcher, world.release)]
    others = [error for error in found.errors if error not in wrong and _is_refused(error, world)]
    return tuple(_of_matcher(error) for error in (*wrong, *others))


def _mutated(machine: Machine, world: World, found: Resolution, *, creating: bool) -> Object:
    vm: Object = admit(
        found.vm,
        preference=found.preference.spec if found.preference else None,
        namespace=machine.namespace,
        bundle=world.bundle,
        cluster=world.cluster,
        release=world.release,
    )
    if creating:
        vm = pin(vm, name=machine.name, namespace=machine.namespace, release=world.release)
    return vm


def _causes(vm: Object, machine: Machine, world: World, found: Resolution, *, creating: bool) -> tuple[Cause, ...]:
    """Why the validating webhook refuses the VM."""
    resolution = found.but(vm=vm)
    expansion = expand_for_admission(
        resolution,
        namespace=machine.namespace,
        bundle=world.bundle,
        cluster=world.cluster,
        release=world.release,
    )
    early = (*_conflicts(expansion), *_unmet(expansion))
    late = admit_vm(
        vm,
        expanded=expansion.vm,
        cluster=world.cluster,
        release=world.release,
        instancetype=found.instancetype.spec if found.instancetype else None,
    )
    kept = late if creating else tuple(cause for cause in late if cause.upstream not in CREATION_ONLY)
    return (*early, *kept)


def _conflicts(expansion: Expansion) -> Iterator[Cause]:
    for conflict in expansion.conflicts:
        source = dotted(conflict.source_path)
        message = f"{conflict.path[-1]} is set by the instancetype, too ({source}); remove it from the VM"
        yield Cause(path=conflict.path, message=message, upstream_path=conflict.upstream_path)
    for word in expansion.refusals:
        if word in CRASHES:
            crash = CRASHES[word]
            fact = f"the preference has {crash.has}, and the VM has {crash.lacks}"
            yield Cause(path=("spec", "preference"), message=f"{fact}: KubeVirt's webhook crashes; {crash.fix}")
            continue
        at = ("spec", "template", "spec", "networks")
        yield Cause(path=at, message=f"the cluster forbids the default network ({word}); add networks and interfaces")


def _unmet(expansion: Expansion) -> Iterator[Cause]:
    for unmet in expansion.unmet:
        message = f"the preference requires {unmet.required}, but there is {unmet.actual}; change one of them"
        yield Cause(path=unmet.path, message=message, upstream_path=unmet.upstream_path)


def _faults(vm: Object, matcher: Matcher, release: Release) -> Iterator[ResolutionError]:
    """What is wrong with a matcher as it is written."""
    written = get(vm, ("spec", matcher.field))
    return faults(matcher, written, release) if written is not None else iter(())


def _is_refused(error: ResolutionError, world: World) -> bool:
    """True where the mutating webhook refuses the VM for an error; a name that leads nowhere passes since 1.6."""
    late = error.reason in (*NAMES, *REVISIONS, "empty-label")
    return not late or world.release.within(until=UNRESOLVED_REFUSED_UNTIL)


def _of_matcher(error: ResolutionError) -> Cause:
    inference = ("name-and-inference", "kind-and-inference")
    if error.reason in inference:
        key = error.path[-1]
        message = f"{key} is set beside inferFromVolume; a VM in the cluster keeps the {key} that was inferred; write it out"
    else:
        message = f"{error.matcher}: {error.reason.replace('-', ' ')}; correct {dotted(error.path)}"
    return Cause(path=error.path, message=message)


def _pinned_elsewhere(vm: Object, before: Object) -> Iterator[Cause]:
    """A matcher that moves to another name with the revision of the former one.

    upstream: pkg/instancetype/webhooks/vm/mutator.go:validateMatcherUpdate
    """
    for matcher in MATCHERS:
        new, old = as_map(get(vm, ("spec", matcher.field))), as_map(get(before, ("spec", matcher.field)))
        revision = new.get("revisionName")
        if old and revision and revision == old.get("revisionName") and new.get("name") != old.get("name"):
            path = ("spec", matcher.field, "revisionName")
            message = f"revisionName {revision} belongs to the name before; change or remove it with the name"
            yield Cause(path=path, message=message, reason=INVALID)
