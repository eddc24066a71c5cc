"""A VM loses what its guest writes.

What it finds: a VM, or the VM in a pool, whose disks are all ephemeral: `containerDisk`, `ephemeral` or `emptyDisk`. The rule
is off until the config gives it a severity, because such VMs are often meant so.

Why it matters: each start begins with the image again. All that the guest has written since, such as packages, logs and data,
is gone after a stop, a restart or an eviction.

Fix: put the system on a DataVolume with the image as its source (`source.registry`), or the data on a claim of its own.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {memory: {guest: 1Gi}, devices: {disks: [{name: root, disk: {bus: virtio}}]}}
          volumes: [{name: root, containerDisk: {image: "quay.io/containerdisks/fedora:40"}}]
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import as_list
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.machines import machines

EPHEMERAL = frozenset(("containerDisk", "ephemeral", "emptyDisk"))
LASTING = frozenset(("persistentVolumeClaim", "dataVolume", "hostDisk"))


@rule(severity="info", on_demand=True)
def ephemeral_root(facts: BundleFacts) -> Iterator[Hit]:
    for machine in machines(facts.bundle):
        volumes = [set(each) for each in as_list(machine.spec.get("volumes")) if isinstance(each, dict)]
        found = [index for index, keys in enumerate(volumes) if keys & EPHEMERAL]
        if machine.vm and found and not any(keys & LASTING for keys in volumes):
            message = "each start begins with the image again, since no disk lasts; use a DataVolume for what has to stay"
            yield Hit(message=message, path=(*machine.path, "volumes", found[0]), about=machine.entry)
