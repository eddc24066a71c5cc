"""Two machines have the same firmware UUID.

What it finds: a `firmware.uuid` that two machines in the bundle share, or that a pool or replica set gives to all its
machines. Up to KubeVirt 1.5 also, as an info, VMs of one name in two namespaces that set none: KubeVirt derives it from the
name alone.

Why it matters: the guest sees it as the UUID of its mainboard. Windows activation, cluster software, monitoring and backup
agents treat two machines with one UUID as the same machine. It usually comes from a copied manifest, and KubeVirt admits it.

Fix: delete the UUID from the copy: the cluster gives each VM its own. Or write another one. VMs of one name need one each up to
1.5, and keep it: a VM that was created there has the same UUID after an upgrade.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template: {spec: {domain: {devices: {}, firmware: {uuid: 5d307ca9-b3ef-428c-8861-06e72d69f223}}}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: db}
    spec:
      runStrategy: Always
      template: {spec: {domain: {devices: {}, firmware: {uuid: 5d307ca9-b3ef-428c-8861-06e72d69f223}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import name_of, namespace_of
from krm_fn.base.paths import get
from krm_fn.base.placeholders import is_filled_in
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, also, rule
from krm_fn.rules.shared.machines import MachineSpec, machines, repeated, twice

UUID = ("domain", "firmware", "uuid")
# The release since which a VM gets a UUID that is drawn at random.
# upstream: pkg/virt-api/webhooks/mutating-webhook/mutators/vm-mutator.go:Mutate
RANDOM_SINCE = (1, 6)


@rule(severity="warning")
def duplicate_firmware_uuid(facts: BundleFacts) -> Iterator[Hit]:
    for machine, other in repeated(_uuids(facts)):
        fix = "delete it, so that the cluster creates one" + ("" if other is machine else ", or set another")
        yield twice(machine, other, UUID, what="firmware UUID", fix=fix)
    if facts.release.within(until=RANDOM_SINCE):
        yield from _of_namesakes(facts)


def _uuids(facts: BundleFacts) -> Iterator[tuple[str, MachineSpec]]:
    for machine in machines(facts.bundle):
        uuid = get(machine.spec, UUID)
        if isinstance(uuid, str) and uuid:
            yield uuid.lower(), machine


def _of_namesakes(facts: BundleFacts) -> Iterator[Hit]:
    """The VMs of one kind and name in several namespaces that set no UUID; the VMs of pools have the name and a number."""
    found: dict[tuple[bool, str], list[MachineSpec]] = {}
    for machine in machines(facts.bundle):
        name, uuid = name_of(machine.entry.obj), get(machine.spec, UUID)
        if machine.vm and uuid in (None, "") and name and namespace_of(machine.entry.obj) and not is_filled_in(name):
            found.setdefault((machine.pooled, name), []).append(machine)
    for namesakes in found.values():
        for machine, other in zip(namesakes, (*namesakes[1:], namesakes[0]), strict=True) if len(namesakes) > 1 else ():
            fact = f"{other} gets the same firmware UUID, since KubeVirt up to 1.5 derives it from the name alone"
            yield Hit(
                message=f"{fact}; set firmware.uuid",
                path=(*machine.path, *UUID),
                about=machine.entry,
                severity="info",
                related=also(other.entry, (*other.path, *UUID)),
            )
