"""Two machines have the same serial number.

What it finds: a `firmware.serial` that two machines in the bundle share, or that a pool or replica set gives to all its
machines. A serial that starts with `ds=` is skipped: it is not a number, but sets the data source of cloud-init.

Why it matters: inventories, licences and agents that use the serial number treat the two as one machine. Without such
software nothing is lost, so this is an info.

Fix: give each machine its own serial, or delete it.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template: {spec: {domain: {devices: {}, firmware: {serial: e4686d2c-6e8d-4335-b8fd-81bee22f4815}}}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: db}
    spec:
      runStrategy: Always
      template: {spec: {domain: {devices: {}, firmware: {serial: e4686d2c-6e8d-4335-b8fd-81bee22f4815}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import get
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.machines import MachineSpec, machines, repeated, twice

SERIAL = ("domain", "firmware", "serial")
CLOUD_INIT = "ds="


@rule(severity="info")
def duplicate_firmware_serial(facts: BundleFacts) -> Iterator[Hit]:
    for machine, other in repeated(_serials(facts)):
        fix = "delete it" if other is machine else "give each its own, or delete it"
        yield twice(machine, other, SERIAL, what="serial number", fix=fix)


def _serials(facts: BundleFacts) -> Iterator[tuple[str, MachineSpec]]:
    for machine in machines(facts.bundle):
        serial = get(machine.spec, SERIAL)
        if isinstance(serial, str) and serial and not serial.startswith(CLOUD_INIT):
            yield serial, machine
