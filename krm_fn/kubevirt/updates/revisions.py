"""How the controller pins a VM to revisions of its instancetype and preference, or writes them into the VM.

And the annotations that a running instance takes from its VM, and those that the VM takes back.

upstream: pkg/instancetype/controller/vm/controller.go:Sync, pkg/instancetype/revision/store.go:Store;
pkg/virt-controller/watch/vm/vm.go: syncDynamicAnnotationsAndLabelsToVMI, syncPCITopologyAnnotationsToVM
"""

from __future__ import annotations

from krm_fn.base.objects import Object, annotations_of, text
from krm_fn.base.paths import Path, as_map, copy, get
from krm_fn.base.value import Value
from krm_fn.kubevirt import expand
from krm_fn.kubevirt.expand.pinned import PCI_TOPOLOGY
from krm_fn.kubevirt.facts import Found, Resolution
from krm_fn.kubevirt.fields.verbs import write
from krm_fn.kubevirt.holders import TEMPLATE
from krm_fn.kubevirt.releases import Version
from krm_fn.kubevirt.resolve import INSTANCETYPE, MATCHERS, Matcher
from krm_fn.kubevirt.stored_revisions import live, revision_of
from krm_fn.kubevirt.updates.admission import admitted
from krm_fn.kubevirt.updates.machine import Machine, Pin, Stored, World
from krm_fn.kubevirt.updates.references import find
from krm_fn.kubevirt.updates.stored_form import stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.updates.machine import World


# Until this release the revision's name is written into the VM's spec.
NAMED_IN_SPEC_UNTIL: Version = (1, 5)


class Synced(Value):
    """The machine after the part of a pass that cares for its matchers. `ends`: the pass ends here."""

    machine: Machine
    ends: bool = False


def sync(machine: Machine, world: World) -> Synced:
    """The machine with its references stored or expanded, as the cluster's policy says."""
    if not any(as_map(get(machine.vm, ("spec", matcher.field))) for matcher in MATCHERS):
        return Synced(machine=machine)
    found = find(machine, world)
    if found.errors:
        error = found.errors[0]
        message = f"{error.matcher} {error.current or ''} not found".replace("  ", " ")
        return Synced(machine=machine.but(error=message), ends=True)
    policy = world.cluster.expanding_policy(world.release)
    if policy:
        return _expanded(machine, world, found, policy)
    return _pinned(machine, world, found)


def _pinned(machine: Machine, world: World, found: Resolution) -> Synced:
    """The machine with a revision for each of its matchers. upstream: pkg/instancetype/revision/store.go:Store"""
    for matcher in MATCHERS:
        if not as_map(get(machine.vm, ("spec", matcher.field))):
            continue
        moved = _moved(machine, matcher)
        if not moved.revision:
            named = _by_name(machine, world, matcher) if matcher.field in machine.pins else getattr(found, matcher.field)
            if named is None or (matcher == INSTANCETYPE and _conflicts(machine, world, named)):
                return Synced(machine=machine.but(error=f"the {matcher.field} cannot be stored"), ends=True)
            moved, machine = _stored(machine, moved, named, world)
        machine = machine.but(pins={**machine.pins, matcher.field: moved})
        if world.release.within(until=NAMED_IN_SPEC_UNTIL):
            machine = _named_in_spec(machine, matcher.field, moved.revision)
    return Synced(machine=machine)


def _moved(machine: Machine, matcher: Matcher) -> Pin:
    """The pin of a matcher with what the matcher says now; without a revision where it has moved.

    upstream: pkg/instancetype/revision/store.go:syncStatusWithMatcher
    """
    written, pin = machine.vm["spec"][matcher.field], machine.pins.get(matcher.field, Pin())
    said = {key: text(written.get(name)) for key, name in (("name", "name"), ("kind", "kind"), ("volume", "inferFromVolume"))}
    changed = {key: value for key, value in said.items() if value and value != getattr(pin, key)}
    if changed:
        pin = pin.but(**changed, revision="")
    named = text(written.get("revisionName"))
    return pin.but(revision=named) if named else pin


def _by_name(machine: Machine, world: World, matcher: Matcher) -> Found | None:
    """What a matcher names today, whatever revision the status names."""
    bare = machine.but(pins={key: pin for key, pin in machine.pins.items() if key != matcher.field})
    found: Found | None = getattr(find(bare, world), matcher.field)
    return found


def _conflicts(machine: Machine, world: World, found: Found) -> bool:
    """True where the VM sets what its instancetype sets; the preference is not looked at.

    upstream: pkg/instancetype/revision/store.go:checkForInstancetypeConflicts
    """
    template = copy(machine.vm["spec"]["template"])
    return bool(expand.apply(template, instancetype=found.spec, preference=None, release=world.release, table=found.table))


