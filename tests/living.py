"""Live objects made of manifests: a VM as admission and the controller leave it, its revisions, and who holds its fields."""

from __future__ import annotations

from typing import Any

from krm_fn.changes.drifting import drift
from krm_fn.changes.pairs import Assumptions
from krm_fn.changes.sides import Side, side, side_of
from krm_fn.kubevirt.resolve import MATCHERS
from krm_fn.kubevirt.settings import Config
from krm_fn.kubevirt.stored_revisions import live as stored_object
from krm_fn.kubevirt.stored_revisions import revision_of
from krm_fn.kubevirt.updates.machine import Machine
from krm_fn.kubevirt.updates.stored_form import stored
from krm_fn.kubevirt.updates.transition import created, started
from krm_fn.live import applied, dumps
from krm_fn.live.applying import WRITTEN
from krm_fn.live.dumps import SIZES
from krm_fn.live.overlaying import Manner, overlaid

Object = dict[str, Any]

# A dump has objects of all kinds, or it says nothing of the kind.
SIZE = {
    kind: {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": kind,
        "metadata": {"name": "nobody-uses-it"},
        "spec": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}} if kind.endswith("Instancetype") else {},
    }
    for kind in SIZES
}
# How kubectl applies or replaces, and how Flux applies.
OWN = {"apply": Manner(), "replace": Manner(manner="replace", manager="kubectl-replace")}
FLUX = Manner(manner="server-side", manager="kustomize-controller", migrate="flux", force=True)
UID = "11111111-2222-4333-8444-{:012}"


def cluster_of(resource_list: Object, *, migratable: bool = True) -> list[Object]:
    """The objects of a cluster to which the bundle was applied by kubectl, on the client's side."""
    side = side_of(resource_list)
    items = [each for each in resource_list["items"] if each.get("kind") != "VirtualMachine"]
    items += [SIZE[kind] for kind in SIZE if kind not in {each.get("kind") for each in items}]
    vms = (each for each in resource_list["items"] if each.get("kind") == "VirtualMachine")
    return [*items, *(obj for number, vm in enumerate(vms) for obj in live_vm(vm, side, number, migratable=migratable))]


def live_vm(vm: Object, side: Side, number: int, *, migratable: bool) -> list[Object]:
    """A VM in the cluster of a side, and its revisions."""
    world = side.world(vm["metadata"].get("namespace", "default"), vm["apiVersion"])
    machine, _ = started(created(stored(vm), world, migratable=migratable), world)
    return [_living(vm, machine, number), *_revisions(machine, side)]


def _living(manifest: Object, machine: Machine, number: int) -> Object:
    sent = applied(None, manifest, manner="client-side", manager="kubectl-client-side-apply")["metadata"]
    marks = {"uid": UID.format(number), "resourceVersion": str(number + 1), "managedFields": sent["managedFields"]}
    named = {**machine.vm["metadata"], **marks}
    named["annotations"] = {**named.get("annotations", {}), **sent["annotations"]}
    status: Object = {"printableStatus": "Running" if machine.running else "Stopped"}
    for matcher in MATCHERS:
        if (pin := machine.pins.get(matcher.field)) and pin.revision:
            said = {"name": pin.name, "kind": pin.kind, "inferFromVolume": pin.volume}
            ref = {"controllerRevisionRef": {"name": pin.revision}}
            status[matcher.status] = {**{key: value for key, value in said.items() if value}, **ref}
    return {**machine.vm, "metadata": named, "status": status}


def _revisions(machine: Machine, side: Side) -> list[Object]:
    release = side.analysis.release
    made = [(each.name, stored_object(each.found, owner=machine.vm)) for each in machine.stored.values()]
    revisions = [(name, revision_of(data, owner=machine.vm, release=release)) for name, data in made]
    return [{**each, "metadata": {**each["metadata"], "name": name, "uid": "r"}} for name, each in revisions]


def manifest_of(live: Object) -> Object:
    """What users would write of a live object."""
    named = {key: value for key, value in live["metadata"].items() if key in ("name", "namespace", *WRITTEN)}
    return {key: value for key, value in {**live, "metadata": named}.items() if key != "status"}


def drifted(live: list[Object], git: list[Object], old: Config, new: Config, manner: Manner, **more: Any) -> Object:
    """What `drift` says of a cluster and the objects of git, and of the cluster's settings before and after."""
    lacking = dumps.lacking(live)
    base = side(live, old, lacking=lacking)
    overlay = overlaid(live, [(manner, git)], base.analysis.release)
    return drift(base, side(overlay.items, new, lacking=lacking), overlay, Assumptions(**more))
