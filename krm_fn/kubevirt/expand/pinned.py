"""Stable values for fields that admission generates at random or writes once, so that git and the cluster stay equal.

upstream: pkg/virt-api/webhooks/mutating-webhook/mutators/vm-mutator.go:Mutate, where the VM is created
"""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import Path, as_list, as_map, copy, get, is_set
from krm_fn.base.value import Value
from krm_fn.kubevirt.fields.verbs import write
from krm_fn.kubevirt.holders import DATA_VOLUMES, INSTANCE_SPEC
from krm_fn.kubevirt.releases import Release, Version

FIRMWARE = ("domain", "firmware")

PCI_TOPOLOGY = "kubevirt.io/pci-topology-version"
PCI_TOPOLOGY_VERSION = "v3"


class Drawn(Value):
    """A firmware value that admission generates: the namespace of the uuids that replace it, and the releases that have it."""

    key: str
    namespace: str
    since: Version = ()
    until: Version = ()


# The serial was added in the last patch release of 1.5, and in the first of 1.6.
DRAWN = (
    Drawn(key="uuid", namespace="5b0a5c58-0d3e-5f0c-8a57-6a0f2f0d7c11", since=(1, 6)),
    Drawn(key="serial", namespace="d3b7e1c4-94f5-5c1a-b0ce-1f5a7c2e9b62", since=(1, 5, 3), until=(1, 6)),
    Drawn(key="serial", namespace="d3b7e1c4-94f5-5c1a-b0ce-1f5a7c2e9b62", since=(1, 6, 1)),
)


class Topology(Value):
    """Releases that annotate a VM with its PCI topology, and their conditions: none, or parts of its spec."""

    since: Version
    until: Version = ()
    architecture: bool = True
    machine: bool = True


# upstream: pkg/virt-api/webhooks/mutating-webhook/mutators/vm-mutator.go:Mutate, pkg/defaults/defaults.go:SupportsPCIeHotplug
# Each series of releases got the annotation in a patch release, and its conditions in the next ones.
TOPOLOGIES = (
    Topology(since=(1, 6, 4), until=(1, 6, 5), architecture=False, machine=False),
    Topology(since=(1, 6, 5), until=(1, 6, 6), machine=False),
    Topology(since=(1, 6, 6), until=(1, 7)),
    Topology(since=(1, 7, 2), until=(1, 7, 3), architecture=False, machine=False),
    Topology(since=(1, 7, 3), until=(1, 7, 4), machine=False),
    Topology(since=(1, 7, 4), until=(1, 8)),
    Topology(since=(1, 8), until=(1, 8, 2), architecture=False, machine=False),
    Topology(since=(1, 8, 2), until=(1, 8, 3), machine=False),
    Topology(since=(1, 8, 3)),
)


class Listed(Value):
    """A key that Go writes with its zero into every entry of a list that has the map `inside`.

    Lists are compared as one value, so this key matters there. Keys that are added to maps outside of lists do not matter.
    """

    entries: Path
    inside: Path
    key: str
    zero: Any


LISTED = (
    Listed(entries=DATA_VOLUMES, inside=("spec", "storage"), key="resources", zero={}),
    Listed(entries=DATA_VOLUMES, inside=("spec", "pvc"), key="resources", zero={}),
    Listed(entries=(*INSTANCE_SPEC, "volumes"), inside=("hostDisk",), key="capacity", zero="0"),
)


def pin(vm: Object, *, name: str, namespace: str, release: Release) -> Object:
    """The admitted VM with the remaining values that admission writes; `vm` itself if it has them all.

    Namespace and name decide firmware uuid and serial. `name` is "" if many VMs have one template: each needs a different
    value, so none is written.
    """
    if not isinstance(get(vm, INSTANCE_SPEC), dict):
        return vm
    pinned: Object = {**vm, "spec": copy(vm["spec"])}
    template = pinned["spec"]["template"]
    if name:
        _draw(template["spec"], f"{namespace}/{name}", release)
    if states_topology(template["spec"], release) and PCI_TOPOLOGY not in as_map(get(template, ("metadata", "annotations"))):
        write(template, ("metadata", "annotations", PCI_TOPOLOGY), PCI_TOPOLOGY_VERSION)
    _write_zeros(pinned)
    return vm if pinned == vm else pinned


def _write_zeros(vm: Object) -> None:
    for row in LISTED:
        for entry in as_list(get(vm, row.entries)):
            place = get(entry, row.inside)
            if isinstance(place, dict) and not is_set(place.get(row.key)):
                place[row.key] = copy(row.zero)


def _draw(spec: Object, name: str, release: Release) -> None:
    for row in DRAWN:
        if release.within(since=row.since, until=row.until) and not is_set(get(spec, (*FIRMWARE, row.key))):
            write(spec, (*FIRMWARE, row.key), _stable(row.namespace, name))


def _stable(namespace: str, name: str) -> str:
    from krm_fn.base.uuids import uuid_of  # needed only to pin values

    return uuid_of(namespace, name)


def states_topology(spec: Object, release: Release) -> bool:
    """True if a new VM's template, or a new instance, with this spec gets the annotation of its PCI topology.

    upstream: pkg/defaults/defaults.go:SupportsPCIeHotplug
    """
    row = next((row for row in TOPOLOGIES if release.within(since=row.since, until=row.until)), None)
    if row is None:
        return False
    if row.architecture and text(spec.get("architecture")) not in ("amd64", "arm64", ""):
        return False
    machine = text(get(spec, ("domain", "machine", "type")))
    return not row.machine or "q35" in machine or machine.startswith("virt")