def _stored(machine: Machine, pin: Pin, found: Found, world: World) -> tuple[Pin, Machine]:
    """The pin to a revision of what was found, and the machine with that revision."""
    name = revision_of(live(found, owner=machine.vm), owner=machine.vm, release=world.release)["metadata"]["name"]
    revision = Stored(name=name, label=found.ref.name, found=found)
    return pin.but(revision=name), machine.but(stored={**machine.stored, name: revision})


def _named_in_spec(machine: Machine, field: str, revision: str) -> Machine:
    spec = machine.vm["spec"]
    return machine.but(vm={**machine.vm, "spec": {**spec, field: {**spec[field], "revisionName": revision}}})


def _expanded(machine: Machine, world: World, found: Resolution, policy: str) -> Synced:
    """The machine with its references written out; a VM that is pinned stays as it is under the policy expand.

    The revisions that it was pinned to are deleted.
    upstream: pkg/instancetype/controller/vm/controller.go:handleExpand
    """
    if policy == "expand" and any(pin.revision for pin in machine.pins.values()):
        return Synced(machine=machine)
    expansion = expand.expand(
        machine.vm,
        instancetype=found.instancetype.spec if found.instancetype else None,
        preference=found.preference.spec if found.preference else None,
        cluster=world.cluster,
        release=world.release,
        defaults=True,
        table=found.instancetype.table if found.instancetype else "instancetype",
    )
    if expansion.vm is None:
        return Synced(machine=machine.but(error="the VM cannot be expanded"), ends=True)
    written = written_by_controller(machine, world, expansion.vm)
    return Synced(machine=written if written.error else written.but(pins={}, stored={}), ends=True)


def written_by_controller(machine: Machine, world: World, vm: Object) -> Machine:
    """The machine with a VM that the controller writes, through admission; with the error where that refuses it."""
    verdict = admitted(machine.but(vm=stored(vm)), world, before=machine.vm)
    if not verdict.allowed:
        return machine.but(error=f"admission refuses what the controller writes: {verdict.causes[0].message}")
    return machine.but(vm=verdict.vm)


SLOTS = "kubevirt.io/pci-interface-slot-count"


class Followed(Value):
    """An annotation that the instance takes over: where the VM has it, and in which releases."""

    key: str
    at: Path
    since: Version = (1, 6)
    until: Version = ()


OF_TEMPLATE = (*TEMPLATE, "metadata", "annotations")
FOLLOWED = (
    Followed(key="descheduler.alpha.kubernetes.io/evict", at=OF_TEMPLATE),
    Followed(key="descheduler.beta.kubernetes.io/evict", at=OF_TEMPLATE, until=(1, 6, 1)),
    Followed(key="descheduler.alpha.kubernetes.io/prefer-no-eviction", at=OF_TEMPLATE, since=(1, 6, 1)),
    Followed(key="kubevirt.io/skip-backup-hooks", at=("metadata", "annotations"), since=(1, 6, 6), until=(1, 7)),
    Followed(key="kubevirt.io/skip-backup-hooks", at=("metadata", "annotations"), since=(1, 7, 3)),
)


# From this release on, the annotations of the template and those of the VM are two changes in one patch, and the second is made
# only if all annotations of the instance are still as they were.
TWO_CHANGES_SINCE: Version = (1, 7)
TWO_CHANGES = (
    "the controller cannot copy annotations of the VM and of its template to the instance at once; change one after the other"
)


def is_refused(vm: Object, annotations: Object, world: World) -> bool:
    """True where the controller's patch of the instance's annotations fails, as it takes over some from two places."""
    changed = {
        row.at for row in world.release.rows(FOLLOWED) if as_map(get(vm, row.at)).get(row.key) != annotations.get(row.key)
    }
    return len(changed) > 1 and world.release.within(since=TWO_CHANGES_SINCE)


def followed(vm: Object, annotations: Object, world: World) -> Object:
    """The annotations of the instance with those of the VM that it follows; the same where they do not differ."""
    result = {**annotations}
    for row in world.release.rows(FOLLOWED):
        given = as_map(get(vm, row.at))
        result.pop(row.key, None)
        if row.key in given:
            result[row.key] = given[row.key]
    return annotations if result == annotations else result


def taken_back(vm: Object, annotations: Object) -> Object:
    """The VM with the PCI topology of its instance, where it has none; the VM itself else."""
    version, template = annotations.get(PCI_TOPOLOGY), get(vm, TEMPLATE)
    if not version or not isinstance(template, dict) or annotations_of(template).get(PCI_TOPOLOGY):
        return vm
    template = {**template, "metadata": {**as_map(template.get("metadata"))}}
    template["metadata"]["annotations"] = {**as_map(template["metadata"].get("annotations"))}
    for key in (PCI_TOPOLOGY, SLOTS):
        if annotations.get(key) is not None:
            write(template, ("metadata", "annotations", key), annotations[key])
    return {**vm, "spec": {**vm["spec"], "template": template}}
