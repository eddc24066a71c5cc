"""Two machines have the same firmware UUID.

What it finds: a `firmware.uuid` that two machines in the bundle share, or that a pool or replica set gives to all its
machines.

Why it matters: the guest sees it as the UUID of its mainboard. Windows activation, cluster software, monitoring and backup
agents treat two machines with one UUID as the same machine. It usually comes from a copied manifest, and KubeVirt admits it.

Fix: delete the UUID from the copy: the cluster gives each VM its own. Or write another one.

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

from krm_fn.base.paths import get
from krm_fn.rules.registry import rule
from krm_fn.rules.shared.machines import machines, repeated, twice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.rules.facts.bundles import BundleFacts
    from krm_fn.rules.registry import Hit
    from krm_fn.rules.shared.machines import Machine

UUID = ("domain", "firmware", "uuid")


@rule(severity="warning")
def duplicate_firmware_uuid(facts: BundleFacts) -> Iterator[Hit]:
    for machine, other in repeated(_uuids(facts)):
        fix = "delete it, so that the cluster creates one" + ("" if other is machine else ", or set another")
        yield twice(machine, other, UUID, what="firmware UUID", fix=fix)


def _uuids(facts: BundleFacts) -> Iterator[tuple[str, Machine]]:
    for machine in machines(facts.bundle):
        uuid = get(machine.spec, UUID)
        if isinstance(uuid, str) and uuid:
            yield uuid.lower(), machine
